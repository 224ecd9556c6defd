"""A run beside whose claim controller another one evicts pods, as a cluster's own would."""

import contextlib
import pathlib
import threading
from collections.abc import Iterator

import pytest

from harness import clocks
from harness.checks import verdicts
from harness.client import apis, transports
from harness.cluster import interfaces
from harness.cluster.lifecycle import held_clusters
from harness.history import directories
from harness.run import run_plan, runs
from harness.scenario import loading, profiles
from harness.subject.claim_control import claim_controllers
from harness.subject.releases import differences

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
AGENT = "kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/unknown"


@contextlib.contextmanager
def evicting(kubeconfig: pathlib.Path, directory: directories.RunDirectory) -> Iterator[None]:
    """Evict as kube-controller-manager does, from the beginning of the load on, and do no more."""
    api = apis.Api(transports.connect(kubeconfig, user_agent=AGENT))
    second = claim_controllers.ClaimController(
        api,
        claim_controllers.ControllerOptions(workers=0, evicts=True),
        claim_controllers.ControllerParts(evictor=differences.NamedEffectsEvictor),
    )

    def start() -> None:
        processes = directory.processes
        clocks.wait_until(
            lambda: processes.exists() and b'"load"' in processes.read_bytes(),
            timeout_s=60,
            why="the load",
        )
        second.start()

    thread = threading.Thread(target=start)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        second.stop()
        api.transport.close()


@pytest.mark.timeout(240)
def test_the_writer_and_the_known_finding_are_named_and_the_witness_agrees(
    tmp_path: pathlib.Path,
) -> None:
    loaded = loading.load("evictions")
    plan = run_plan.plan(loaded, seed=7, cluster=profiles.load("embedded"))
    profile = profiles.restore(plan.cluster_profile)
    directory = directories.create(tmp_path / "run")
    (tmp_path / "cluster").mkdir()
    request = interfaces.ClusterRequest(name="two", directory=tmp_path / "cluster")
    with (
        held_clusters.held(profile, request) as cluster,
        evicting(cluster.kubeconfig, directory),
    ):
        judgement = runs.run(loaded, plan, directory, cluster=cluster)
    evicted = next(item for item in judgement.checks if item.check == "evicted_pods")
    assert evicted.verdict is verdicts.Verdict.INVALID, evicted.reason
    for violation in evicted.violations:
        assert "evicted by kube-controller-manager" in violation.text
        assert "H23" in violation.summary
    witness = next(item for item in judgement.certificate if item.name == "witness")
    assert witness.ok, witness.reason
