"""Defaults of options."""

import os
import pathlib

import pytest

from harness import errors
from harness.cli import choosing
from harness.scenario import profiles
from tests.support import cases


@pytest.mark.parametrize(("cores", "asked", "profile", "expected"), cases.read(__file__, "jobs"))
def test_runs_at_once(
    monkeypatch: pytest.MonkeyPatch,
    cores: int | None,
    asked: int | None,
    profile: str,
    expected: int,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert choosing.jobs(asked, profiles.load(profile)) == expected


def test_a_cluster_is_a_profile_and_changes_of_it(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    chosen = ["kubeconfig", "kubeconfig=x", "context=c"]
    profile = choosing.ProfileOptions(cluster=chosen).profile()
    assert isinstance(profile, profiles.KubeconfigProfile)
    assert (profile.kubeconfig, profile.context) == (str(tmp_path / "x"), "c")
    assert choosing.ProfileOptions(cluster=["port=5"]).profile().provider == "embedded"
    with pytest.raises(errors.UsageError, match="expected one --cluster PROFILE, got local and"):
        choosing.ProfileOptions(cluster=["local", "kind"]).profile()


@pytest.mark.parametrize(("load", "expected"), [(0.0, 3), (2.0, 2), (20.0, 2)])
def test_on_a_busy_machine_fewer_runs_are_made_at_once(
    monkeypatch: pytest.MonkeyPatch, load: float, expected: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    profile = profiles.load("embedded")
    assert choosing.jobs(None, profile, leaves_room=True) == expected
    assert choosing.jobs(None, profile) == 3
    assert choosing.jobs(2, profile, leaves_room=True) == 2
