"""Each rule holds with a correct driver, and fails with one that breaks it."""

from typing import Any

import pytest

from harness.conformance import benches, options, results, rules, suite
from harness.conformance.groups import slices

RULES = rules.all_rules()
FROM_START = ("registration", "slices", "logs")
"""Groups about what a driver does when it starts."""
ALSO_FROM_START = ("prepare/same-after-kubelet-restart", "instances/both-register")
ELSEWHERE = ("slices/taints",)
"""Rules whose breach an API server refuses."""
TRIES = 4
"""A breach that shows at some moment only is missed now and then on a busy machine."""
SPOILT = [rule for rule in RULES if rule.id not in ELSEWHERE]


@pytest.mark.parametrize("group", dict.fromkeys(rule.group for rule in RULES))
def test_a_correct_driver_keeps_all_rules(chosen: options.Options, group: str) -> None:
    rules_of_it = [rule for rule in RULES if rule.group == group]
    found = list(suite.run(chosen, [rules_of_it], left_out={}, progress=lambda text: None))
    others = {r.rule.id: r.text for r in found if r.outcome is not results.Outcome.HELD}
    assert others == ({"slices/taints": "no device has a taint"} if group == "slices" else {})
    assert results.verdict(found) == "VALID"


@pytest.mark.parametrize("rule", SPOILT, ids=lambda rule: rule.id)
def test_a_driver_that_breaks_a_rule_is_found_out(
    rule: rules.Rule, bench: benches.Bench, spoiling: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "_PUBLISHED_AGAIN_STARTS", 0.3)
    from_start = rule.group in FROM_START or rule.id in ALSO_FROM_START
    with spoiling(rule.id, from_start=from_start), pytest.raises(results.Failed):
        try_often(rule, bench)


def try_often(rule: rules.Rule, bench: benches.Bench) -> None:
    for _ in range(TRIES):
        suite.function_of(rule)(bench)
        bench.settle()
