"""Other people's tests: real runs and clusters by the fixtures of `harness.pytest_plugin`."""

import pathlib

import psutil
import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.e2e

RUNS = """
    SMALL = ["traffic.duration_s=0.5", "load.allocations_min=3", "load.pods_running_min=3", "load.reuse_min=0"]

    def test_correct(flake_hunt_run):
        run = flake_hunt_run("shared-claims", overrides=SMALL)
        assert run.verdict == "VALID", str(run)
        assert run.checks["device_exclusivity"] == "VALID"
        assert run.violations == 0

    def test_broken(flake_hunt_run, flake_hunt_judge, tmp_path):
        run = flake_hunt_run("shared-claims", defects=["bound-before-reserved"], overrides=SMALL)
        assert flake_hunt_judge(run.directory) == run
        assert run.directory.is_relative_to(tmp_path)
        assert run.verdict == "VALID", str(run)
"""
CLUSTER = """
    import pytest
    from harness.client import apis, transports

    @pytest.fixture(scope="session")
    def flake_hunt_pools():
        return {"nodes": 3, "devices_per_node": 4}

    def test_cluster(flake_hunt_cluster):
        transport = transports.connect(flake_hunt_cluster.kubeconfig)
        api = apis.Api(transport)
        nodes = [item["metadata"]["name"] for item in api.list(apis.NODES).items]
        devices = [len(item["spec"]["devices"]) for item in api.list(apis.SLICES).items]
        transport.close()
        assert tuple(nodes) == flake_hunt_cluster.nodes == ("worker-0", "worker-1", "worker-2")
        assert devices == [4, 4, 4]
        assert flake_hunt_cluster.device_class == "flake-hunt"
"""


def processes_of(folder: pathlib.Path) -> list[list[str]]:
    return [
        process.info["cmdline"]
        for process in psutil.process_iter(["cmdline"])
        if any(str(folder) in word for word in process.info["cmdline"] or ())
    ]


def test_runs_are_judged_and_a_failure_says_how_to_repeat_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(RUNS)
    result = pytester.runpytest_subprocess("--flake-hunt-seed", "5", "--basetemp=tmp")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*INVALID: bound_pods*",
            "*again: pytest *::test_broken --flake-hunt-seed 5",
        ]
    )
    assert processes_of(pytester.path) == []


def test_a_cluster_has_its_pools_and_goes_with_the_session(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CLUSTER)
    pytester.runpytest_subprocess("--basetemp=tmp").assert_outcomes(passed=1)
    assert processes_of(pytester.path) == []
    assert (pytester.path / "tmp" / "flake-hunt-cluster0" / "kubelet.log").exists()
