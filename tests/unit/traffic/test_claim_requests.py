"""The specs of claims: every key of a scenario arrives in the API's words, and is accepted."""

from typing import Any

import pytest

from harness.scenario import loading, specs
from harness.traffic import objects
from tests.support import accepted_objects

POOLS: dict[str, Any] = {
    "nodes": 2,
    "devices_per_node": 2,
    "more": [
        {
            "name": "gpu",
            "devices": 4,
            "shared": True,
            "capacity": {"memory": "8Gi"},
            "policies": {"memory": {"default": "1Gi", "least": "1Gi"}},
            "attributes_in_turn": {"numa": [0, 1]},
        }
    ],
}


def scenario(claim: dict[str, Any], pools: dict[str, Any] = POOLS) -> specs.Scenario:
    plain = loading.load("pod-churn").scenario.model_dump(mode="json")
    return specs.Scenario.model_validate(plain | {"pools": pools, "claim": claim})


FULL: dict[str, Any] = {
    "parameters": {"a": "b of {claim}"},
    "constraints": [
        {"match_attribute": "numa", "requests": ["gpu", "any/small"]},
        {"distinct_attribute": "other.example/x"},
    ],
    "requests": [
        {
            "name": "gpu",
            "pool": "gpu",
            "devices": 2,
            "selectors": ["true"],
            "capacity": {"memory": "2Gi"},
            "tolerations": [{"key": "old", "effect": "NoExecute"}, {}],
        },
        {"name": "any", "first_available": [{"name": "big", "pool": "gpu"}, {"name": "small"}]},
        {"name": "look", "admin_access": True, "all": True},
    ],
}


def test_every_key_arrives() -> None:
    made = scenario(FULL)
    driver = made.pools.driver
    devices = objects.claim_spec(made.claim, made.pools, of="c")["devices"]
    assert devices["requests"] == [
        {
            "name": "gpu",
            "exactly": {
                "deviceClassName": "flake-hunt-gpu",
                "allocationMode": "ExactCount",
                "count": 2,
                "selectors": [{"cel": {"expression": "true"}}],
                "capacity": {"requests": {"memory": "2Gi"}},
                "tolerations": [
                    {"key": "old", "operator": "Exists", "effect": "NoExecute"},
                    {"operator": "Exists"},
                ],
            },
        },
        {
            "name": "any",
            "firstAvailable": [
                {
                    "name": "big",
                    "deviceClassName": "flake-hunt-gpu",
                    "allocationMode": "ExactCount",
                    "count": 1,
                },
                {
                    "name": "small",
                    "deviceClassName": "flake-hunt",
                    "allocationMode": "ExactCount",
                    "count": 1,
                },
            ],
        },
        {
            "name": "look",
            "exactly": {
                "deviceClassName": "flake-hunt",
                "allocationMode": "All",
                "adminAccess": True,
            },
        },
    ]
    assert devices["constraints"] == [
        {"matchAttribute": f"{driver}/numa", "requests": ["gpu", "any/small"]},
        {"distinctAttribute": "other.example/x"},
    ]
    assert devices["config"] == [
        {"opaque": {"driver": driver, "parameters": {"a": "b of c"}}},
    ]


def test_the_api_server_accepts_it() -> None:
    assert accepted_objects.problems(scenario(FULL)) == []


@pytest.mark.parametrize("name", loading.SHELF.names())
def test_the_api_server_accepts_the_objects_of_every_scenario(name: str) -> None:
    assert accepted_objects.problems(loading.load(name).scenario) == []
