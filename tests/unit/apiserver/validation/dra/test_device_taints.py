"""DeviceTaintRules."""

from typing import Any

from harness.apiserver.validation.dra import device_taints


def test_taint_rules(fields: Any) -> None:
    selector = {"driver": "a b", "pool": "", "device": "D"}
    wrong = {"spec": {"deviceSelector": selector, "taint": {"key": "k", "effect": "Now"}}}
    assert fields(device_taints.taint_rule(wrong)) == [
        ("spec.deviceSelector.driver", "Invalid"),
        ("spec.deviceSelector.pool", "Required"),
        ("spec.deviceSelector.device", "Invalid"),
        ("spec.taint.effect", "NotSupported"),
    ]
    stored = {"spec": {"taint": {"key": "k", "effect": "Now"}}}
    assert fields(device_taints.taint_rule(stored, stored)) == []


def test_the_status_of_a_taint_rule(fields: Any) -> None:
    conditions = [
        {"type": f"T{n}", "status": "True", "reason": "R", "lastTransitionTime": "t"}
        for n in range(9)
    ]
    document = {"status": {"conditions": conditions}}
    assert fields(device_taints.taint_rule_status(document, {})) == [
        ("status.conditions", "TooMany")
    ]
