"""Judge the recorded runs with real Kubernetes programs."""

import functools
import pathlib
from collections.abc import Callable

import pytest

from harness.checks import judging, verdict_files, verdicts
from tests.support import real_runs

EXPECTED = {
    "embedded-answer-lost-1.36.3": "INVALID",
    "embedded-stale-list-1.36.2": "UNKNOWN",
    "embedded-partitions-1.34.9": "UNKNOWN",
    "embedded-taints-panic-1.36.2": "UNKNOWN",
    "embedded-uses-all-1.33.13-v1beta1": "VALID",
    "embedded-137897-in-flight-overwritten": "VALID",
    "local-answer-lost-1.36.2": "INVALID",
    "local-api-server-restart-kcm": "VALID",
    "local-failover-remedy-kcm": "VALID",
    "local-finished-pods-kcm": "INVALID",
    "local-kubelet-lost-kcm": "VALID",
    "local-lost-claims-deletion-race": "INVALID",
    "local-throttled-no-collector": "VALID",
    "local-two-templates-kcm": "INVALID",
    "local-watch-lag-no-collector": "VALID",
}
"""Run -> its verdict."""
SCRIPTS = {
    "local-h08-creation-without-answer": "generated_claims",
    "local-h09-unknown-pod": "resource_leaks",
    "local-h10-reservation-taken-back": "bound_pods",
    "local-h12-left-over-claim": "claim_progress",
    "local-h16-late-name": "extended_claims",
    "local-h19-late-binding-extended": "claims_in_use",
    "local-141274-claims-for-finished-pods": "claim_controller",
}
"""Run of a script -> the only check that is violated."""


JudgedRun = Callable[[str], verdict_files.Judgement]


@pytest.fixture(scope="module")
def judged_run(tmp_path_factory: pytest.TempPathFactory) -> JudgedRun:
    """The judgement of a run; each is judged once."""
    return functools.cache(
        lambda name: judging.judge(real_runs.unpack(name, tmp_path_factory.mktemp("run")))
    )


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_verdict_of_a_real_run(name: str, judged_run: JudgedRun) -> None:
    judged = judged_run(name)
    assert judged.verdict is verdicts.Verdict[EXPECTED[name]]


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_the_effect_of_a_script_that_real_programs_have_followed(
    name: str, judged_run: JudgedRun
) -> None:
    judged = judged_run(name)
    broken = [item.check for item in judged.checks if item.verdict is verdicts.Verdict.INVALID]
    assert (judged.verdict, broken) == (verdicts.Verdict.INVALID, [SCRIPTS[name]])
    assert [item.name for item in judged.certificate if not item.ok] == []


def test_every_run_is_judged() -> None:
    assert real_runs.names() == sorted([*EXPECTED, *SCRIPTS])


def test_the_panic_that_ended_a_real_scheduler_is_quoted(judged_run: JudgedRun) -> None:
    judged = judged_run("embedded-taints-panic-1.36.2")
    assert judged.reason.startswith("processes: scheduler ended unexpectedly")
    assert (
        "scheduler ended unexpectedly or with an error (exit code 2): panic: interface conversion: "
        "interface {} is *v1beta2.DeviceTaintRule, not *v1alpha3.DeviceTaintRule"
    ) in judged.reason


def test_a_release_that_cannot_read_the_counters_is_not_blamed(judged_run: JudgedRun) -> None:
    judged = judged_run("embedded-partitions-1.34.9")
    [found] = [item for item in judged.checks if item.check == "device_consumption"]
    assert found.verdict is verdicts.Verdict.UNKNOWN
    assert "kube-scheduler v1.34.9 cannot read counters in slices of their own" in found.reason
    assert found.reason in judged.reason


def _without(*texts: bytes) -> Callable[[bytes], bytes]:
    """Leave out the lines of the audit log that have all of these texts."""
    return lambda line: b"" if all(text in line for text in texts) else line


def _replaced(where: bytes, old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda line: line.replace(old, new) if where in line else line


DOCTORED = {
    "a write long before the kill is missing": (
        "local-api-server-restart-kcm",
        _without(b'"resourceVersion":"503"'),
    ),
    "a write long after the kill is missing": (
        "local-api-server-restart-kcm",
        _without(b'"resourceVersion":"1202"'),
    ),
    "the log ends with the kill": (
        "local-api-server-restart-kcm",
        lambda line: b"" if b"T07:08:3" not in line or b"07:08:38" in line else line,
    ),
    "a request without an answer asked for another device": (
        "local-failover-remedy-kcm",
        _replaced(b'"code":504', b"worker-0-device-006", b"worker-0-device-007"),
    ),
    "a binding without an answer went to another node": (
        "local-failover-remedy-kcm",
        _replaced(b'"code":504', b'"name":"worker-0"', b'"name":"worker-1"'),
    ),
}
"""A difference -> the run, and how each line of its audit log is changed."""


@pytest.mark.parametrize(("name", "doctor"), DOCTORED.values(), ids=DOCTORED)
def test_a_doctored_audit_log_differs(
    name: str, doctor: Callable[[bytes], bytes], tmp_path: pathlib.Path
) -> None:
    directory = real_runs.unpack(name, tmp_path)
    (log,) = directory.audit_logs()
    brought = tmp_path / "audit.log"
    lines = log.read_bytes().splitlines(keepends=True)
    brought.write_bytes(b"".join(map(doctor, lines)))
    assert brought.read_bytes() != log.read_bytes()
    judgement = judging.examine(directory, witness=[brought]).judgement
    assert judgement.verdict is verdicts.Verdict.UNKNOWN
    (item,) = [item for item in judgement.certificate if item.name == "witness"]
    assert "difference" in item.reason


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("local-finished-pods-kcm", "got a claim after its end by kube-controller-manager"),
        ("local-two-templates-kcm", "lost the record of device by ResourceClaimController"),
    ],
)
def test_the_controller_is_blamed_by_name(name: str, told: str, judged_run: JudgedRun) -> None:
    """Claims for ended pods (kubernetes#141274), alternating statuses (kubernetes#138407)."""
    judged = judged_run(name)
    [broken] = [item for item in judged.checks if item.check == "claim_controller"]
    assert broken.verdict is verdicts.Verdict.INVALID
    assert told in broken.reason


def test_the_api_server_is_named_that_removes_claims_in_spite_of_their_finalizers(
    judged_run: JudgedRun,
) -> None:
    judged = judged_run("local-lost-claims-deletion-race")
    found = {item.check: item for item in judged.checks}
    named = found["allocation_finalizers"]
    assert named.verdict is verdicts.Verdict.VALID, "it is not the subject's fault"
    assert "in spite of their finalizers, allocated: 3 (H20), the first " in named.reason
    assert "traffic-0-user-10-1-device-7l6hd" in named.reason
    assert named.reason.endswith("stored at 455, removed at 484; unallocated: 1")
    robbed = ("traffic-0-user-10-1", "traffic-0-user-9-1", "traffic-0-user-13-1")
    for check in set(found) - {"allocation_finalizers"}:
        for violation in found[check].violations:
            assert not any(f"/{pod} " in violation.text for pod in robbed), check


def test_a_claim_without_an_allocation_that_is_removed_so_is_only_counted(
    judged_run: JudgedRun,
) -> None:
    judged = judged_run("local-kubelet-lost-kcm")
    [item] = [item for item in judged.checks if item.check == "allocation_finalizers"]
    assert item.verdict is verdicts.Verdict.VALID
    assert item.reason.endswith("in spite of their finalizers, unallocated: 1")
