"""What options come to when they are left out."""

import os

import pytest

from harness.cli import choosing
from harness.scenario import profiles


@pytest.mark.parametrize(
    ("cores", "asked", "profile", "expected"),
    [
        (8, None, "embedded", 8),
        (16, None, "kind", 4),
        (2, None, "kind-1.34", 1),
        (2, 3, "kind", 3),
        (None, None, "local", 1),
    ],
)
def test_runs_at_once(
    monkeypatch: pytest.MonkeyPatch,
    cores: int | None,
    asked: int | None,
    profile: str,
    expected: int,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert choosing.jobs(asked, profiles.load(profile), is_forced=False) == expected
