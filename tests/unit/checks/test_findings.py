"""From findings to an answer: exact counts; the first findings, the worst and the last one."""

from typing import Any

import msgspec
import pytest

from harness import errors
from harness.checks import findings, protocol, verdicts
from harness.extensions import contracts
from tests.histories import building
from tests.support import cases

CHECK = protocol.Check(
    name="check",
    guarantee="R",
    promise="it holds",
    judge=lambda evidence: CHECK.not_examined("it only looks"),
)


def _found(count: int, *, heavy: int = -1) -> list[findings.Finding]:
    return [
        findings.Finding(
            summary=f"finding {number}",
            text=f"This is finding {number}",
            versions=(number, number + 1),
            objects=(),
            **({"weight": 2} if number == heavy else {}),
        )
        for number in range(count)
    ]


def _result(found: list[findings.Finding], examined: int = 7) -> verdicts.CheckResult:
    answer = findings.answer(CHECK, examined=examined, what="things", found=found)
    assert isinstance(answer, verdicts.CheckResult)
    return answer


def test_one_finding() -> None:
    result = _result(_found(1))
    assert (result.verdict, result.examined_count, result.violation_count) == (
        verdicts.Verdict.INVALID,
        7,
        1,
    )
    assert result.reason == "finding 0; things: 7"
    [violation] = result.violations
    assert (violation.guarantee, violation.text) == ("check", "This is finding 0.")
    assert violation.resource_versions == [0, 1]


def test_none() -> None:
    result = _result([])
    assert (result.verdict, result.reason) == (verdicts.Verdict.VALID, "things: 7, none against it")


def test_findings_are_told_in_the_order_of_their_versions() -> None:
    result = _result(list(reversed(_found(5))))
    assert [item.summary for item in result.violations] == [f"finding {n}" for n in range(5)]
    assert result.reason == "finding 0, and 4 more; things: 7"


@pytest.mark.parametrize("heavy", [3, 20, 100, 299])
def test_the_first_the_worst_and_the_last_are_in_full(heavy: int) -> None:
    result = _result(_found(300, heavy=heavy))
    numbers = [int(item.summary.split()[1]) for item in result.violations]
    expected = {*range(findings.IN_FULL_MAX), heavy, 299}
    assert numbers == sorted(expected)
    assert (result.violation_count, len(result.others)) == (300, findings.OTHERS_MAX)
    assert not set(result.others) & {item.summary for item in result.violations}


@pytest.mark.parametrize("count", [0, 1, 20, 21, 300])
def test_without_a_worst_one_only_the_first_are_in_full(count: int) -> None:
    result = findings.result(CHECK, _found(count), examined=1, reason="why", is_kept=False)
    summaries = [f"finding {number}" for number in range(count)]
    assert [item.summary for item in result.violations] == summaries[:20]
    assert list(result.others) == summaries[20:220]
    assert result.verdict is (verdicts.Verdict.INVALID if count else verdicts.Verdict.UNKNOWN)


def test_a_violation_counts_even_if_nothing_was_counted() -> None:
    assert _result(_found(1), examined=0).verdict is verdicts.Verdict.INVALID


def test_a_finding_that_began_first_is_told_first_with_its_versions_in_order() -> None:
    [last] = _found(1)
    first = msgspec.structs.replace(last, versions=(900, 3, 70, 3), summary="first")
    last = msgspec.structs.replace(last, versions=(9, 10), weight=1)
    result = _result([last, first])
    assert result.reason == "first, and 1 more; things: 7"
    assert result.violations[0].resource_versions == [3, 70, 900]
    assert findings.worst([]) == 0


class _Named(verdicts.Named):
    namespace, name, uid = "tests", "a", "u"


@pytest.mark.parametrize("told", ["", "is much too old"])
def test_a_finding_about_a_claim(told: str) -> None:
    found = findings.about(_Named(), "is old", told, versions=(3,))
    assert (found.summary, found.weight) == ("claim a is old", 1)
    assert found.text == f"Claim tests/a (uid u) {told or 'is old'}"
    assert [item.uid for item in found.objects] == ["u"]


@pytest.mark.parametrize(
    ("count", "unless", "verdict", "reason"),
    [
        (0, "", verdicts.Verdict.VALID, "good"),
        (0, "in doubt", verdicts.Verdict.UNKNOWN, "in doubt"),
        (1, "in doubt", verdicts.Verdict.INVALID, "finding 0"),
        (2, "", verdicts.Verdict.INVALID, "finding 0, and 1 more"),
    ],
)
def test_what_was_judged(count: int, unless: str, verdict: verdicts.Verdict, reason: str) -> None:
    result = findings.judged(CHECK, _found(count), examined=3, good="good", unless=unless)
    assert (result.verdict, result.reason) == (verdict, reason)


@pytest.mark.parametrize(("count", "worst", "told"), cases.read(__file__, "wrong"))
def test_the_first_the_worst_and_the_last_are_told(count: int, worst: int, told: str) -> None:
    assert findings.wrong_of(count, "9", worst, str) == told


# ----------------------------------------------------------------------------- plain answers

MOST = {
    "summary": "s" * 400,
    "text": "t" * 20_000,
    "resource_versions": [2**63 - 1, 0, 9, 300, 9],
    "objects": [{"kind": "Pod", "name": "p", "namespace": "n" * 400, "uid": ""}],
}
LARGEST = {"promise": "p", "examined": 2**63 - 1, "reason": "r" * 2000, "violations": [MOST]}


def _plain(answer: dict[str, Any]) -> findings.PlainAnswer:
    return findings.decode_plain(msgspec.json.encode(answer), "it")


@pytest.mark.parametrize(
    "change",
    [
        {"examined": 2**63},
        {"reason": "r" * 2001},
        {"promise": "p" * 401},
        {"violations": [MOST | {"summary": "s" * 401}]},
        {"violations": [MOST | {"text": "t" * 20_001}]},
        {"violations": [MOST | {"resource_versions": [2**63]}]},
        {"violations": [MOST | {"objects": [MOST["objects"][0] | {"uid": "u" * 401}]}]},  # type: ignore[index,operator]
    ],
    ids=str,
)
def test_an_answer_has_limits(change: dict[str, Any]) -> None:
    _plain(LARGEST)
    _plain({**LARGEST, "violations": [MOST] * findings.VIOLATIONS_MAX})
    with pytest.raises(errors.PluginError, match="with proper fields"):
        _plain(LARGEST | change)


@pytest.mark.parametrize("origin", ["", "plug-in of acme"])
def test_the_result_of_a_plain_answer(origin: str) -> None:
    whose = f" ({origin})" if origin else ""
    result = findings.of_plain(CHECK, _plain(LARGEST), origin)
    assert isinstance(result, verdicts.CheckResult)
    assert (result.verdict, result.reason) == (verdicts.Verdict.INVALID, "r" * 2000 + whose)
    [violation] = result.violations
    assert (violation.text, violation.resource_versions) == ("t" * 20_000, [0, 9, 300, 2**63 - 1])
    short = LARGEST | {"examined": 3, "reason": "", "violations": [MOST | {"text": ""}] * 2}
    result = findings.of_plain(CHECK, _plain(short), origin)
    assert result.reason == f"2 violations in 3 examined{whose}"
    assert isinstance(result, verdicts.CheckResult)
    assert result.violations[0].text == "s" * 400
    kept = findings.of_plain(CHECK, _plain(short | {"violations": []}), origin)
    assert isinstance(kept, verdicts.CheckResult)
    assert (kept.verdict, kept.unexamined_count) == (verdicts.Verdict.VALID, 0)
    for reason, told in (("none", "none"), ("", "it examined nothing")):
        idle = _plain(short | {"examined": 0, "reason": reason, "violations": []})
        assert findings.of_plain(CHECK, idle, origin) == CHECK.not_examined(told + whose)
    with pytest.raises(errors.PluginError, match="2 violations in nothing examined"):
        _plain(short | {"examined": 0})


@pytest.mark.parametrize(
    ("applies", "reason"), [(True, "it only looks"), (False, findings.NOT_ASKED)]
)
def test_a_check_is_asked_if_it_applies(applies: bool, reason: str) -> None:
    evidence = protocol.Evidence(building.plan())
    asked = msgspec.structs.replace(CHECK, applies=lambda _: applies)
    answer = findings.asked(asked, evidence)
    assert answer.reason == reason
    plain = contracts.CheckAnswer(examined=4)
    answer = findings.asked(msgspec.structs.replace(CHECK, judge=lambda _: plain), evidence)
    assert (answer.reason, answer.promise) == ("0 violations in 4 examined", "it holds")


def test_nothing_to_examine() -> None:
    assert findings.answer(CHECK, examined=0, what="things", found=[]) == (
        verdicts.NotExamined(
            check="check",
            promise="it holds",
            reason="no things were observed, so nothing was examined",
        )
    )


@pytest.mark.parametrize(
    ("changes", "is_vacuous"),
    [
        ({}, True),
        ({"verdict": verdicts.Verdict.VALID}, False),
        ({"examined_count": 1}, False),
        ({"violation_count": 1}, False),
        ({"reason": "it failed"}, False),
    ],
)
def test_an_unknown_about_nothing_is_vacuous(changes: dict[str, Any], is_vacuous: bool) -> None:
    silent = CHECK.unknown("no things were observed")
    assert msgspec.structs.replace(silent, **changes).is_vacuous is is_vacuous


@pytest.mark.parametrize(
    ("count", "told"), [(1, "1 violation would follow"), (2_000, "2,000 violations would follow")]
)
def test_violations_in_doubt_do_not_count(count: int, told: str) -> None:
    result = msgspec.structs.replace(_result(_found(3)), violation_count=count)
    doubtful = result.in_doubt("nothing is known")
    assert doubtful.reason == f"{told}, but nothing is known"
    assert doubtful.verdict is verdicts.Verdict.UNKNOWN
    assert (doubtful.violation_count, doubtful.violations, doubtful.others) == (0, [], [])


def test_pairs_are_explained_where_there_are_more_of_them_than_allocations() -> None:
    assert [bool(verdicts.meant_pairs(count, 4)) for count in (3, 4, 5)] == [False, False, True]
    assert verdicts.double_allocations([_result(_found(1))]) == []
