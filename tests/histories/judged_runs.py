"""Runs of one history, damaged and judged, and what their judgements say."""

import pathlib
from typing import Any

import msgspec

from harness.checks import judging, verdict_files, verdicts
from tests.histories import building, damages


def judge(
    folder: pathlib.Path, text: str, *done: damages.Damage, **options: Any
) -> verdict_files.Judgement:
    """Judge a run with this history, to which something was done; `options`: those of `build`."""
    directory = building.build(folder / "run", text, **options)
    for damage in done:
        damage(directory)
    return judging.judge(directory)


def failed(judgement: verdict_files.Judgement) -> dict[str, str]:
    """The items of the certificate that do not hold, with their reasons."""
    return {item.name: item.reason for item in judgement.certificate if not item.ok}


def item(judgement: verdict_files.Judgement, name: str) -> tuple[bool, str]:
    """One item of the certificate: whether it holds, and why."""
    [found] = [item for item in judgement.certificate if item.name == name]
    return found.ok, found.reason


def answered(
    check: str, verdict: verdicts.Verdict, count: int = 0, **fields: Any
) -> verdicts.CheckResult:
    """The result of a check with this number of violations, made without a run."""
    found = verdicts.CheckResult(
        check=check,
        promise="it works",
        verdict=verdict,
        examined_count=1,
        violation_count=count,
        violations=[],
        others=[],
        reason=f"{check} says so",
    )
    return msgspec.structs.replace(found, **fields)


def examined(answer: verdicts.Answer) -> verdicts.CheckResult:
    """The answer of a check that has examined something."""
    assert isinstance(answer, verdicts.CheckResult), answer
    return answer


def result(judgement: verdict_files.Judgement, check: str) -> verdicts.CheckResult:
    [found] = [item for item in judgement.checks if item.check == check]
    return found
