"""The clock and waiting for conditions."""

import pathlib

import pytest

from harness import clocks, errors


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(0, "1970-01-01T00:00:00Z"), (1_769_903_999_900_000_000, "2026-01-31T23:59:59Z")],
)
def test_wall_time_in_words(nanoseconds: int, text: str) -> None:
    assert clocks.wall_text(nanoseconds) == text


def test_a_host_without_boot_ids(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setattr(clocks, "_BOOT_ID", tmp_path / "none")
    assert clocks.boot_id() == "unknown"


def test_a_timeout_says_what_was_waited_for() -> None:
    with pytest.raises(errors.WaitTimeoutError, match=r"waited 0\.01 s for the sun to rise"):
        clocks.wait_until(lambda: False, timeout_s=0.01, why="the sun to rise", interval_s=0.001)
