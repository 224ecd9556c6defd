"""Which faults explain a double allocation, and which do not."""

import pathlib

import msgspec
import pytest

from harness.checks import device_exclusivity, judging, verdict_files, verdicts
from harness.checks.faults import fault_attribution, fault_records
from harness.checks.holds import hold_history
from harness.history import records
from tests.histories import building, language
from tests.histories.words import fault_words


def _attributed(
    text: str, applied: list[records.FaultApplied] | None = None
) -> list[verdicts.DoubleAllocation]:
    folded = hold_history.fold(language.observe(text))
    found = fault_records.FaultRecords(
        applications=fault_words.applications(text) if applied is None else applied, exists=True
    )
    attributor = fault_attribution.Attributor(found, folded.holds)
    result = device_exclusivity.check(folded, lambda _: None)
    results = [attributor.review(device_exclusivity.CHECK, result)]
    return verdicts.double_allocations(results)


def _sentence(text: str) -> str:
    [violation] = _attributed(text)
    assert [effect.text for effect in violation.faults] or violation.attribution == NONE
    return violation.attribution


NONE = "no fault explains it"
UNSEEN = "the scheduler could not know of it"
NAMED = {
    # ------------------------------------------------------------- status write of the first claim
    "a+D1 /lose-response:a .3 b+D1": (
        "the response to the status write of a was lost (lose-response); "
        "b was allocated 4 versions after a"
    ),
    "a+D1 /truncate-response:a b+D1": (
        "the response to the status write of a broke off (truncate-response); "
        "b was allocated 1 version after a"
    ),
    "a+D1 /delay-response:a>9 b+D1": (
        "the response to the status write of a arrived 8 ms late (delay-response); "
        "b was allocated 1 version after a"
    ),
    "a= .2000 /delay-request:a<1 a+D1 /kill-process:=scheduler<600 . b+D1": (
        "the status write of a was under way for 2.0 s (delay-request), "
        "and the scheduler was killed (kill-process); b was allocated 2 versions after a"
    ),
    "a= /reject:a /reject:a a+D1 b+D1": (
        "the status write of a was rejected 2 times (reject); b was allocated 1 version after a"
    ),
    # ------------------------------------------------------------ status write of the second claim
    "b= .3000 a+D1 /delay-request:b<1 b+D1": (
        "the status write of b was under way for 3.0 s (delay-request); "
        "b was allocated 1 version after a"
    ),
    "a+D1 b= /touch-objects:b /touch-objects:b b+D1": (
        "another client changed b 2 times (touch-objects); b was allocated 2 versions after a"
    ),
    # -------------------------------------------------------------------- event of the first claim
    "a+D1 /delay-events:a>215 .29 b+D1": (
        "the event of the allocation of a reached the scheduler 214 ms late (delay-events): "
        f"when b was allocated, 30 versions after a, {UNSEEN}"
    ),
    "a+D1 /lose-response:a /delay-events:a>215 .29 b+D1": (
        "the response to the status write of a was lost (lose-response), "
        "and the event of the allocation of a reached the scheduler 214 ms late (delay-events): "
        f"when b was allocated, 30 versions after a, {UNSEEN}"
    ),
    "a+D1 /delay-events:a> .29 b+D1": (
        "the event of the allocation of a did not reach the scheduler (delay-events): "
        f"when b was allocated, 30 versions after a, {UNSEEN}"
    ),
    "a+D1 /delay-events:a>101 .400 b+D1": (
        "the event of the allocation of a reached the scheduler 100 ms late (delay-events); "
        "b was allocated 401 versions after a"
    ),
    "c= /delay-events:c>101 a+D1 . b+D1": (
        "the event of the allocation of a waited behind one that reached the scheduler "
        f"100 ms late (delay-events): when b was allocated, 2 versions after a, {UNSEEN}"
    ),
    # ------------------------------------------------------------------------- watches and reads
    "a+D1 /drop-watch:a b+D1": (
        "the claim watch of the scheduler was closed before the allocation of a (drop-watch); "
        "b was allocated 1 version after a"
    ),
    "a+D2 /expire-watch:a a-D2 a+D1 .900 b+D1": (
        "the claim watch of the scheduler ended with 410 before the allocation of a "
        "(expire-watch); b was allocated 901 versions after a"
    ),
    ". a+D1 /stale-list:@1 b+D1": (
        "the scheduler read a state (resourceVersion 1) from before the allocation of a "
        "(stale-list); b was allocated 1 version after a"
    ),
    # -------------------------------------------------------------------------------- processes
    "a+D1 /kill-process:=scheduler b+D1": (
        "the scheduler was killed (kill-process); b was allocated 1 version after a"
    ),
    "/restart-process:=scheduler-2>3 a+D1 . . b+D1": (
        "scheduler-2 was restarted (restart-process); b was allocated 3 versions after a"
    ),
    ". /pause-process:=scheduler> .5000 a+D1 b+D1": (
        "the scheduler was paused for the rest of the run (pause-process); "
        "b was allocated 1 version after a"
    ),
    "a+D1 /take-over:=scheduler>2 b+D1": (
        "another scheduler took over from the scheduler (take-over); "
        "b was allocated 1 version after a"
    ),
    "a+D1 /restart-api-server:=api-server>2 b+D1": (
        "the API server was restarted (restart-api-server); b was allocated 1 version after a"
    ),
}


@pytest.mark.parametrize(("text", "expected"), NAMED.items())
def test_the_fault_behind_it_is_named(text: str, expected: str) -> None:
    assert _sentence(text) == expected


NOT_NAMED = {
    "another claim": "a+D1 c+D2 /lose-response:c b+D1",
    "after the second allocation": "a+D1 b+D1 /lose-response:a",
    "the second allocation's own response": "a+D1 b+D1 /lose-response:b",
    "an earlier allocation of the claim": "a+D1 /lose-response:a a-D1 a+D1 b+D1",
    "a later write of the claim": "a+D1 a^p /lose-response:a b+D1",
    "an earlier claim of that name": "a+D1 /reject:a a~ a+D1 b+D1",
    "a rejection long before": "a= /reject:a .2000 a+D1 b+D1",
    "a request that was never carried out": "a= /delay-request:a> a+D1 b+D1",
    "a second write that was sent after the first allocation": "a+D1 b= . /delay-request:b<2 b+D1",
    "a late event that arrived long before": "a+D1 /delay-events:a>20 .2000 b+D1",
    "the late event of another claim": "a+D1 c+D2 /delay-events:c>900 b+D1",
    "an earlier event that was delivered before": "c= /delay-events:c>2 .3 a+D1 b+D1",
    "a watch that ended long before": "c= /drop-watch:c .2100 a+D1 b+D1",
    "a watch that ended after it showed the claim": "a+D1 c= /drop-watch:c b+D1",
    "a stale read before the first allocation": ". /stale-list:@1 a+D1 b+D1",
    "a read that showed the first allocation": "a+D1 . /stale-list:@2 b+D1",
    "a process that is no scheduler": "a+D1 /kill-process:=kubelet b+D1",
    "a kill long before": "/kill-process:=scheduler>1 .2000 a+D1 b+D1",
    "a kill afterwards": "a+D1 b+D1 /kill-process:=scheduler",
    "bookmarks": "a+D1 /starve-bookmarks:a b+D1",
}


@pytest.mark.parametrize("text", NOT_NAMED.values(), ids=NOT_NAMED)
def test_what_explains_nothing_is_not_named(text: str) -> None:
    assert _sentence(text) == NONE


@pytest.mark.parametrize(
    "change",
    [
        {"client": "kubelet"},
        {"uid": "uid-another"},
        {"namespace": "elsewhere"},
        {"resource": "pods"},
        {"subresource": ""},
    ],
    ids=str,
)
def test_a_rejection_of_another_call_is_not_named(change: dict[str, str]) -> None:
    text = "a= /reject:a a+D1 b+D1"
    [applied] = fault_words.applications(text)
    [violation] = _attributed(text, [msgspec.structs.replace(applied, **change)])
    assert violation.attribution == NONE


@pytest.mark.parametrize("kind", ["delay-events", "drop-watch", "stale-list"])
def test_events_and_reads_of_other_clients_are_not_named(kind: str) -> None:
    text = f"a+D1 /{kind}:a b+D1"
    [applied] = fault_words.applications(text)
    changed = msgspec.structs.replace(applied, client="claim-controller", resource_version=0)
    [violation] = _attributed(text, [changed])
    assert violation.attribution == NONE


def test_each_violation_has_its_own_faults() -> None:
    text = "a+D1 /lose-response:a b+D1 a~ b~ c+D1 /delay-events:c>90 d+D1"
    first, second = _attributed(text)
    assert "write of a was lost" in first.attribution
    assert "the allocation of c reached" in second.attribution
    assert [[effect.fault for effect in item.faults] for item in (first, second)] == [
        ["lose-response"],
        ["delay-events"],
    ]


FOLLOWS = (
    "it follows from an earlier one: a had the device too, and its release at resourceVersion 3 "
    "made it look free while b still held it"
)


def test_the_release_of_an_earlier_double_explains_the_next_one() -> None:
    first, second = _attributed("a+D1 /lose-response:a b+D1 a-D1 /reject:b c+D1")
    assert first.attribution.startswith("the response to the status write of a was lost")
    assert (second.attribution, second.faults) == (FOLLOWS, [])


def test_unless_the_event_of_the_first_claim_had_not_arrived() -> None:
    _, second = _attributed("a+D1 b+D1 /delay-events:b>50 a-D1 c+D1")
    assert second.attribution.endswith(UNSEEN)


@pytest.mark.parametrize(
    "text", ["a+D1 a-D1 b+D1 c+D1", "d+D2 a+D1 d-D2 b+D1 a-D1", "a+D1 b= b+D1 a-D1"]
)
def test_other_releases_explain_nothing(text: str) -> None:
    assert _attributed(text)[0].attribution == NONE


def test_an_effect_has_its_object_version_and_time() -> None:
    [violation] = _attributed(". a+D1 /delay-events:a>40 b+D1")
    assert violation.faults == [
        verdicts.FaultEffect(
            fault="delay-events",
            kind="delay-events",
            object="ResourceClaim tests/a",
            resource_version=2,
            begun_ns=language.after(2),
            ended_ns=language.after(40),
            text="the event of the allocation of a reached the scheduler 38 ms late (delay-events)",
        )
    ]


def test_both_schedulers_are_named() -> None:
    text = "a+D1 /delay-events:a>90 b+D1"
    [applied] = fault_words.applications(text)
    other = msgspec.structs.replace(applied, client="scheduler-2")
    [violation] = _attributed(text, [applied, other])
    assert "reached scheduler-2 89 ms late" in violation.attribution
    assert "reached the scheduler 89 ms late" in violation.attribution


def test_a_run_without_faults_says_nothing_of_them(tmp_path: pathlib.Path) -> None:
    judgement = judging.judge(building.build(tmp_path / "run", "a+D1 b+D1"))
    [violation] = verdicts.double_allocations(judgement.checks)
    assert (violation.faults, violation.attribution) == ([], "")


def test_verdict_json_names_them(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "a+D1 /lose-response:a b+D1")
    verdict_files.write(directory, judging.judge(directory))
    [violation] = verdict_files.read(directory)["checks"][0]["violations"]
    assert [effect["fault"] for effect in violation["faults"]] == ["lose-response"]
    assert violation["attribution"].startswith("the response to the status write of a was lost")
    verdict_files.require_own(directory, judging.judge(directory))
