"""Fixtures for other people's tests: a cluster with fake devices, runs of scenarios, verdicts.

pytest finds this plug-in by itself where Flake Hunt is installed. It does nothing for tests that do
not use it, and works under pytest-xdist. In a test of your own scheduler:

    @pytest.mark.flake_hunt(runs=20)
    def test_no_device_is_given_twice(flake_hunt_run):
        run = flake_hunt_run("pod-churn", subject=["command=./scheduler --kubeconfig {kubeconfig}"])
        assert run.verdict == "VALID", str(run)

The mark repeats the test with other seeds. A failed test says which seed and run directory it had.
"""

import hashlib
import pathlib
import secrets
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from harness import api

MARK = "flake_hunt"
_SEED = "flake-hunt-seed"
"""Key of the worker input with the seed of the whole session."""
_SESSION_SEED = pytest.StashKey[str]()


class RunScenario(Protocol):
    """Runs a scenario and judges it; see `harness.api.run`."""

    def __call__(self, scenario: str | pathlib.Path, **options: Any) -> "api.Run":
        """Return the run; raise `harness.api.Error` if it could not be executed."""


class JudgeDirectory(Protocol):
    """Judges a run directory; see `harness.api.judge`."""

    def __call__(self, directory: pathlib.Path | str) -> "api.Run":
        """Return what was judged; raise `harness.api.Error` if it is no run directory."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("flake-hunt", "Flake Hunt")
    group.addoption(
        "--flake-hunt-cluster",
        default="embedded",
        metavar="PROFILE",
        help="Cluster of the fixtures: name or file of a cluster profile (default: embedded).",
    )
    group.addoption(
        "--flake-hunt-seed",
        metavar="SEED",
        help="Seed of all runs of the session (default: a random one; a failed test shows it).",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and draw the seed of the session unless it was given."""
    config.addinivalue_line(
        "markers", f"{MARK}(runs=1): repeat a test of Flake Hunt's fixtures, with other seeds"
    )
    given = getattr(config, "workerinput", {}).get(_SEED) or config.getoption("--flake-hunt-seed")
    config.stash[_SESSION_SEED] = given or secrets.token_hex(4)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give a worker of pytest-xdist the seed of the session."""
    node.workerinput[_SEED] = node.config.stash[_SESSION_SEED]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None:
        return
    runs = _runs(mark)
    if runs > 1:
        metafunc.fixturenames.append("_flake_hunt_repetition")
        metafunc.parametrize(
            "_flake_hunt_repetition", range(runs), ids=[f"run{number}" for number in range(runs)]
        )


def _runs(mark: pytest.Mark) -> int:
    """Return the number of runs that a mark asks for; raise UsageError if it is none."""
    given = [*mark.args, *mark.kwargs.values()]
    runs = given[0] if given else 1
    if mark.kwargs.keys() - {"runs"} or len(given) > 1 or type(runs) is not int or runs < 1:
        raise pytest.UsageError(
            f"expected @pytest.mark.{MARK}(runs=N) with N of at least 1, got {_words(mark)}"
        )
    return runs


def _words(mark: pytest.Mark) -> str:
    keywords = [f"{key}={value!r}" for key, value in mark.kwargs.items()]
    return f"{MARK}({', '.join([*map(repr, mark.args), *keywords])})"


@pytest.fixture
def flake_hunt_seed(request: pytest.FixtureRequest) -> int:
    """The seed of this test's runs: another one for each test and repetition."""
    text = f"{request.config.stash[_SESSION_SEED]}/{request.node.nodeid}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


@pytest.fixture(scope="session")
def flake_hunt_pools() -> dict[str, int]:
    """`nodes` and `devices_per_node` of `flake_hunt_cluster`; redefine it to have others."""
    return {"nodes": 8, "devices_per_node": 2}


@pytest.fixture(scope="session")
def flake_hunt_cluster(
    pytestconfig: pytest.Config,
    tmp_path_factory: pytest.TempPathFactory,
    flake_hunt_pools: dict[str, Any],
) -> "Iterator[api.Cluster]":
    """A cluster with fake nodes, device pools and kubelets, for all tests of this worker.

    It has `kubeconfig`, `namespace`, `nodes` and `device_class`. No scheduler and no claim
    controller run on it: tests start their own.
    """
    from harness import api

    folder = tmp_path_factory.mktemp("flake-hunt-cluster")
    profile = pytestconfig.getoption("--flake-hunt-cluster")
    try:
        with api.cluster(folder, profile=profile, **flake_hunt_pools) as cluster:
            yield cluster
    except api.Error as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


@pytest.fixture
def flake_hunt_run(
    request: pytest.FixtureRequest, tmp_path: pathlib.Path, flake_hunt_seed: int
) -> RunScenario:
    """A function that runs a scenario on a cluster of its own and judges it; see `harness.api.run`.

    The run directory is in `tmp_path` unless `reports` is given; its path and verdict are
    properties of the test in junit.xml.
    """
    from harness import api

    def run(scenario: str | pathlib.Path, **options: Any) -> "api.Run":
        chosen = request.config.getoption("--flake-hunt-cluster")
        defaults = {"cluster": chosen, "seed": flake_hunt_seed, "reports": tmp_path / "reports"}
        __tracebackhide__ = True  # of an error, only the text and the line of the test are shown
        try:
            found = api.run(scenario, **{**defaults, **options})
        except api.Error as error:
            raise error.with_traceback(None) from None
        request.node.user_properties.append((MARK, str(found)))
        request.node.add_report_section(
            "call", "flake-hunt", f"{found}\n  again: {_again(request)}"
        )
        return found

    return run


def _again(request: pytest.FixtureRequest) -> str:
    """Return the command that repeats a test with the same seeds."""
    seed = request.config.stash[_SESSION_SEED]
    return shlex.join(["pytest", request.node.nodeid, "--flake-hunt-seed", seed])


@pytest.fixture
def flake_hunt_judge() -> JudgeDirectory:
    """A function that judges a run directory from its content alone; see `harness.api.judge`."""
    from harness import api

    return api.judge
