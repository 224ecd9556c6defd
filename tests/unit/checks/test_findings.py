"""From findings to an answer: exact counts; the first findings, the worst and the last one."""

import pytest

from harness.checks import findings, protocol, verdicts

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
            weight=2 if number == heavy else 1,
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


def test_nothing_to_examine() -> None:
    assert findings.answer(CHECK, examined=0, what="things", found=[]) == (
        verdicts.NotExamined(
            check="check",
            promise="it holds",
            reason="no things were observed, so nothing was examined",
        )
    )
