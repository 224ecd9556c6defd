"""One run from its plan to its verdict.

Save first, then judge: when the processes are gone, everything that is known of the run is in its directory, and judging
reads nothing else. A process that dies ends the run early; what it did until then is judged all the same.
"""

import contextlib
import pathlib
from collections.abc import Iterator

import msgspec

from harness import errors, processes, writing
from harness.checks import judging
from harness.client import apis, transports
from harness.cluster import cluster_records, interfaces, providers
from harness.cluster.fixtures import fake_world
from harness.cluster.lifecycle import held_clusters
from harness.history import directories, plans
from harness.report import publishing
from harness.run import cluster_logs, goals, progressing, run_plan, subjects, supervising
from harness.scenario import loading, profiles, specs
from harness.traffic import launching

RECORDER, KUBELET, TRAFFIC = "recorder", "kubelet", "traffic"
LAST = (subjects.CONTROLLER, KUBELET, RECORDER)
"""The recorder last: it must see all that the others do."""
TRAFFIC_STOP_TIMEOUT_S = launching.STOP_TIMEOUT_S + 10.0
_SUBJECT_SETTINGS = ("switch_interval_s", "binders", "backoff_initial_s", "backoff_max_s", "pauses")


def run(
    loaded: loading.Loaded,
    plan: plans.Plan,
    directory: directories.RunDirectory,
    *,
    cluster: interfaces.Cluster | None = None,
    progress: progressing.Progress | None = None,
) -> judging.Judgement:
    """Make the run on this cluster (None: on one of its own), judge it and render its report.

    HarnessError when the run could not be made; what was recorded stays in the directory.
    """
    progress = progress or progressing.Silent()
    writing.replace(directory.scenario, loaded.text.encode())
    plans.write(directory.plan, plan)
    progress.phase("starting the cluster")
    with _cluster(plan, directory, cluster) as chosen:
        _describe(chosen, plan, directory)
        with _explaining_silence(chosen):
            failure = _Run(plan, directory, chosen, progress).make()
    progress.phase("judging")
    return _judge(directory, failure)


def _judge(
    directory: directories.RunDirectory, failure: errors.HarnessError | None
) -> judging.Judgement:
    """Judge what was recorded; where something could not be written, raise why, with the verdict on what could."""
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
    """ClusterError instead of a server that does not answer, when it is because it has died."""
    try:
        yield
    except transports.TransportError:
        supervising.require_living(cluster.exit_report)
        raise


def _describe(
    cluster: interfaces.Cluster, plan: plans.Plan, directory: directories.RunDirectory
) -> None:
    """Write down what the run meets."""
    found = {"name": cluster.name, "provider": plan.cluster, "versions": dict(cluster.versions)}
    content = msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"
    writing.replace(directory.cluster, content)


class _Run:
    """The processes of one run, in the order of their lives."""

    def __init__(
        self,
        plan: plans.Plan,
        directory: directories.RunDirectory,
        cluster: interfaces.Cluster,
        progress: progressing.Progress,
    ) -> None:
        self._scenario, self._plan, self._directory = run_plan.scenario_of(plan), plan, directory
        self._kubeconfig, self._progress = cluster.kubeconfig.resolve(), progress
        self._user_kubeconfig = cluster.user_kubeconfig.resolve()
        profile = profiles.restore(plan.cluster_profile)
        self._capabilities = providers.of(profile).capabilities
        self._transport = transports.connect(self._kubeconfig)
        self._api = apis.Api(self._transport)
        self._exit_report = cluster.exit_report
        self._supervisor = supervising.Supervisor(
            directory, run_id=plan.run_id, cluster=cluster.exit_report
        )
        self._pods = goals.PodCounter(self._api, namespace=plan.namespace)
        self._enough = goals.pods_for_load(self._scenario)
        self._spotter = goals.DoubleSpotter(self._api, namespace=plan.namespace)

    def make(self) -> errors.HarnessError | None:
        """Everything between an empty world and none; returns why not all of it could be written down, if so."""
        cluster_records.note_run(self._kubeconfig.parent, self._plan.run_id)
        world = fake_world.publish(
            self._api,
            self._scenario.pools,
            namespace=self._plan.namespace,
            run_id=self._plan.run_id,
            admin=self._scenario.claim.admin_access,
            on=self._capabilities,
        )
        failure = None
        try:
            self._work()
        except (errors.ProcessError, errors.ClusterError, errors.StorageError) as error:
            self._note_early_end(error)
        except OSError as error:
            if not writing.is_of_writing(error):
                raise
            failure = writing.explain(error)
            self._note_early_end(failure)
        finally:
            self._end(world)
        return self._supervisor.failure or failure

    def _work(self) -> None:
        self._pods.start()
        if self._plan.until_found:
            self._spotter.start()
        self._start_observers()
        if self._scenario.subject.start == "before-traffic":
            self._start_subject()
            self._start_traffic()
            self._supervisor.wait_ready(*self._plan.expected_steps)
            self._wait_for_traffic()
        else:
            self._start_traffic()
            self._wait_for_traffic()
            self._start_subject()
            self._supervisor.wait_ready(*self._plan.expected_steps)
        self._wait_for_pods()

    # ------------------------------------------------------------------- beginning

    def _start_observers(self) -> None:
        self._phase("starting the recorder and the kubelets")
        self._supervisor.start_part(
            RECORDER,
            "record",
            "--kubeconfig",
            self._kubeconfig,
            "--run-directory",
            self._directory.path.resolve(),
        )
        self._supervisor.start_part(
            KUBELET,
            "kubelet",
            *self._connection(),
            "--operations",
            self._directory.operations(KUBELET).resolve(),
            "--run-id",
            self._plan.run_id,
        )
        self._supervisor.wait_ready(RECORDER, KUBELET)

    def _start_subject(self) -> None:
        self._phase("starting the scheduler")
        subject = self._scenario.subject
        names = subjects.process_names(subject)
        for name, scheduler in zip(names, subject.schedulers, strict=True):
            self._start_scheduler(name, scheduler)
        if subject.claim_controller == "python":
            self._start_part_of_subject(subjects.CONTROLLER, subjects.CONTROLLER)

    def _start_scheduler(self, name: str, scheduler: specs.AnyScheduler) -> None:
        if isinstance(scheduler, specs.PythonScheduler):
            option = ("--scheduler-name", scheduler.scheduler_name)
            self._start_part_of_subject(name, subjects.PROCESS, *option)
            return
        argv = subjects.command(name, scheduler, self._scenario.subject, self._surroundings())
        if argv is not None:
            environment = {"KUBECONFIG": str(self._user_kubeconfig)}
            self._supervisor.start_foreign(name, argv, env=environment)

    def _surroundings(self) -> subjects.Surroundings:
        return subjects.Surroundings(
            kubeconfig=self._user_kubeconfig,
            namespace=self._plan.namespace,
            run_id=self._plan.run_id,
            seed=self._plan.seed,
            folder=self._directory.logs.resolve(),
            protobuf=self._capabilities.protobuf,
        )

    def _start_part_of_subject(self, name: str, part: str, *arguments: str) -> None:
        """A part that is ours: with its settings and the known defects, recording its steps."""
        common = [*self._connection(), "--settings", self._write_settings(name)]
        for defect in self._plan.defects:
            common += ["--defect", defect]
        steps = self._directory.steps(name).resolve()
        self._supervisor.start_part(name, part, *common, *arguments, "--steps", steps)

    def _write_settings(self, name: str) -> pathlib.Path:
        """The settings file of a process of the subject: what of the plan concerns it."""
        chosen = self._plan.settings["subject"]
        settings = {key: chosen[key] for key in _SUBJECT_SETTINGS}
        settings |= {"seed": self._plan.seed, "run_id": self._plan.run_id}
        path = self._directory.logs / f"{name}-settings.json"
        writing.replace(path, msgspec.json.encode(settings))
        return path.resolve()

    def _start_traffic(self) -> None:
        self._phase("starting the load")
        self._supervisor.start(
            TRAFFIC,
            launching.command(self._scenario.traffic),
            env=launching.environment(self._directory, self._kubeconfig),
            finite=True,
        )

    def _connection(self) -> list[str | pathlib.Path]:
        return ["--kubeconfig", self._kubeconfig, "--namespace", self._plan.namespace]

    # --------------------------------------------------------------------- waiting

    def _wait_for_traffic(self) -> None:
        """Until all traffic is done, or its time is up."""
        self._phase("load")
        self._wait("the traffic to end", self._traffic_has_ended)

    def _traffic_has_ended(self) -> bool:
        if self._goal is None:
            self._progress.advance(self._pods.ran, self._enough, "pods have run")
        else:
            self._progress.advance(self._pods.present, self._goal, "pods created")
        if self._pods.ran >= self._enough:
            launching.enough_file(self._directory).touch()
        return self._supervisor.finished(TRAFFIC)

    def _wait_for_pods(self) -> None:
        """Until every pod that is to stay is Running, or the time is up."""
        if self._goal is None:
            return
        goal = self._goal
        self._phase("scheduling")

        def all_running() -> bool:
            self._progress.advance(self._pods.running, goal, "pods running")
            return self._pods.running >= goal

        self._wait(f"{goal} pods to run", all_running)

    @property
    def _goal(self) -> int | None:
        """Pods that are to run in the end; None when they come and go."""
        traffic = self._scenario.traffic
        return traffic.pods if isinstance(traffic, specs.AllAtOnceTraffic) else None

    def _wait(self, why: str, condition: processes.Condition) -> None:
        """A timeout ends the phase, not the run: what was done is judged."""
        try:
            self._supervisor.wait_until(
                lambda: self._spotter.found or condition(),
                timeout_s=self._scenario.timeout_s,
                why=why,
            )
        except errors.WaitTimeoutError as error:
            self._supervisor.phase("timed out", detail=str(error))
        if self._spotter.found:
            self._supervisor.phase("found", detail=self._spotter.found)

    def _phase(self, name: str) -> None:
        self._progress.phase(name)
        self._supervisor.phase(name)

    # ---------------------------------------------------------------------- ending

    def _note_early_end(self, error: errors.HarnessError) -> None:
        """A process or the cluster died: everything else is stopped in order, and the verdict will say that it was no whole run."""
        self._supervisor.phase("ended early", detail=str(error))

    def _end(self, world: fake_world.FakeWorld) -> None:
        try:
            self._phase("stopping")
            self._supervisor.stop(TRAFFIC, timeout_s=TRAFFIC_STOP_TIMEOUT_S)
            schedulers = subjects.process_names(self._scenario.subject)
            self._supervisor.stop_all([*schedulers, *LAST])
        finally:
            self._supervisor.kill_all()
            self._supervisor.phase("ended")
            self._supervisor.close()
            self._pods.stop()
            self._spotter.stop()
            launching.enough_file(self._directory).unlink(missing_ok=True)
        try:
            self._fetch_logs()
        finally:
            self._remove(world)
            self._transport.close()

    def _fetch_logs(self) -> None:
        """Of a scheduler that the cluster runs; those that we started have written theirs."""
        subject = self._scenario.subject
        for name, scheduler in zip(
            subjects.process_names(subject), subject.schedulers, strict=True
        ):
            if isinstance(scheduler, specs.ClusterScheduler):
                into = self._directory.log(name)
                since = self._plan.created_wall_ns
                cluster_logs.fetch(self._transport, into, since_wall_ns=since)

    def _remove(self, world: fake_world.FakeWorld) -> None:
        """Leave no trace in a cluster that lives. That it did not work is no reason to lose a verdict: the next run will notice."""
        if self._exit_report() is not None:
            return
        try:
            fake_world.remove(self._api, world)
        except (apis.ApiError, transports.TransportError, errors.WaitTimeoutError) as error:
            label = f"{fake_world.RUN_LABEL}={self._plan.run_id}"
            self._progress.phase(
                f"the cluster could not be cleaned ({error}): if it stays, `kubectl delete "
                f"namespaces,nodes,resourceslices,deviceclasses -l {label}`"
            )


def new_directory(plan: plans.Plan, reports: pathlib.Path) -> directories.RunDirectory:
    """The run's directory, `<reports>/<scenario>/<start>-<run id>`; `<reports>/latest` links to the newest one."""
    directory = directories.create(reports / plan.scenario / run_plan.folder_name(plan))
    directories.link_latest(reports, directory)
    return directory
