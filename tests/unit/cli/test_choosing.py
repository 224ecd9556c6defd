"""Defaults of options."""

import os
import pathlib

import pytest

from harness import errors
from harness.cli import choosing
from harness.scenario import profiles


@pytest.mark.parametrize(
    ("cores", "asked", "profile", "expected"),
    [
        (8, None, "embedded", 12),
        (1, None, "embedded", 1),
        (2, None, "local", 2),
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


def test_more_processes_than_the_machine_can_bear_need_insistence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    choosing.require_bearable("--jobs", 16, is_forced=False)
    choosing.require_bearable("--jobs", 17, is_forced=True)
    with pytest.raises(
        errors.UsageError, match=r"at most 16 on this machine \(8 per core\), got 17"
    ):
        choosing.require_bearable("--jobs", 17, is_forced=False)


@pytest.mark.parametrize(
    ("kubeconfig", "context", "is_known", "named"),
    [
        ("a", None, False, "--kubeconfig"),
        (None, "c", True, "--context and --i-know-this-cluster"),
    ],
)
def test_an_option_of_another_kind_of_cluster_is_refused(
    kubeconfig: str | None, context: str | None, named: str, *, is_known: bool
) -> None:
    path = None if kubeconfig is None else pathlib.Path(kubeconfig)
    expected = f"expected {named} with --cluster kubeconfig, got --cluster embedded: add"
    with pytest.raises(errors.UsageError, match=expected):
        choosing.ProfileOptions(
            kubeconfig=path, context=context, i_know_this_cluster=is_known
        ).profile()


@pytest.mark.parametrize(("load", "expected"), [(0.0, 3), (2.0, 2), (20.0, 2)])
def test_on_a_busy_machine_fewer_runs_are_made_at_once(
    monkeypatch: pytest.MonkeyPatch, load: float, expected: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    profile = profiles.load("embedded")
    assert choosing.jobs(None, profile, is_forced=False, leaves_room=True) == expected
    assert choosing.jobs(None, profile, is_forced=False) == 3
    assert choosing.jobs(2, profile, is_forced=False, leaves_room=True) == 2
