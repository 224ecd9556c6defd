"""Resource names and quantities."""

from typing import Any

import pytest

from harness.apiserver.validation import node_resources

Document = dict[str, Any]
AMOUNTS = [
    ({"cpu": "1"}, {"cpu": "500m", "memory": "1Gi"}, []),
    ({"a.b/gpu": "1"}, {"a.b/gpu": "1"}, []),
    ({"hugepages-2Mi": "2Mi", "cpu": "1"}, {"hugepages-2Mi": "2Mi"}, []),
    ({"cpu": "1"}, {"cpu": "2"}, [("r.requests", "Invalid")]),
    ({"cpu": "-1"}, {}, [("r.limits[cpu]", "Invalid")]),
    ({"gpu": "1"}, {}, [("r.limits[gpu]", "Invalid")]),
    ({"pods": "1"}, {}, [("r.limits[pods]", "Invalid")]),
    ({"-": "1"}, {}, [("r.limits[-]", "Invalid")]),
    ({"a.b/gpu": "500m"}, {}, [("r.limits[a.b/gpu]", "Invalid")]),
    ({"requests.a.b/gpu": "1"}, {}, [("r.limits[requests.a.b/gpu]", "Invalid")]),
    ({}, {"a.b/gpu": "1"}, [("r.limits", "Required")]),
    ({"a.b/gpu": "2"}, {"a.b/gpu": "1"}, [("r.requests", "Invalid")]),
    ({"hugepages-2Mi": "2Mi"}, {}, [("r", "Forbidden")]),
]


def test_amounts(fields: Any) -> None:
    for limits, wanted, wrong in AMOUNTS:
        found = node_resources.of_container({"limits": limits, "requests": wanted}, "r")
        assert fields(found) == wrong, (limits, wanted)


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("example.com/gpu", True),
        ("gpu", False),
        ("kubernetes.io/gpu", False),
        ("requests.example.com/gpu", False),
        ("example.com/", False),
    ],
)
def test_extended_resources(name: str, good: bool) -> None:
    assert node_resources.is_extended(name) is good
