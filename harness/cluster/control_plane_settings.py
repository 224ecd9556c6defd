"""What every real control plane is told, whether kind or this harness starts it."""

import yaml

CONTROLLER_REQUESTS = {"kube-api-qps": "1000", "kube-api-burst": "2000"}
"""For a kube-controller-manager whose claim controller works for the load: its default of 20 requests a second is the whole run's limit."""
_RECORDED = (
    ("resource.k8s.io", ["resourceclaims", "resourceclaims/status"]),
    ("", ["pods", "pods/binding", "pods/status", "nodes"]),
)


def audit_policy() -> str:
    """Whole objects of what a verdict rests on, nothing of the rest, and no event twice."""
    whole = [{"group": group, "resources": names} for group, names in _RECORDED]
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "omitManagedFields": True,
        "rules": [{"level": "RequestResponse", "resources": whole}, {"level": "None"}],
    }
    return str(yaml.safe_dump(policy, sort_keys=False))
