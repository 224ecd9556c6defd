"""Settings that `kind` and `local` control planes share."""

import yaml

from harness.scenario import profiles

CONTROLLER_REQUESTS = {"kube-api-qps": "1000", "kube-api-burst": "2000"}
"""Client rate limits of kube-controller-manager if its claim controller serves the load.

The default of 20 requests/s would limit the throughput of the whole run.
"""
_RECORDED = (
    ("resource.k8s.io", ["resourceclaims", "resourceclaims/*"]),
    ("", ["pods", "pods/*", "bindings"]),
)
_WRITES = ["create", "update", "patch", "delete", "deletecollection"]


def watch_cache_flags(watch_cache: profiles.WatchCache) -> dict[str, str]:
    """Return kube-apiserver's flags for its watch cache; `auto` is on, as by default."""
    return {"watch-cache": "false"} if watch_cache == "off" else {}


def audit_policy() -> str:
    """Return an audit policy that records each write of claims and pods once, in full.

    On these objects a verdict rests; all others are not recorded.
    """
    whole = [{"group": group, "resources": names} for group, names in _RECORDED]
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "omitManagedFields": True,
        "rules": [
            {"level": "RequestResponse", "verbs": _WRITES, "resources": whole},
            {"level": "None"},
        ],
    }
    return str(yaml.safe_dump(policy, sort_keys=False))
