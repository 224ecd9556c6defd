"""Settings for all tests."""

import gc
import os
import signal
from collections.abc import Generator, Iterator
from typing import Any

import hypothesis
import pytest

from harness import processes
from harness.cluster import state_folder
from tests.support import called_commands, deferring, ordering, process_state

STATE = pytest.StashKey[dict[str, Any]]()
"""The state that the last test left."""

# Images of Python often set it: every process of every run would compile all that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# As in a command, but here for every process that a test starts.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background commands with SIGINT ignored, and child processes inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def flake_hunt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> called_commands.FlakeHunt:
    """The command in this process."""
    return called_commands.FlakeHunt(monkeypatch, capsys)


@pytest.fixture(scope="session", autouse=True)
def own_state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Record clusters in a folder of this test session.

    In the user's folder, a session that was killed would leave records that the next one meets.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(state_folder.VARIABLE, str(tmp_path_factory.mktemp("state-home")))
        yield


@pytest.fixture(scope="session", autouse=True)
def prepared_processes(own_state_folder: None) -> None:
    """Fork the API servers and other parts that tests start, instead of importing them again."""
    del own_state_folder
    processes.prepare()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test that leaves a hook, a signal handler or the like to the tests after it."""
    yield
    now = process_state.read()
    before, item.config.stash[STATE] = item.config.stash[STATE], now
    if before != now:
        left = "; ".join(process_state.changes(before, now))
        pytest.fail(f"the test has changed its process: {left}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without Python's garbage collector, and keep it from what was collected.

    It would look through modules and tests, of which nothing ever becomes garbage, again and again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Remember what the first test must leave as it was."""
    session.config.stash[STATE] = process_state.read()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make test`."""
    parser.addoption("--fast", action="store_true", help="defer the tests of tests/deferred.txt")


def pytest_configure(config: pytest.Config) -> None:
    """Have `make test` try fewer random inputs; worker processes inherit it."""
    if config.getoption("fast"):
        for name, amount in deferring.AMOUNTS.items():
            os.environ.setdefault(name, amount)
        hypothesis.settings.register_profile("fast", max_examples=deferring.EXAMPLES, deadline=None)
        hypothesis.settings.load_profile("fast")


def pytest_report_header(config: pytest.Config) -> str:
    """Say which tests run."""
    if not config.getoption("fast"):
        return "tests: all"
    return (
        f"tests: without those of tests/deferred.txt, except a tenth of them, which commit "
        f"{deferring.commit()} chooses; `make test-all` runs all"
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which of the deferred tests ran, by their files."""
    if not terminalreporter.config.getoption("fast"):
        return
    kinds = ("passed", "failed", "error", "skipped")
    ids = {item.nodeid for kind in kinds for item in terminalreporter.stats.get(kind, ())}
    terminalreporter.section(f"deferred tests that commit {deferring.commit()} chose")
    for line in deferring.told(ids):
        terminalreporter.line(line)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests in an order in which all processes end at about the same time."""
    if config.getoption("fast"):
        items[:], left_out = deferring.divided(items)
        config.hook.pytest_deselected(items=left_out)
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = ordering.ordered(items, workers=workers)
