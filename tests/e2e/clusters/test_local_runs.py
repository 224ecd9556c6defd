"""Scenarios on etcd and kube-apiserver, with garbage collection by kube-controller-manager: what is
correct is VALID there too, and what real schedulers do wrong is found. `make e2e-local` runs it.
"""

import json
import os
import pathlib

import pytest

from tests.e2e import running
from tests.support import real_programs

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        os.environ.get("E2E") != "local",
        reason="end to end on local binaries is run by: make e2e-local",
    ),
    real_programs.needs(*PROGRAMS),
    pytest.mark.timeout(400),
]
CORRECT = {
    "watch-lag": (),
    "leader-changes": (),
    "two-templates": (),
    "throttled": (),
    "controller-down": (),
    "api-server-restart": (
        *("--remedy", "keep-in-flight-until-known"),
        *("--remedy", "bind-again-until-known"),
    ),
    "kubelet-lost": ("--set", "traffic.wait_s=5"),  # pods may take longer than a second to run
    "failover": ("--remedy", "fence-predecessor"),
}
"""Scenario -> options. Without its remedy, our scheduler, as kube-scheduler, is not correct."""
SCHEDULERS = [
    pytest.param(name, id=f"kube-scheduler-{name}")
    for name in real_programs.versions("kube-scheduler")
] or [pytest.param("", marks=real_programs.needs("kube-scheduler"))]


def verdict(
    folder: pathlib.Path, scenario: str, *options: str, cluster: str = "local"
) -> tuple[str, str]:
    """The verdict of a run, and what to show if it is not the expected one."""
    _, output = running.run(folder, "run", scenario, "--cluster", cluster, *options, timeout_s=360)
    (file,) = folder.glob("reports/*/*/verdict.json")
    return json.loads(file.read_text())["verdict"], output


@pytest.mark.parametrize("scenario", CORRECT)
def test_a_correct_scheduler_is_valid(tmp_path: pathlib.Path, scenario: str) -> None:
    found, output = verdict(tmp_path, scenario, *CORRECT[scenario])
    assert found == "VALID", output


@pytest.mark.parametrize("version", SCHEDULERS)
def test_a_lost_answer_shows_double_allocations_of_kube_scheduler(
    tmp_path: pathlib.Path, version: str
) -> None:
    subject = f"kube-scheduler={version}" if version else "kube-scheduler"
    found, output = verdict(tmp_path, "answer-lost", "--subject", subject)
    assert found == "INVALID", output


@real_programs.needs("kube-scheduler")
@pytest.mark.parametrize(
    ("scenario", "cluster"),
    [
        ("failover", "local"),
        ("unreserve-gap", "local"),
        ("stale-list", "embedded"),
        ("reallocated-unseen", "embedded"),
    ],
)
def test_a_hazard_is_found_in_kube_scheduler(
    tmp_path: pathlib.Path, scenario: str, cluster: str
) -> None:
    """A run is made up to three times, as a control is: it takes a race."""
    options = ("--subject", "kube-scheduler")
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        found, output = verdict(folder, scenario, *options, cluster=cluster)
        if found == "INVALID":
            return
    raise AssertionError(output)


@real_programs.needs("kube-scheduler")
def test_kube_scheduler_is_valid_without_faults(tmp_path: pathlib.Path) -> None:
    options = ("--subject", "kube-scheduler", "--set", "traffic.duration_s=20")
    found, output = verdict(tmp_path, "pod-churn", *options)
    assert found == "VALID", output


def test_the_claim_controller_makes_claims_for_finished_pods(tmp_path: pathlib.Path) -> None:
    found, output = verdict(tmp_path, "finished-pods", "--cluster", "controller_manager=true")
    assert found == "INVALID", output


@pytest.mark.parametrize("scenario", ["controller-down", "controller-paused"])
def test_faults_reach_the_clusters_own_claim_controller(
    tmp_path: pathlib.Path, scenario: str
) -> None:
    found, output = verdict(tmp_path, scenario, "--cluster", "controller_manager=true")
    assert found == "VALID", output


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [("controller-down", "VALID"), ("controller-paused", "VALID"), ("two-templates", "INVALID")],
)
@pytest.mark.parametrize("is_whole", [False, True])
@real_programs.needs("kube-scheduler")
def test_the_programs_of_a_release_together(
    tmp_path: pathlib.Path, scenario: str, expected: str, *, is_whole: bool
) -> None:
    """The statuses of a pod with two templates alternate (kubernetes#138407)."""
    whole = ("--cluster", "controller_manager=true") if is_whole else ()
    subject = ("--subject", "kube-scheduler", "--claim-controller", "kube-controller-manager")
    found, output = verdict(tmp_path, scenario, *subject, *whole)
    assert found == expected, output
