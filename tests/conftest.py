"""Settings for all tests."""

import signal
from collections.abc import Iterator

import pytest

from harness.cluster import state_folder

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background commands with SIGINT ignored, and child processes inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def own_state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Record clusters in a folder of this test session.

    In the user's folder, a session that was killed would leave records that the next one meets.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(state_folder.VARIABLE, str(tmp_path_factory.mktemp("state-home")))
        yield
