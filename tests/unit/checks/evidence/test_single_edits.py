"""No single edit of the observations makes a wrong verdict: random histories, doctored.

The truth is that of the text, said commit by commit. A doctored history may be VALID only if no
device was held twice, INVALID only if one was.
"""

import os
import random
import re
import types
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from harness.checks import certification, check_registry, findings, judging, protocol, verdicts
from harness.history import records
from tests.histories import dense_histories

EDITS = int(os.environ.get("FLAKE_HUNT_EDITS", "600"))
"""Number of doctored histories."""
PLAN = dense_histories.plan()
CHECK = check_registry.CHECKS[0]
ANSWERS = {
    item.name: item.answer
    for item in certification.QUESTIONS
    if item.name
    in {
        "first-lists",
        "no-gaps",
        "order",
        "final-lists",
        "records",
        "lives",
        "lists",
        "final-objects",
        "references",
        "revisions",
    }
}


def _items(given: protocol.Evidence) -> Iterator[Any]:
    for name, answer in ANSWERS.items():
        ok, reason = answer(given)
        yield verdicts.CertificateItem(name=name, question="", ok=ok, reason=reason)


def judge(body: list[records.Body]) -> tuple[verdicts.Verdict, list[str]]:
    """The verdict about exclusivity, and the items of the certificate that do not hold."""
    history: Any = types.SimpleNamespace(observations=lambda: iter(body), phases=())
    given = protocol.Evidence(PLAN, history=history)
    given.fold(body, [*certification.needs(PLAN), *protocol.needs([CHECK], PLAN)])
    items = list(_items(given))
    missing = [item.name for item in items if not item.ok]
    answer = findings.asked(CHECK, given)
    if not isinstance(answer, verdicts.CheckResult):
        return verdicts.Verdict.UNKNOWN, missing
    if answer.violations:
        certified = {certification.Certificate: certification.Certificate(items)}
        whole = {kind: given[kind] for kind in certification.needs(PLAN)}
        given = protocol.Evidence(PLAN, {**whole, **certified})
        answer = judging.review_doubts(given, CHECK, answer)
    is_open = bool(missing) and answer.verdict is verdicts.Verdict.VALID
    return (verdicts.Verdict.UNKNOWN if is_open else answer.verdict), missing


def dropped(stream: random.Random, body: list[records.Body]) -> list[records.Body]:
    at = stream.randrange(len(body))
    return [*body[:at], *body[at + 1 :]]


def duplicated(stream: random.Random, body: list[records.Body]) -> list[records.Body]:
    """One record twice, the second time anywhere after the first."""
    at = stream.randrange(len(body))
    again = stream.randrange(at + 1, len(body) + 1)
    return [*body[:again], body[at], *body[again:]]


def swapped(stream: random.Random, body: list[records.Body]) -> list[records.Body]:
    one, other = stream.randrange(len(body)), stream.randrange(len(body))
    changed = list(body)
    changed[one], changed[other] = changed[other], changed[one]
    return changed


def moved(stream: random.Random, body: list[records.Body]) -> list[records.Body]:
    at = stream.randrange(len(body) - 1)
    return [*body[:at], body[at + 1], body[at], *body[at + 2 :]]


def _changed(
    stream: random.Random, body: list[records.Body], change: Callable[[Any], Any]
) -> list[records.Body]:
    at = stream.randrange(len(body))
    is_observation = isinstance(body[at], records.Observation)
    return [*body[:at], change(body[at]), *body[at + 1 :]] if is_observation else body


def renumbered(stream: random.Random, body: list[records.Body]) -> list[records.Body]:
    rv = stream.randrange(1, 15)
    return _changed(stream, body, lambda it: msgspec.structs.replace(it, resource_version=rv))


def retyped(stream: random.Random, body: list[records.Body]) -> list[records.Body]:
    kind: Any = stream.choice(["ADDED", "MODIFIED", "DELETED", "LISTED", "FINAL"])
    return _changed(stream, body, lambda it: msgspec.structs.replace(it, type=kind))


def of_another(stream: random.Random, body: list[records.Body]) -> list[records.Body]:
    uid = f'"uid": "uid-{stream.choice("abcx")}"'

    def change(item: records.Observation) -> records.Observation:
        value = re.sub(r'"uid": "[^"]*"', uid, bytes(item.object).decode(), count=1)
        return msgspec.structs.replace(item, object=msgspec.Raw(value.encode()))

    return _changed(stream, body, change)


@pytest.mark.parametrize(
    "edit", [dropped, duplicated, swapped, moved, renumbered, retyped, of_another]
)
def test_no_edit_makes_a_wrong_verdict(edit: Any) -> None:
    found: set[verdicts.Verdict] = set()
    for seed in range(EDITS // 7):
        stream = random.Random(f"{edit.__name__}-{seed}")
        text = dense_histories.draw(stream, stream.randrange(3, 12))
        body = edit(stream, dense_histories.observe(text))
        verdict, missing = judge(body)
        found.add(verdict)
        is_doubled = bool(dense_histories.doubles(text))
        assert not (verdict is verdicts.Verdict.INVALID and not is_doubled), (seed, text, missing)
        assert not (verdict is verdicts.Verdict.VALID and is_doubled), (seed, text, missing)
        if edit in (dropped, duplicated):
            assert missing, (seed, text)
    assert verdicts.Verdict.UNKNOWN in found


def test_undoctored_histories_are_judged() -> None:
    for seed in range(EDITS // 7):
        stream = random.Random(f"sound-{seed}")
        text = dense_histories.draw(stream, stream.randrange(3, 12))
        verdict, missing = judge(dense_histories.observe(text))
        if "[" in text:
            assert "no-gaps" in missing
            continue
        assert missing == [], (text, missing)
        is_doubled = bool(dense_histories.doubles(text))
        assert (verdict is verdicts.Verdict.INVALID) is is_doubled, text
