"""The load of a run from workers that share no folder with it, here and in another network."""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence

import msgspec
import pytest

from harness import clocks, processes
from harness.cluster import loopback_ports
from harness.history import (
    clock_domains,
    directories,
    histories,
    journal_reader,
    plans,
    records,
)
from harness.run import run_plan
from harness.scenario import loading, specs
from harness.traffic import launching
from tests.e2e import running

pytestmark = pytest.mark.e2e
TIMEOUT_S = 90.0
FAR_BOOT = "11111111-2222-3333-4444-555555555555"
FAR_CLOCK_S = 5000
"""The other host has been up for so much longer."""
HERE, THERE = "10.77.213.1", "10.77.213.2"
FEW = ("--set", "traffic.users=6", "--set", "traffic.processes=2")
"""Workers are tested here, not load."""
OLD_WORKER = """
import sys
from harness.traffic.remote import admission, workers
admission.version = lambda: "Flake Hunt 0.0.1 with Locust 2.0"
sys.argv = ["flake-hunt", "traffic-worker", *sys.argv[1:]]
from harness.cli import main
main.main()
"""


@dataclasses.dataclass(frozen=True)
class Site:
    """A run, and the folder of its workers."""

    run: running.Command
    folder: pathlib.Path
    master: str
    kubeconfig: pathlib.Path
    prefix: Sequence[str] = ()
    """How a program is started on the host of the workers."""

    def worker(self, *more: str, program: Sequence[str] = ("-m", "harness.cli.main")) -> "Worker":
        name = tempfile.mkdtemp(dir=self.folder, prefix="worker-")
        words = [*program] + (["traffic-worker"] if "-m" in program else [])
        options = ["--master", self.master, "--kubeconfig", str(self.kubeconfig), *more]
        output = pathlib.Path(name, "output.txt")
        with output.open("wb") as file:
            process = subprocess.Popen(
                [*self.prefix, sys.executable, *words, *options],
                cwd=name,
                env={**os.environ, "TMPDIR": name, "PYTHONPATH": str(ROOT)},
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Worker(process, pathlib.Path(name))


ROOT = pathlib.Path(__file__).parents[3]


@dataclasses.dataclass(frozen=True)
class Worker:
    process: "subprocess.Popen[bytes]"
    folder: pathlib.Path

    def ended(self) -> tuple[int, str]:
        """Its exit code and output."""
        return self.process.wait(TIMEOUT_S), (self.folder / "output.txt").read_text()

    @property
    def left(self) -> list[str]:
        """The names of what is left in its folder for temporary files."""
        return [path.name for path in self.folder.iterdir() if path.name != "output.txt"]


@contextlib.contextmanager
def started(folder: pathlib.Path, *arguments: str) -> Iterator[Site]:
    """A run with remote workers on its own cluster, once the API server is there."""
    master = f"127.0.0.1:{loopback_ports.free()}"
    scenario = running.scenario(folder)
    options = ["--workers", "remote", "--traffic-bind", master, *FEW, *arguments]
    with running.started(folder, "run", str(scenario), *options) as command:
        pattern = "reports/small/*/logs/cluster/kubeconfig-plain"

        def kubeconfigs() -> list[pathlib.Path]:
            return [path for path in folder.glob(pattern) if not path.is_symlink()]

        clocks.wait_until(kubeconfigs, timeout_s=TIMEOUT_S, why="the cluster")
        other = pathlib.Path(tempfile.mkdtemp(dir=folder, prefix="other-host-"))
        shutil.copy(kubeconfigs()[0], other / "kubeconfig")
        yield Site(command, other, master, other / "kubeconfig")


def wait_for(directory: pathlib.Path, words: str) -> None:
    log = directory / "logs" / "traffic.log"
    clocks.wait_until(
        lambda: log.exists() and words in log.read_text(), timeout_s=TIMEOUT_S, why=words
    )


def certificate(directory: pathlib.Path) -> dict[str, str]:
    document = json.loads((directory / "verdict.json").read_text())
    return {item["name"]: item["reason"] for item in document["certificate"]}


def test_workers_without_a_shared_folder(tmp_path: pathlib.Path) -> None:
    """One of three is one too many, one is of another version, and one asks at a wrong port."""
    times = ("--set", "traffic.duration_s=4", "--set", "traffic.duration_max_s=60")
    with started(tmp_path, *times) as site:
        lost = dataclasses.replace(site, master=f"127.0.0.1:{loopback_ports.free()}").worker()
        old = site.worker(program=("-c", OLD_WORKER))
        workers = [site.worker() for _ in range(3)]
        assert site.run.wait() == 0, site.run.text()
        ended = sorted(worker.ended() for worker in workers)
        outdated = old.ended()
        os.killpg(lost.process.pid, signal.SIGINT)
        interrupted = lost.ended()
    directory = directories.existing(running.run_directory(tmp_path))
    assert [code for code, _ in ended] == [0, 0, 2], ended
    assert "all of its journal has arrived" in ended[0][1]
    assert "expected 2 workers, which are there (traffic-0 (" in ended[2][1]
    assert (outdated[0], interrupted[0]) == (2, 130), (outdated, interrupted)
    assert "got one of Flake Hunt 0.0.1 with Locust 2.0" in outdated[1]
    assert [worker.left for worker in (*workers, old, lost)] == [[]] * 5
    told = journal_reader.read(directory.traffic_workers).records
    assert sum(isinstance(item, records.WorkerRefused) for item in told) == 2
    assert histories.load(directory.path).remote_workers.problems == []
    assert "2 remote workers on" in certificate(directory.path)["operations"]
    ends = [item.ts_ns for item in told if isinstance(item, records.WorkerLeft)]
    begun = [item.ts_ns for item in told if isinstance(item, records.WorkerJoined)]
    assert max(ends) - max(begun) < 55e9, "the message that it is enough has arrived"


def test_a_worker_that_is_killed_is_named(tmp_path: pathlib.Path) -> None:
    with started(tmp_path, "--set", "traffic.duration_s=30") as site:
        workers = [site.worker(), site.worker()]
        directory = running.run_directory(tmp_path)
        wait_for(directory, "All users spawned")
        workers[0].process.kill()
        assert site.run.wait() == 20, site.run.text()
        assert [worker.ended()[0] for worker in workers] == [-9, 0]
    reason = certificate(directory)["operations"]
    assert re.match(r"traffic-\d on .* was lost: (it sent no heartbeat|nothing was heard)", reason)


@pytest.mark.parametrize(("wait_s", "code"), [(0.5, launching.WORKER_LOST), (60, 0)])
def test_a_master_without_workers_ends_in_order(
    tmp_path: pathlib.Path, wait_s: float, code: int
) -> None:
    """When its time is up, and by a signal while it waits; Locust alone handles no signal then."""
    changes = ["traffic.workers=remote", f"traffic.workers_wait_s={wait_s}"]
    changes += [f"traffic.bind=127.0.0.1:{loopback_ports.free()}"]
    plan = run_plan.plan(loading.load("pod-churn", overrides=changes), seed=1)
    directory = directories.create(tmp_path / "run")
    plans.write(directory.plan, plan)
    master = processes.start(
        "traffic",
        launching.command(specs.Scenario.model_validate(plan.settings).traffic),
        log=directory.log("traffic"),
        env=launching.environment(directory, tmp_path / "kubeconfig"),
    )
    try:
        if code:
            assert master.wait(timeout_s=TIMEOUT_S) == code, master.log_tail()
            assert "gave up waiting for workers: traffic-0, traffic-1" in master.log_tail()
        else:
            clocks.wait_until(directory.traffic_workers.exists, timeout_s=TIMEOUT_S, why="it")
            wait_for(directory.path, "Starting Locust")
            clocks.sleep(0.5)
            assert master.stop(timeout_s=TIMEOUT_S) == code, master.log_tail()
    finally:
        master.kill()
    assert journal_reader.read(directory.traffic_workers).trailer is not None
    assert histories.load(directory.path).remote_workers.problems == [
        "traffic-0: no worker joined",
        "traffic-1: no worker joined",
    ]


# ------------------------------------------------------------------------------- another host


@dataclasses.dataclass(frozen=True)
class Hosts:
    """Two network namespaces with a cable between them; the second is another host."""

    here: Sequence[str]
    there: Sequence[str]
    """How programs are started in each."""


@pytest.fixture
def hosts(tmp_path: pathlib.Path) -> Iterator[Hosts]:
    mark = tmp_path.parent.name[-4:] + tmp_path.name[-4:]
    here, there = f"fh-{mark}-a", f"fh-{mark}-b"
    boot = tmp_path / "boot_id"
    boot.write_text(f"{FAR_BOOT}\n")
    mount = f"mount --bind {boot} /proc/sys/kernel/random/boot_id && hostname far && exec"
    clock = ["unshare", "--time", "--monotonic", str(FAR_CLOCK_S), "--fork", "--kill-child"]
    far = [*clock, "unshare", "--mount", "--uts", "sh", "-c", f'{mount} "$@"', "far"]
    made = [
        ["ip", "netns", "add", here],
        ["ip", "netns", "add", there],
        ["ip", "link", "add", "veth0", "netns", here, "type", "veth", "peer", "name", "veth0", "netns", there],
        *[["ip", "-n", name, "addr", "add", f"{ip}/24", "dev", "veth0"] for name, ip in ((here, HERE), (there, THERE))],
        *[["ip", "-n", name, "link", "set", dev, "up"] for name in (here, there) for dev in ("lo", "veth0")],
        ["ip", "netns", "exec", there, *far, "true"],
    ]  # fmt: skip
    try:
        for words in made:
            try:
                subprocess.run(words, check=True, capture_output=True, timeout=10)
            except (OSError, subprocess.SubprocessError) as error:
                said = getattr(error, "stderr", b"") or str(error).encode()
                pytest.skip(f"no namespaces here: `{' '.join(words[:4])} …`: {said.decode()[:200]}")
        yield Hosts(["ip", "netns", "exec", here], ["ip", "netns", "exec", there, *far])
    finally:
        for name in (here, there):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@pytest.fixture
def shared(hosts: Hosts, tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """The kubeconfig of an embedded API server that both hosts reach."""
    kubeconfig = tmp_path / "shared.yaml"
    ready = tmp_path / "ready"
    words = ["apiserver", "--kubeconfig", str(kubeconfig), "--host", HERE, "--i-know-it-is-open"]
    server = subprocess.Popen(
        [*hosts.here, sys.executable, "-m", "harness.cli.main", *words, "--ready-file", str(ready)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        clocks.wait_until(ready.exists, timeout_s=TIMEOUT_S, why="the API server")
        yield kubeconfig
    finally:
        server.kill()
        server.wait()


@contextlib.contextmanager
def started_here(
    hosts: Hosts, shared: pathlib.Path, folder: pathlib.Path, *arguments: str
) -> Iterator[Site]:
    """A run on the first host, whose workers are on the second."""
    master = f"{HERE}:5557"
    options = ["--workers", "remote", "--traffic-bind", master, "--i-know-it-is-open", *FEW]
    options += ["--cluster", "kubeconfig", "--kubeconfig", str(shared), "--i-know-this-cluster"]
    options += ["--cluster-set", "controller_manager=false", "--set", "traffic.processes=3"]
    words = ["run", str(running.scenario(folder)), *options, *arguments]
    with running.started(folder, *words, prefix=hosts.here) as command:
        other = pathlib.Path(tempfile.mkdtemp(dir=folder, prefix="other-host-"))
        yield Site(command, other, master, shared, hosts.there)


def test_three_workers_of_another_host(
    hosts: Hosts, shared: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    with started_here(hosts, shared, tmp_path) as site:
        workers = [site.worker() for _ in range(3)]
        assert site.run.wait() == 0, site.run.text()
        assert [worker.ended()[0] for worker in workers] == [0, 0, 0]
    directory = directories.existing(running.run_directory(tmp_path))
    header = journal_reader.read(directory.operations("traffic-1")).header
    assert header is not None
    assert header.boot_id == FAR_BOOT
    domains = clock_domains.of_directory(directory)
    assert {domain.host for domain in domains.values()} == {"far"}
    for domain in domains.values():
        wrong_ns = domain.offset_ns + FAR_CLOCK_S * 10**9
        assert abs(wrong_ns) <= domain.uncertainty_ns < 10**9
    history = histories.load(directory.path)
    (load, *_) = [phase.ts_ns for phase in history.phases if phase.name == "load"]
    calls = [item.ts_ns for name in domains for item in history.operations(name) or ()]
    assert all(load - 10**9 < at < load + TIMEOUT_S * 1e9 for at in calls)
    assert msgspec.json.decode(directory.verdict.read_bytes())["verdict"] == "VALID"


def test_a_worker_of_another_host_that_is_interrupted_is_named(
    hosts: Hosts, shared: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    with started_here(hosts, shared, tmp_path, "--set", "traffic.duration_s=30") as site:
        workers = [site.worker() for _ in range(3)]
        clocks.wait_until(
            lambda: any(tmp_path.glob("reports/small/*/plan.json")),
            timeout_s=TIMEOUT_S,
            why="the run",
        )
        directory = running.run_directory(tmp_path)
        wait_for(directory, "All users spawned")
        os.killpg(workers[0].process.pid, signal.SIGINT)
        assert site.run.wait() == 20, site.run.text()
        ended = [worker.ended() for worker in workers]
    assert [code for code, _ in ended] == [130, 0, 0], ended
    assert "interrupted (SIGINT); the run is told so" in ended[0][1]
    assert [worker.left for worker in workers] == [[]] * 3
    told = journal_reader.read(directories.existing(directory).traffic_workers).records
    (lost,) = [item for item in told if isinstance(item, records.WorkerLeft) and item.lost]
    reason = certificate(directory)["operations"]
    assert reason.startswith(f"{lost.process} on far was lost: interrupted (SIGINT)")
    journal = journal_reader.read(directories.existing(directory).operations(lost.process))
    assert journal.trailer is not None, "its journal is whole all the same"
