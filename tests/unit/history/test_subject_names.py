"""A foreign scheduler is named with its version, and never called correct."""

import shlex
from types import SimpleNamespace

import pytest

from harness.history import subject_names
from tests.support import cases

KUBE = "kube-scheduler v1.36.2"
MANAGER = "kube-controller-manager v1.36.2"
CASES, COMMANDS = (cases.read(__file__, table) for table in ("names", "commands"))


@pytest.mark.parametrize(("name", "plan"), CASES.items())
def test_the_name_of_a_subject(name: str, plan: dict[str, object]) -> None:
    usual = {"subject": "python", "defects": [], "remedies": [], "versions": {}, "settings": {}}
    whole = SimpleNamespace(**usual | {"cluster_profile": {}} | plan)
    assert subject_names.of_plan(whole) == name
    assert subject_names.is_correct(name) is (name.startswith("correct"))


def test_the_versions_of_the_programs_under_test() -> None:
    under_test = {"scheduler": KUBE, "scheduler-2": KUBE, "claim-controller": MANAGER}
    assert subject_names.versions({"python": "3.11", **under_test, "commit": "c"}) == under_test


@pytest.mark.parametrize(("command", "name"), COMMANDS.items())
def test_another_program_is_named_after_itself_with_its_version(command: str, name: str) -> None:
    scheduler = {"kind": "command", "command": shlex.split(command), "scheduler_name": "x"}
    settings = {"subject": {"schedulers": [scheduler]}}
    usual = {"subject": "command", "defects": [], "remedies": [], "cluster_profile": {}}
    for version in ("", "v1.2.3"):
        versions = {"scheduler": version} if version else {}
        plan = SimpleNamespace(**usual | {"versions": versions, "settings": settings})
        assert subject_names.of_plan(plan) == f"{name} {version}".strip()


@pytest.mark.parametrize(
    "settings",
    [{}, {"subject": 1}, {"subject": {"schedulers": 1}}, {"subject": {"schedulers": [1]}}],
)
def test_settings_that_name_no_scheduler(settings: dict[str, object]) -> None:
    assert subject_names.labels(settings) == []
