"""Autoscalers of two versions are the same objects."""

from typing import Any

V1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
V2 = V1.replace("v1", "v2")
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
MEMORY = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 70}},
}


def test_what_v1_makes_is_seen_in_v2(live: Any) -> None:
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50}
    status, made = live.call("POST", V1, {"metadata": {"name": "a"}, "spec": spec})
    assert (status, made["apiVersion"]) == (201, "autoscaling/v1")
    assert made["spec"]["targetCPUUtilizationPercentage"] == 50
    seen = live.call("GET", f"{V2}/a")[1]
    assert seen["apiVersion"] == "autoscaling/v2"
    (metric,) = seen["spec"]["metrics"]
    assert metric["resource"]["target"]["averageUtilization"] == 50
    assert "targetCPUUtilizationPercentage" not in seen["spec"]


def test_writing_it_back_through_v1_loses_nothing(live: Any) -> None:
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 3, "metrics": [MEMORY]}
    assert live.call("POST", V2, {"metadata": {"name": "a"}, "spec": spec})[0] == 201
    old = live.call("GET", f"{V1}/a")[1]
    assert "metrics" not in old["spec"]
    old["spec"]["maxReplicas"] = 5
    assert live.call("PUT", f"{V1}/a", old)[0] == 200
    seen = live.call("GET", f"{V2}/a")[1]
    assert (seen["spec"]["maxReplicas"], seen["spec"]["metrics"]) == (5, [MEMORY])
    assert "annotations" not in seen["metadata"]
