"""A foreign scheduler is named with its version, and never called correct."""

from types import SimpleNamespace

import pytest

from harness.archive import subject_names

KUBE = "kube-scheduler v1.36.2"
CASES = {
    "correct": {},
    "python + keep-in-flight-until-known": {"remedies": ["keep-in-flight-until-known"]},
    "gather-not-atomic, assume-cache-early-return": {
        "defects": ["gather-not-atomic", "assume-cache-early-return"]
    },
    "python as 1.34.2": {"subject": "python as 1.34.2"},
    KUBE: {"subject": "kube-scheduler", "versions": {"scheduler": KUBE}},
    f"{KUBE} + python": {"subject": "kube-scheduler + python", "versions": {"scheduler": KUBE}},
    "python + command kueue 0.9": {
        "subject": "python + command",
        "versions": {"scheduler-2": "kueue 0.9"},
    },
    "kube-scheduler": {"subject": "kube-scheduler"},
    "kube-scheduler of kind-1.36": {"subject": "cluster", "cluster_profile": {"name": "kind-1.36"}},
    "external": {"subject": "external"},
}


@pytest.mark.parametrize(("name", "plan"), CASES.items())
def test_the_name_of_a_subject(name: str, plan: dict[str, object]) -> None:
    usual = {"subject": "python", "defects": [], "remedies": [], "versions": {}}
    whole = SimpleNamespace(**usual | {"cluster_profile": {}} | plan)
    assert subject_names.of_run(whole) == name
    assert (name == "correct") is (plan == {})


def test_two_python_schedulers_are_ours() -> None:
    plan = SimpleNamespace(
        subject="python + python", defects=[], remedies=[], versions={}, cluster_profile={}
    )
    assert subject_names.of_run(plan) == "correct"
