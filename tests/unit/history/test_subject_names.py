"""A foreign scheduler is named with its version, and never called correct."""

import shlex
from types import SimpleNamespace

import pytest

from harness.history import subject_names

KUBE = "kube-scheduler v1.36.2"
MANAGER = "kube-controller-manager v1.36.2"
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
    f"python as 1.34.2 + {KUBE}": {
        "subject": "python + kube-scheduler as 1.34.2",
        "versions": {"scheduler-2": KUBE},
    },
    "python + kube-scheduler with gather-not-atomic": {
        "subject": "python + kube-scheduler",
        "defects": ["gather-not-atomic"],
    },
    "correct (2 schedulers)": {"subject": "python + python"},
    "gather-not-atomic (2 schedulers)": {
        "subject": "python + python",
        "defects": ["gather-not-atomic"],
    },
    "correct (explored)": {"subject": subject_names.EXPLORED},
    "gather-not-atomic (explored)": {
        "subject": subject_names.EXPLORED,
        "defects": ["gather-not-atomic"],
    },
    "kube-scheduler": {"subject": "kube-scheduler"},
    "kube-scheduler of kind-1.36": {"subject": "cluster", "cluster_profile": {"name": "kind-1.36"}},
    "external": {"subject": "external"},
    f"python + {MANAGER}": {"versions": {"claim-controller": MANAGER}},
    f"gather-not-atomic + {MANAGER}": {
        "defects": ["gather-not-atomic"],
        "versions": {"claim-controller": MANAGER},
    },
    f"{KUBE} + {MANAGER}": {
        "subject": "kube-scheduler",
        "versions": {"scheduler": KUBE, "claim-controller": MANAGER},
    },
}


@pytest.mark.parametrize(("name", "plan"), CASES.items())
def test_the_name_of_a_subject(name: str, plan: dict[str, object]) -> None:
    usual = {"subject": "python", "defects": [], "remedies": [], "versions": {}}
    whole = SimpleNamespace(**usual | {"cluster_profile": {}} | plan)
    assert subject_names.of_run(whole) == name
    assert subject_names.is_correct(name) is (name.startswith("correct"))


def test_the_versions_of_the_programs_under_test() -> None:
    under_test = {"scheduler": KUBE, "scheduler-2": KUBE, "claim-controller": MANAGER}
    assert subject_names.versions({"python": "3.11", **under_test, "commit": "c"}) == under_test


COMMANDS = {
    "./bin/own-scheduler --kubeconfig {kubeconfig}": "own-scheduler",
    "own-scheduler": "own-scheduler",
    "python3.12 -P -m own.scheduler {kubeconfig}": "own.scheduler",
    "/usr/bin/python3 tools/own.py {kubeconfig}": "own.py",
    "sh -c 'exec own {kubeconfig}'": "sh",
    "java -Xmx1g -jar own.jar": "own.jar",
    "python3 {kubeconfig}": "python3",
    "shiny-scheduler x": "shiny-scheduler",
}


@pytest.mark.parametrize(("command", "name"), COMMANDS.items())
def test_another_program_is_named_after_itself_with_its_version(command: str, name: str) -> None:
    scheduler = {"kind": "command", "command": shlex.split(command), "scheduler_name": "x"}
    labels = subject_names.labels({"subject": {"schedulers": [scheduler]}})
    usual = {"subject": "command", "defects": [], "remedies": [], "cluster_profile": {}}
    assert labels == [name]
    for version in ("", "v1.2.3"):
        versions = {"scheduler": version} if version else {}
        plan = SimpleNamespace(**usual | {"versions": versions})
        assert subject_names.of_run(plan, labels) == f"{name} {version}".strip()


@pytest.mark.parametrize(
    "settings",
    [{}, {"subject": 1}, {"subject": {"schedulers": 1}}, {"subject": {"schedulers": [1]}}],
)
def test_settings_that_name_no_scheduler(settings: dict[str, object]) -> None:
    assert subject_names.labels(settings) == []
