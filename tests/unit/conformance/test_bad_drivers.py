"""A driver that is no good is one failed rule with one sentence, and no run takes long for it."""

import dataclasses
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from harness.conformance import benches, driver_folders, results, rules, suite
from harness.model import answers

ROOT = pathlib.Path(__file__).parents[3]
LIMITS = {"deadline_s": 1.5, "start_s": 6.0}
ROW = {"request": "r", "driver": "bad.example.com", "pool": "p", "device": "d"}
CLAIM: dict[str, Any] = {
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
    "status": {"allocation": {"devices": {"results": [ROW]}}},
}
RULES = [rule for rule in rules.all_rules() if rule.group in ("registration", "prepare", "load")]


@pytest.fixture
def bad(bench: benches.Bench, request: pytest.FixtureRequest) -> Iterator[benches.Bench]:
    """A bench on the API server of the other one."""
    words = [sys.executable, "-m", "tests.stand_ins.bad_dra_driver", request.param]
    command = ["env", f"PYTHONPATH={ROOT}", *words, "{registry_dir}", "{plugins_dir}"]
    chosen = dataclasses.replace(bench.options, command=command, claim=CLAIM, **LIMITS)
    folders = driver_folders.make(chosen)
    made = benches.Bench(chosen, folders, bench.objects)
    yield made
    made.close()
    folders.remove()


@pytest.mark.parametrize(
    ("bad", "rule", "sentence"),
    [
        ("silent", "registration/registers", "did not answer GetInfo within 6 s"),
        ("noisy", "registration/registers", "did not answer GetInfo within 6 s"),
        ("hangs", "prepare/allocated-claim", "got no answer: DEADLINE_EXCEEDED"),
        ("dies", "prepare/allocated-claim", "the driver has ended with exit code 7"),
        ("nonsense", "prepare/allocated-claim", "got 17 bytes that are none"),
        ("huge", "prepare/allocated-claim", "message larger than max"),
        ("unknown", "prepare/allocated-claim", "lacks the claim"),
    ],
    indirect=["bad"],
)
def test_a_bad_driver_is_one_failure(bad: benches.Bench, rule: str, sentence: str) -> None:
    found = list(suite.checked(bad, RULES))
    failed = {r.rule.id: r.text for r in found if r.outcome is results.Outcome.FAILED}
    assert failed.keys() == {rule}, {r.rule.id: r.text for r in found if r.rule.id == rule}
    assert sentence in failed[rule]
    assert results.verdict(found) is answers.Verdict.INVALID
    others = [r for r in found if r.outcome is results.Outcome.UNDECIDED]
    assert len(others) > 10


@pytest.mark.parametrize("bad", ["ends"], indirect=True)
def test_a_driver_that_ends_at_once_is_not_judged(bad: benches.Bench) -> None:
    found = list(suite.checked(bad, RULES))
    (text,) = {r.text for r in found if r.outcome is results.Outcome.UNDECIDED}
    assert "ended with exit code 1; it printed: no such device" in text
    assert {r.outcome for r in found} == {results.Outcome.UNDECIDED}
    assert results.verdict(found) is answers.Verdict.UNKNOWN


def test_what_was_not_examined_is_not_held() -> None:
    rule = rules.Rule(id="a/b", level=rules.Level.MUST, says="it is", sources=("a",))
    skipped = results.Result(rule=rule, outcome=results.Outcome.SKIPPED, text="why")
    held = results.Result(rule=rule, outcome=results.Outcome.HELD)
    undecided = results.Result(rule=rule, outcome=results.Outcome.UNDECIDED, text="why")
    failed = results.Result(rule=rule, outcome=results.Outcome.FAILED, text="why")
    for found, verdict in (
        ([], "UNKNOWN"),
        ([skipped], "UNKNOWN"),
        ([held, skipped], "VALID"),
        ([held, undecided], "UNKNOWN"),
        ([held, undecided, failed], "INVALID"),
    ):
        assert results.verdict(found) == verdict
