"""Scenarios to shrink."""

from typing import Any

from harness.scenario import specs

FAULTS: list[dict[str, Any]] = [
    {"kind": "lose-response", "name": "lost", "times": 10, "on": {"resource": "resourceclaims"}},
    {"kind": "delay-events", "seconds": 0.8, "on": {"resource": "resourceclaims"}},
]


def scenario(**keys: Any) -> specs.Scenario:
    """80 claims for 40 devices on 2 nodes, with two faults."""
    plain = {
        "schema_version": 1,
        "name": "big",
        "title": "a scenario to shrink",
        "description": "for tests",
        "pools": {"nodes": 2, "devices_per_node": 20},
        "traffic": {
            "profile": "all-at-once",
            "processes": 2,
            "users": 8,
            "pods": 80,
            "overcommit": True,
        },
        "load": {"allocations_min": 40, "pods_running_min": 40},
        "faults": FAULTS,
    }
    return specs.Scenario.model_validate(plain | keys)


CHURN = {"profile": "churn", "users": 48, "duration_s": 6.0, "duration_max_s": 40.0}
