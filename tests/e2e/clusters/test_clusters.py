"""One scenario, unchanged, on every kind of cluster; what is absent is skipped with its reason.

`make e2e-local` runs it with real binaries (KUBEBUILDER_ASSETS or PATH), `make e2e-kind` on Docker,
and E2E_CONTEXT=<context> on a cluster of yours that is marked for tests.
"""

import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import sys
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from harness import clocks
from harness.client import apis
from harness.cluster import doctor, embedded_cluster, existing_cluster
from harness.history import directories, journal_reader, records
from tests.e2e import running
from tests.stand_ins import commands
from tests.support import called_commands, real_programs

pytestmark = pytest.mark.e2e
WATCHED = (apis.NAMESPACES, apis.NODES, apis.SLICES, apis.DEVICE_CLASSES, apis.LEASES)
Options = list[str]
FEW = ("--set", "traffic.users=2")
"""Users, where only the course of a run is looked at."""


@pytest.fixture
def elsewhere(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield the kubeconfig of a cluster that exists and has a foreign node."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    server = embedded_cluster.up("elsewhere", folder)
    mark = {"metadata": {"annotations": {existing_cluster.MARK: "true"}}}
    with running.api(server.kubeconfig) as api:
        api.patch(apis.NAMESPACES, "default", mark)
        api.create(apis.NODES, {"metadata": {"name": "worker-0"}})
    yield server.user_kubeconfig
    server.down()


def objects(kubeconfig: pathlib.Path) -> set[tuple[str, str]]:
    """Kind and uid of everything that a run could have made or taken away."""
    with running.api(kubeconfig) as api:
        return {
            (resource.plural, item["metadata"]["uid"])
            for resource in WATCHED
            for item in api.list(resource).items
        }


def versions(kubeconfig: pathlib.Path) -> dict[str, str]:
    with running.api(kubeconfig) as api:
        return {
            item["metadata"]["uid"]: item["metadata"]["resourceVersion"]
            for resource in (apis.NODES, apis.NAMESPACES)
            for item in api.list(resource).items
        }


def on_local() -> Options:
    for name in ("etcd", "kube-apiserver"):
        if reason := real_programs.missing(name):
            pytest.skip(reason)
    return ["--cluster", "local", *running.LONGER]


def on_kind() -> Options:
    if os.environ.get("E2E") != "kind":
        pytest.skip("kind is for: make e2e-kind")
    missing = [item for item in doctor.examine("kind") if item.state == "missing"]
    if missing:
        pytest.skip("; ".join(f"{item.part}: {item.remedy}" for item in missing))
    return ["--cluster", running.KIND_PROFILE, *running.LONGER]


def on_existing(kubeconfig: pathlib.Path) -> Options:
    options = ["--cluster", "kubeconfig", "--cluster", f"kubeconfig={kubeconfig}"]
    return [*options, "--cluster", "controller_manager=false"]


def on_yours() -> Options:
    context = os.environ.get("E2E_CONTEXT")
    if not context:
        pytest.skip("no cluster of yours was named: E2E_CONTEXT=<context>")
    return ["--cluster", "kubeconfig", "--cluster", f"context={context}", *running.LONGER]


@dataclasses.dataclass(frozen=True)
class Chosen:
    """A kind of cluster, the options of a run on it, and the time that one may take."""

    provider: str
    options: Options
    timeout_s: float = running.TIMEOUT_S


@pytest.fixture(
    params=[
        pytest.param(("local", on_local), id="local"),
        pytest.param(("kind", on_kind), id="kind", marks=pytest.mark.timeout(1800)),
        pytest.param(("kubeconfig", on_yours), id="kubeconfig-yours"),
    ]
)
def chosen(request: pytest.FixtureRequest) -> Chosen:
    provider, options = request.param
    timeout_s = running.KIND_TIMEOUT_S if provider == "kind" else running.TIMEOUT_S
    return Chosen(provider, options(), timeout_s)


SAFE = ("--remedy", "keep-in-flight-until-known")
"""Without it, a lost answer and a late watch lead to double allocations (H1)."""
FAULTS = """
[[faults]]
kind = "lose-response"
times = 3
on = { resource = "resourceclaims", subresource = "status" }
[[faults]]
kind = "delay-events"
seconds = 0.1
times = 10
on = { resource = "resourceclaims" }
[[faults]]
kind = "touch-objects"
resource = "nodes"
"""


def test_a_scenario_runs_unchanged_on_every_cluster(tmp_path: pathlib.Path, chosen: Chosen) -> None:
    """The embedded cluster is tested in `test_runs`."""
    arguments = ("run", str(running.scenario(tmp_path)), "--seed", "7", *chosen.options)
    code, output = running.run(tmp_path, *arguments, timeout_s=chosen.timeout_s)
    assert code == 0, output
    directory = running.run_directory(tmp_path)
    assert (directory / "scenario.toml").read_text() == running.SMALL_SCENARIO
    running.require_noted(directory, chosen.provider)


def test_a_known_defect_is_caught_on_every_cluster(tmp_path: pathlib.Path, chosen: Chosen) -> None:
    control = ("--defect", "gather-not-atomic", "--until-found", *chosen.options)
    arguments = ("run", str(running.scenario(tmp_path)), *control)
    code, output = running.run(tmp_path, *arguments, timeout_s=chosen.timeout_s)
    assert code == 10, output


def bite(folder: pathlib.Path, chosen: Chosen) -> None:
    scenario = running.scenario(folder)
    scenario.write_text(running.SMALL_SCENARIO + FAULTS)
    arguments = ("run", str(scenario), *SAFE, *chosen.options)
    code, output = running.run(folder, *arguments, timeout_s=chosen.timeout_s)
    assert code == 0, output
    directory = running.run_directory(folder)
    journal = journal_reader.read(directories.RunDirectory(directory).faults).records
    applied = [item for item in journal if isinstance(item, records.FaultApplied)]
    counts = collections.Counter(item.fault for item in applied)
    assert counts.pop("touch-objects") > 10
    assert counts == {"lose-response": 3, "delay-events": 10}
    assert all(item.uid and item.resource_version for item in applied)
    running.require_noted(directory, chosen.provider)


def test_faults_bite_on_every_cluster(tmp_path: pathlib.Path, chosen: Chosen) -> None:
    """The embedded cluster is tested in `test_faulty_runs`, one that exists below."""
    bite(tmp_path, chosen)


def test_faults_do_not_touch_the_objects_of_others(
    tmp_path: pathlib.Path, elsewhere: pathlib.Path
) -> None:
    before = versions(elsewhere)
    bite(tmp_path, Chosen("kubeconfig", on_existing(elsewhere)))
    assert versions(elsewhere) == before


def test_on_a_cluster_that_exists_nothing_of_a_run_stays(
    tmp_path: pathlib.Path, elsewhere: pathlib.Path
) -> None:
    """It ends by itself, or by a signal while everything is up."""
    before = objects(elsewhere)
    scenario = str(running.scenario(tmp_path))
    options = on_existing(elsewhere)
    with running.started(
        tmp_path, "run", scenario, "--set", "traffic.duration_s=60", *options
    ) as command:
        command.wait_for_other("main part scheduler")
        assert len(objects(elsewhere)) > len(before) + 5
        command.process.send_signal(signal.SIGTERM)
        assert command.wait() == 130
        assert "interrupted" in command.text()
        command.require_alone()
    assert objects(elsewhere) == before


def test_what_a_killed_run_left_on_a_cluster_that_exists_is_pruned(
    tmp_path: pathlib.Path, elsewhere: pathlib.Path
) -> None:
    before = objects(elsewhere)
    scenario = running.scenario(tmp_path)
    scenario.write_text(running.SMALL_SCENARIO + FAULTS)
    with running.started(tmp_path, "run", str(scenario), *on_existing(elsewhere)) as command:
        command.wait_for_other("main part scheduler")
        command.process.kill()
        command.wait()
        command.require_alone()
    assert len(objects(elsewhere)) > len(before) + 5
    code, output = running.run(tmp_path, "cluster", "prune")
    assert code == 0, output
    assert objects(elsewhere) == before
    assert not list((tmp_path / "reports").rglob("kubeconfig*"))


def test_an_unmarked_cluster_is_not_touched(
    tmp_path: pathlib.Path, elsewhere: pathlib.Path
) -> None:
    unmark = {"metadata": {"annotations": {existing_cluster.MARK: None}}}
    with running.api(elsewhere) as api:
        api.patch(apis.NAMESPACES, "default", unmark)
    before = objects(elsewhere)
    code, output = running.called(
        tmp_path, "run", str(running.scenario(tmp_path)), *on_existing(elsewhere)
    )
    assert code == 2
    assert "marked for tests, but this one is not; nothing was changed" in output
    assert objects(elsewhere) == before
    assert not (tmp_path / "reports").exists()


def test_nothing_of_a_local_cluster_stays_when_it_is_told_to_end(
    tmp_path: pathlib.Path,
) -> None:
    options = on_local()
    with running.started(tmp_path, "run", str(running.scenario(tmp_path)), *options) as command:
        command.wait_for_other("--data-dir")
        command.process.send_signal(signal.SIGTERM)
        assert command.wait() == 130
        assert "Traceback" not in command.text()
        command.require_alone()
    (run,) = tmp_path.glob("reports/small/*")
    assert (run / "logs" / "cluster" / "etcd.log").is_file(), (
        "it was ended before there was anything"
    )
    assert not running.in_memory(tmp_path)
    assert not list(tmp_path.rglob("*.key"))


def test_a_killed_run_on_a_local_cluster_is_pruned(
    tmp_path: pathlib.Path,
) -> None:
    scenario, options = str(running.scenario(tmp_path)), on_local()
    with running.started(tmp_path, "run", scenario, *options) as command:
        command.wait_for_other("traffic.locust_process")
        command.process.kill()
        command.wait()
        code, output = running.run(tmp_path, "cluster", "prune")
        assert code == 0, output
        command.require_alone()
    assert not running.in_memory(tmp_path)
    assert not list(tmp_path.rglob("*.key"))


def test_prune_leaves_a_local_cluster_that_stays_as_it_is(
    tmp_path: pathlib.Path,
) -> None:
    """Also the children of its processes: the process that started the cluster ended long ago."""
    on_local()
    with running.started(tmp_path, "cluster", "up", "g", "--cluster", "local") as command:
        assert command.wait() == 0, command.text()
        before = command.others()
        code, output = running.run(tmp_path, "cluster", "prune")
        assert (code, output) == (0, "Nothing to remove.\n")
        assert command.others() == before
        code, output = running.run(tmp_path, "cluster", "down", "g")
        assert code == 0, output
        command.require_alone()


def test_a_run_is_made_again_by_the_command_in_its_plan(
    tmp_path: pathlib.Path, flake_hunt: called_commands.FlakeHunt
) -> None:
    """With a scenario and a profile that are files, named by their paths; with a remedy, which
    reaches the scheduler and is named; and with compressed observations, which are judged and
    rendered alike again.
    """
    (tmp_path / "clusters").mkdir()
    profile = 'schema_version = 1\nprovider = "embedded"\nname = "mine"\ntitle = "mine"\n'
    (tmp_path / "clusters" / "mine.toml").write_text(profile)
    running.scenario(tmp_path)
    options = ("--cluster", "clusters/mine.toml", "--set", "traffic.users=6", "--seed", "7")
    compressed = ("--set", "recording.compression=zstd")
    remedy = ("--remedy", "fence-predecessor")
    assert running.called(tmp_path, "run", "small.toml", *options, *compressed, *remedy)[0] == 0
    (first,) = plans_of(tmp_path)
    directory = running.run_directory(tmp_path)
    assert json.loads((directory / "verdict.json").read_text())["remedies"] == [remedy[1]]
    assert '"remedy.took-over"' in running.text(directory / "steps-scheduler.jsonl")
    assert "python + fence-predecessor" in (directory / "report.html").read_text()
    require_compressed(directory, flake_hunt)
    code, output = running.called(tmp_path, *first["again"])
    assert code == 0, output
    assert "python + fence-predecessor: " in output
    same = ("again", "seed", "settings", "cluster_profile", "subject", "remedies")
    for plan in plans_of(tmp_path):
        assert [plan[key] for key in same] == [first[key] for key in same]
    assert len(plans_of(tmp_path)) == 2


def require_compressed(directory: pathlib.Path, flake_hunt: called_commands.FlakeHunt) -> None:
    """The observations are compressed and whole, and judging them again changes nothing."""
    assert not (directory / "observations.jsonl").exists()
    assert journal_reader.read(directory / "observations.jsonl.zst").trailer is not None
    first = (directory / "verdict.json").read_bytes()
    for command in ("check", "report"):
        code, _, complaint = flake_hunt(command, str(directory))
        assert code == 0, complaint
        assert (directory / "verdict.json").read_bytes() == first


def plans_of(folder: pathlib.Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in folder.glob("reports/*/*/plan.json")]


# ------------------------------------------------------------------------------- subjects


def test_kube_scheduler_and_its_logs(tmp_path: pathlib.Path) -> None:
    """The stand-in takes the documented flags and configuration, and nothing else."""
    folder = tmp_path / "binaries"
    commands.install(folder, "kube-scheduler")
    scenario = str(running.scenario(tmp_path))
    program = f"kube-scheduler={folder / 'kube-scheduler'}"
    code, output = running.called(tmp_path, "run", scenario, "--subject", program)
    assert code == 0, output
    directory = running.run_directory(tmp_path)
    plan = json.loads((directory / "plan.json").read_text())
    assert plan["subject"] == "kube-scheduler"
    assert plan["versions"]["scheduler"] == "kube-scheduler v1.36.4"
    log = running.text(directory / "logs" / "scheduler.log")
    assert "finished without leader elect" in log


def test_a_subject_that_ends_at_once_is_told_with_its_last_words(tmp_path: pathlib.Path) -> None:
    """Its relative paths are the user's; its log goes to the run all the same."""
    scenario = str(running.scenario(tmp_path))
    words = "import os; print('in', os.getcwd()); raise SystemExit('no such flag: --now')"
    (tmp_path / "mysched.py").write_text(words)
    program = f"command={sys.executable} mysched.py {{kubeconfig}}"
    code, output = running.called(tmp_path, "run", scenario, "--subject", program)
    assert code == 2
    assert "ended at once (exit code 1): correct the subject's command" in output
    assert "no such flag: --now" in output
    assert "Traceback" not in output
    log = running.run_directory(tmp_path) / "logs" / "scheduler.log"
    assert f"in {tmp_path}\n" in log.read_text()


def test_embedded_clusters_do_not_touch_each_other(tmp_path: pathlib.Path) -> None:
    """All are up at once; the death of one cluster ends only its own run."""
    folders = [tmp_path / f"cluster-{number}" for number in range(2)]
    with contextlib.ExitStack() as all_of_them:
        started = []
        for folder in folders:
            folder.mkdir()
            scenario = str(running.scenario(folder))
            words = ("run", scenario, "--set", "traffic.duration_s=3", *FEW)
            started.append(all_of_them.enter_context(running.started(folder, *words)))

        def all_are_up() -> bool:
            return len(list(tmp_path.glob("cluster-*/reports/small/*/cluster.json"))) == 2

        clocks.wait_until(all_are_up, timeout_s=60, why="both clusters to be up")
        victim, other = started
        psutil.Process(victim.wait_for_other("main part apiserver")).kill()
        assert other.wait() in {0, 20}, other.text()
        assert victim.wait() != 0
        for command in started:
            command.require_alone()
    of_victim, of_other = map(running.run_directory, folders)
    assert "ended early" not in (of_other / "processes.jsonl").read_text()
    clusters = [json.loads((run / "cluster.json").read_text()) for run in (of_victim, of_other)]
    assert clusters[0]["name"] != clusters[1]["name"]
