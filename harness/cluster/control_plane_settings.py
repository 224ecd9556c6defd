"""Settings that control planes of Kubernetes share."""

import yaml

from harness.scenario import profiles

CONTROLLER_REQUESTS = {"kube-api-qps": "1000", "kube-api-burst": "2000"}
"""Client rate limits of kube-controller-manager if its claim controller serves the load. The
default of 20 requests/s would limit the throughput of the whole run."""
AUDIT_LOG_MIB_MAX = 4096
"""Large enough for a whole run: rotation would split the history into several files."""
_RECORDED = (
    ("resource.k8s.io", ["resourceclaims", "resourceclaims/*"]),
    ("", ["pods", "pods/*", "bindings"]),
)
_WRITES = ["create", "update", "patch", "delete", "deletecollection"]


def server_flags(
    watch_cache: profiles.WatchCache,
    *,
    in_flight: tuple[int, int] | None,
    audit: tuple[object, object] | None,
) -> dict[str, str]:
    """Return kube-apiserver's flags for a run.

    `watch_cache`: `auto` is on, as by default. `in_flight`: priority and fairness, which would
    queue the load, is off, with these limits of requests and of writes. `audit`: the paths of the
    policy and of the log.
    """
    flags = {"watch-cache": "false"} if watch_cache == "off" else {}
    if audit is not None:
        flags |= {
            "audit-policy-file": str(audit[0]),
            "audit-log-path": str(audit[1]),
            "audit-log-maxsize": str(AUDIT_LOG_MIB_MAX),
        }
    if in_flight is not None:
        flags |= {
            "enable-priority-and-fairness": "false",
            "max-requests-inflight": str(in_flight[0]),
            "max-mutating-requests-inflight": str(in_flight[1]),
        }
    return flags


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
