"""The stale read of a program without steps, by what our API server says to have sent it."""

import pathlib
from typing import Any

import pytest

from harness.checks import judging, verdicts
from harness.history import directories
from harness.report import cards, evidence
from harness.report.causes import explaining
from tests.histories import audit_logs, building, language
from tests.unit.report import races

TEXT = f".3 {races.TEXT}"
A, B = 4, 7
"""The versions in which the claims get the device."""
LATE_NS = 300_000
"""The recorder sees a commit that late."""
WRITING_NS = 40_000
"""The time between a write and its answer."""
URI = "/apis/resource.k8s.io/v1/resourceclaims"
MOMENTS, RESTORED = "flake-hunt/monotonic-ns", "flake-hunt/restored-to"


def _moments(ts_ns: int) -> dict[str, str]:
    return {MOMENTS: f"{ts_ns} {ts_ns}"}


def _sent(verb: str, version: int, ms: float, uri: str = URI, **changes: Any) -> dict[str, Any]:
    """A read, some ms before the second allocation."""
    notes = _moments(language.at(B) - LATE_NS - round(ms * 1e6)) | {"flake-hunt/sent": str(version)}
    reference = {"resource": language.CLAIMS, "apiGroup": "resource.k8s.io"}
    return audit_logs.event(
        language.CLAIMS,
        verb,
        None,
        stage="ResponseStarted",
        requestURI=uri,
        objectRef=reference,
        annotations=notes,
        **changes,
    )


OTHERS = {"userAgent": "other", "annotations": _moments(1)}
LOST = [
    audit_logs.events(f".{B - 1} x+D1")[0] | OTHERS,
    _sent("list", 2, 0) | {"annotations": _moments(1) | {RESTORED: str(B - 1)}},
]
"""A write of another program that was lost as the server was killed."""


def _run(path: pathlib.Path, *reads: dict[str, Any], **changes: Any) -> directories.RunDirectory:
    """The run of a program without steps, with a log of our API server."""
    directory = building.build(path / "run", TEXT, audited=True)
    writes = audit_logs.events(TEXT)
    for event in writes:
        version = int(event["responseObject"]["metadata"]["resourceVersion"])
        answered_ns = language.at(version) - LATE_NS
        moments = {MOMENTS: f"{answered_ns - WRITING_NS} {answered_ns}"}
        event |= {"annotations": moments, **changes}
    again = [
        event | OTHERS
        for event in writes
        if event["responseObject"]["metadata"]["resourceVersion"] == str(B)
    ]
    log = b"".join(map(audit_logs.line, [*LOST, *reads, *writes, *again]))
    (directory.audit / "audit.log").write_bytes(log)
    return directory


def _card(directory: directories.RunDirectory) -> cards.Card:
    [section] = cards.sections_of(evidence.Evidence(judging.examine(directory)))
    return section.cards[0]


def _why(path: pathlib.Path, *reads: dict[str, Any]) -> str:
    return _card(_run(path, *reads)).why


WATCH_LIST = f"{URI}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
"""How client-go reads everything since 1.35."""


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_what_it_had_not_read(tmp_path: pathlib.Path, verb: str) -> None:
    why = _why(
        tmp_path,
        _sent(verb, 2, 9, WATCH_LIST),
        _sent(verb, A - 1, 4.5, WATCH_LIST),
        _sent(verb, A, WRITING_NS / 2e6),
        _sent(verb, B, -1),
    )
    assert f"tests wrote version {B} without having read version {A}" in why
    assert f"by a {verb} of all claims, 4.5 ms before, was version {A - 1}." in why
    assert f"Version {A} was written by it, 3.0 ms before." in why


@pytest.mark.parametrize("query", ["", "?limit=500&resourceVersion=0"])
def test_what_it_had_been_sent(tmp_path: pathlib.Path, query: str) -> None:
    sent = _sent("watch", A, 2.5, f"{URI}{query}")
    why = _why(tmp_path, _sent("list", 2, 9), sent, _sent("watch", 5, 1))
    assert f"had sent tests version {A}" in why
    assert "by a watch of all claims, 2.5 ms before" in why
    assert "a list" not in why, "the watch goes on where the list ended"


def test_of_two_kinds_of_reads_the_stale_one_is_named(tmp_path: pathlib.Path) -> None:
    reference = {"resource": language.CLAIMS, "namespace": language.NAMESPACE}
    fresh = _sent("list", A, 1) | {"objectRef": reference}
    why = _why(tmp_path, _sent("list", 3, 6), fresh)
    assert f"had sent tests version {A}" in why
    assert "by a list of all claims, 6.0 ms before, was version 3." in why


HUGE = "9" * 5000
OTHER = {"objectRef": {"resource": language.CLAIMS, "namespace": "elsewhere"}}
KILLED = {"stage": "ResponseComplete", "annotations": _moments(0) | {RESTORED: str(A)}}
UNKNOWN: dict[str, list[dict[str, Any]]] = {
    "nothing": [],
    "another program": [_sent("list", 2, 9, userAgent="other")],
    "another user": [_sent("list", 2, 9, user={"username": "other"})],
    "another client of the same name": [
        _sent("list", 2, 9, impersonatedUser={"username": "flake-hunt:scheduler-2"})
    ],
    "another namespace": [_sent("list", A, 1) | OTHER],
    "a selector may have hidden it": [_sent("list", 2, 9), _sent("list", A, 1, f"{URI}?limit=5")],
    "a part only": [_sent("watch", A, 1, f"{URI}?watch=1&labelSelector=a%3Db")],
    "the fields of some": [_sent("list", A, 1, f"{URI}?fieldSelector=metadata.namespace%3Dx")],
    "the end of a list": [_sent("list", 2, 9), _sent("list", A, 1, f"{URI}?continue=x")],
    "one claim": [_sent("list", A, 1) | {"objectRef": {"resource": language.CLAIMS, "name": "x"}}],
    "a kill": [
        _sent("list", 2, 9),
        _sent("list", 1, 5, userAgent="other"),
        _sent("list", 2, 0) | KILLED,
    ],
    "numbers beyond reason": [
        _sent("list", 2, 9) | {"annotations": {MOMENTS: f"1 {HUGE}", "flake-hunt/sent": HUGE}}
    ],
    "a version beyond reason": [
        _sent("list", 2, 9) | OTHER | {"annotations": _moments(1) | {"flake-hunt/sent": HUGE}}
    ],
    "no numbers": [_sent("list", 2, 9) | {"annotations": {MOMENTS: "1 x", "flake-hunt/sent": "²"}}],
}


@pytest.mark.parametrize("reads", UNKNOWN.values(), ids=UNKNOWN)
def test_what_the_log_does_not_tell_is_not_told(
    tmp_path: pathlib.Path, reads: list[dict[str, Any]]
) -> None:
    assert _why(tmp_path, *reads) == explaining.NO_STEPS


def test_a_commit_has_one_time_in_picture_table_and_replay(tmp_path: pathlib.Path) -> None:
    card = _card(_run(tmp_path, _sent("list", A, 1)))
    assert isinstance(card.violation, verdicts.DoubleAllocation)
    assert card.strip is not None
    assert card.replay is not None
    zero_ns = card.strip.zero_ns
    of_writes = {item.resource_version: item.ts_ns for item in card.writes}
    for holder in card.violation.holders:
        version, at_ns = holder.held_from_rv, holder.allocated_ts_ns
        assert at_ns == of_writes[version] == language.at(version) - LATE_NS
        [told] = [item for item in card.replay.moments if f"stores version {version}:" in item.text]
        assert told.ms == f"{(at_ns - zero_ns) / 1e6:+,.3f}"


def test_the_replay_knows_how_far_the_reads_were(tmp_path: pathlib.Path) -> None:
    replay = _card(_run(tmp_path, _sent("list", A - 1, 5))).replay
    assert replay is not None
    parts = {(part.title, part.kind) for moment in replay.moments for part in moment.parts}
    assert ("claims, as sent to it", "no") in parts
    assert "how far" not in replay.unknown
