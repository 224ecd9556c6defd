"""One run, from its plan to its verdict.

Evidence is saved first and judged afterwards: when all processes have ended, everything known about
the run is in its directory, and judging reads nothing else. If a process dies, the run ends early;
the evidence up to then is judged all the same.
"""

import contextlib
import os
import pathlib
from collections.abc import Iterator

import msgspec

from harness import errors, writing
from harness.checks import judging, verdict_files
from harness.client import transports
from harness.cluster import interfaces
from harness.cluster.lifecycle import held_clusters
from harness.history import compressed_files, directories, manifests, plans
from harness.report import publishing
from harness.run import execution, progressing, run_plan, supervising
from harness.scenario import imported_pools, loading, profiles


def run(
    loaded: loading.Loaded,
    plan: plans.Plan,
    directory: directories.RunDirectory,
    *,
    cluster: interfaces.Cluster | None = None,
    progress: progressing.Progress | None = None,
    deadline: progressing.Deadline | None = None,
) -> verdict_files.Judgement:
    """Execute a run on a cluster (None: on a new one), judge it and write its report.

    A run that has not ended at the `deadline` (None: there is none) ends then, and is judged.
    Raises HarnessError if the run could not be executed; its evidence so far stays in the
    directory.
    """
    progress, deadline = progress or progressing.Progress(), deadline or progressing.Deadline()
    writing.replace(directory.scenario, loaded.text.encode())
    if loaded.pool_objects is not None:
        imported_pools.save(loaded.pool_objects.compressed, directory.pool_objects)
    plans.write(directory.plan, msgspec.structs.replace(plan, pid=os.getpid()))
    progress.phase("starting the cluster")
    with _cluster(plan, directory, cluster) as chosen:
        _describe(chosen, plan, directory)
        with _explaining_silence(chosen):
            failure = execution.Execution(
                plan,
                run_plan.scenario_of(plan),
                directory,
                chosen,
                progress,
                deadline=deadline,
            ).run()
    progress.phase("judging")
    return _judge(directory, failure or _seal(directory, plan))


def _seal(directory: directories.RunDirectory, plan: plans.Plan) -> errors.HarnessError | None:
    compressed_files.compress_run(directory)
    try:
        manifests.write(directory, run_id=plan.run_id)
    except (errors.StorageError, errors.UnwritableError) as error:
        return error
    return None


def _judge(
    directory: directories.RunDirectory, failure: errors.HarnessError | None
) -> verdict_files.Judgement:
    examination = judging.examine(directory)
    judgement = examination.judgement
    try:
        publishing.publish(examination)
    except (errors.StorageError, errors.UnwritableError) as error:
        failure = failure or error
    if failure is not None:
        raise type(failure)(
            f"{failure}. The verdict was {judgement.verdict}: {judgement.reason}"
        ) from failure
    return judgement


@contextlib.contextmanager
def _cluster(
    plan: plans.Plan, directory: directories.RunDirectory, given: interfaces.Cluster | None
) -> Iterator[interfaces.Cluster]:
    if given is not None:
        yield given
        return
    request = interfaces.ClusterRequest(
        name=f"flake-hunt-{plan.run_id}", directory=directory.logs / "cluster"
    )
    with held_clusters.held(profiles.restore(plan.cluster_profile), request) as own:
        yield own


@contextlib.contextmanager
def _explaining_silence(cluster: interfaces.Cluster) -> Iterator[None]:
    try:
        yield
    except transports.TransportError:
        supervising.require_living(cluster.exit_report)
        raise


def _describe(
    cluster: interfaces.Cluster, plan: plans.Plan, directory: directories.RunDirectory
) -> None:
    document = {"name": cluster.name, "provider": plan.cluster, "versions": dict(cluster.versions)}
    content = msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
    writing.replace(directory.cluster, content)


def new_directory(plan: plans.Plan, reports: pathlib.Path) -> directories.RunDirectory:
    """Create `<reports>/<scenario>/<start>-<run id>`, to which `latest` links from now on."""
    directory = directories.create(reports / plan.scenario / run_plan.folder_name(plan))
    directories.link_latest(reports, directory)
    return directory
