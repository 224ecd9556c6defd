"""The rules as they are written."""

import dataclasses

import pytest

from harness import errors
from harness.conformance.api import api_requests, rulebooks

RULES = [rule for group in rulebooks.groups() for rule in group.rules]


def test_there_are_rules_about_everything() -> None:
    assert len(RULES) >= 240
    assert len(rulebooks.groups()) >= 15
    assert all(group.about and group.rules for group in rulebooks.groups())


def test_no_two_rules_of_a_group_have_one_name() -> None:
    assert len({(rule.group, rule.name) for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.group}: {rule.name}")
def test_a_rule_expects_something_of_things_that_exist(rule: rulebooks.Rule) -> None:
    watches = {step.label for step in rule.steps if step.verb == "WATCH"}
    for step in rule.steps:
        if step.verb == "EVENTS":
            assert step.target in watches
        else:
            assert api_requests.is_known(step.target)
    blank = rulebooks.Step(verb="GET", target="x")
    kept = ("query", "body", "changes", "text", "patch", "label", "within_s")
    last = rule.steps[-1]
    expectation = {f.name for f in dataclasses.fields(last)} - {"verb", "target", *kept}
    expects = any(getattr(last, name) != getattr(blank, name) for name in expectation)
    assert expects or last.verb in ("GET", "POST", "PATCH", "PUT", "EVENTS")


def group(steps: str) -> str:
    return f"group: g\nabout: a\nrules:\n- rule: r\n  steps:\n  - {steps}\n"


def test_a_step_is_read() -> None:
    text = (
        'PATCH pods/{name}: {merge: {a: 1}, as: x, with: {b: 2}, gives: 409 Conflict, says: "no"}'
    )
    (step,) = rulebooks.parse(group(text)).rules[0].steps
    assert step == rulebooks.Step(
        verb="PATCH",
        target="pods/{name}",
        patch="merge",
        body={"a": 1},
        label="x",
        changes={"b": 2},
        gives=409,
        reason="Conflict",
        says="no",
    )


@pytest.mark.parametrize(
    "steps",
    ["FETCH pods: {}", "GET pods: {givse: 1}", "{GET pods: {}, GET nodes: {}}"],
)
def test_what_is_not_understood_is_refused(steps: str) -> None:
    with pytest.raises(errors.HarnessError, match="a rule cannot be read"):
        rulebooks.parse(group(steps))
