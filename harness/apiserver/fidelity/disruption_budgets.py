"""Frozen: no new code. Disruption budgets: whether a pod may be evicted now.

`kubectl drain` evicts pods. The number of allowed disruptions stands in the status of the budget,
where Kubernetes' disruption controller writes it. After
k8s.io/kubernetes/pkg/registry/core/pod/storage/eviction.go.
"""

from collections.abc import Iterable

from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.storage import label_selectors

BUDGETS = next(item for item in resources.ALL if item.kind == "PodDisruptionBudget")
_BEYOND_BUDGETS = ("Succeeded", "Failed", "Pending")
_DISRUPTED_MAX = 2000
_UNPROCESSED_RETRY_S = 10
_CAUSE = "DisruptionBudget"
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_AMBIGUOUS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_TERMS = {
    "In": "{key} in ({values})",
    "NotIn": "{key} notin ({values})",
    "Exists": "{key}",
    "DoesNotExist": "!{key}",
}
_ALLOWED = "DisruptionAllowed"


def of(pod: Document, budgets: Iterable[Document]) -> Document | None:
    """Return the budget that an eviction of the pod counts against, of those in its namespace.

    None if there is no such budget. Raises StatusError 500 if there are several.
    """
    status = pod.get("status") or {}
    if status.get("phase") in _BEYOND_BUDGETS or pod["metadata"].get("deletionTimestamp"):
        return None
    labels = pod["metadata"].get("labels") or {}
    selecting = [budget for budget in budgets if _selects(budget, labels)]
    if len(selecting) > 1:
        raise status_errors.StatusError(500, "", _AMBIGUOUS)
    if not selecting or (not _is_ready(status) and _ignores_unready(selecting[0])):
        return None
    return selecting[0]


def spend(budget: Document, pod_name: str, *, now: str) -> None:
    """Take one disruption from a budget, in place.

    Raises StatusError 429 if it allows none, 403 if its status is malformed.
    """
    status = budget.setdefault("status", {})
    _require_allowed(budget, status)
    status["disruptionsAllowed"] -= 1
    if not status["disruptionsAllowed"]:
        _set_exhausted(status, now)
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod_name: now}


def _selects(budget: Document, labels: dict[str, str]) -> bool:
    selector = (budget.get("spec") or {}).get("selector") or {}
    terms = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for term in selector.get("matchExpressions") or ():
        values = ",".join(term.get("values") or ())
        terms.append(_TERMS.get(term["operator"], "").format(key=term["key"], values=values))
    if not terms:  # an empty selector selects nothing here
        return False
    try:
        return label_selectors.label_selector(",".join(terms))(labels)
    except status_errors.StatusError:
        return False


def _is_ready(status: Document) -> bool:
    conditions = status.get("conditions") or ()
    return any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions)


def _ignores_unready(budget: Document) -> bool:
    """Return whether evictions of pods that are not ready do not count."""
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired: int = status.get("desiredHealthy") or 0
    return 0 < desired <= (status.get("currentHealthy") or 0)


def _require_allowed(budget: Document, status: Document) -> None:
    meta = budget["metadata"]
    name = meta["name"]
    if (status.get("observedGeneration") or 0) < (meta.get("generation") or 0):
        why = f"The disruption budget {name} is still being processed by the server."
        raise _refused(why, retry_after_s=_UNPROCESSED_RETRY_S)
    if (allowed := status.get("disruptionsAllowed") or 0) < 0:
        raise status_errors.denied(BUDGETS, name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > _DISRUPTED_MAX:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise status_errors.denied(BUDGETS, name, why)
    if not allowed:
        raise _refused(_why_none(name, status))


def _why_none(name: str, status: Document) -> str:
    conditions = status.get("conditions") or ()
    allowed: Document = next((item for item in conditions if item.get("type") == _ALLOWED), {})
    why = (allowed.get("message") or "") if allowed.get("status") == "False" else ""
    none = f"The disruption budget {name} does not allow evicting pods currently"
    if why and allowed.get("reason") == "SyncFailed":
        return f"{none} because it failed sync: {why}"
    current, desired = status.get("currentHealthy") or 0, status.get("desiredHealthy") or 0
    if current <= desired:
        return (
            f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
        )
    return f"{none} ({allowed.get('reason')}): {why}" if why else none


def _refused(why: str, *, retry_after_s: int = 0) -> status_errors.StatusError:
    details: Document = {"causes": [{"reason": _CAUSE, "message": why}]}
    if retry_after_s:
        details["retryAfterSeconds"] = retry_after_s
    return status_errors.StatusError(429, "TooManyRequests", _REFUSED, details)


def _set_exhausted(status: Document, now: str) -> None:
    """Set the condition `DisruptionAllowed` to False, in place."""
    conditions: list[Document] = status.setdefault("conditions", [])
    condition = next((item for item in conditions if item.get("type") == _ALLOWED), None)
    if condition is None:
        condition = {"type": _ALLOWED}
        conditions.append(condition)
    if condition.get("status") != "False":
        condition |= {"status": "False", "lastTransitionTime": now}
    version = status.get("observedGeneration") or 0
    condition |= {"observedGeneration": version, "reason": "InsufficientPods", "message": ""}
