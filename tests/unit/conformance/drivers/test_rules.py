"""Each rule holds with a correct driver, and fails with one that breaks it."""

from typing import Any

import pytest

from harness.conformance import results, rules
from harness.conformance.drivers import benches, rulebook, suite

RULES = rulebook.all_rules()
FROM_START = ("registration", "slices", "logs")
"""Groups about what a driver does when it starts."""
ALSO_FROM_START = ("prepare/same-after-kubelet-restart", "instances/both-register")
ELSEWHERE = ("slices/taints",)
"""Rules whose breach an API server refuses."""
SPOILT = [rule for rule in RULES if rule.group != "kubelet" and rule.id not in ELSEWHERE]


def test_a_correct_driver_keeps_all_rules(options: suite.Options) -> None:
    chosen = [rule for rule in RULES if rule.group != "kubelet"]
    found = list(suite.run(options, chosen, left_out={}, progress=lambda text: None))
    others = {r.rule.id: r.text for r in found if r.outcome is not results.Outcome.HELD}
    assert others == {"slices/taints": "no device has a taint"}


@pytest.mark.parametrize("rule", SPOILT, ids=lambda rule: rule.id)
def test_a_driver_that_breaks_a_rule_is_found_out(
    rule: rules.Rule, bench: benches.Bench, spoiling: Any
) -> None:
    from_start = rule.group in FROM_START or rule.id in ALSO_FROM_START
    with spoiling(rule.id, from_start=from_start), pytest.raises(results.Failed):
        suite.function_of(rule)(bench)
