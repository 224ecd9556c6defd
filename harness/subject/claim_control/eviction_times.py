"""When the users of a device must go because of its NoExecute taints: pure functions.

After claimEvictionTime in pkg/controller/devicetainteviction/device_taint_eviction.go. Times are
seconds since the epoch.
"""

import datetime
import math
from collections.abc import Iterable, Sequence

from harness.model.objects import Object

NO_EXECUTE = "NoExecute"


def due_s(taints: Iterable[Object], tolerations: Sequence[Object]) -> float | None:
    """Return when the users of a device must go; None: every taint that evicts is tolerated."""
    times = [_due_s(taint, tolerations) for taint in taints if taint.get("effect") == NO_EXECUTE]
    return min((time for time in times if time is not None), default=None)


def _due_s(taint: Object, tolerations: Sequence[Object]) -> float | None:
    """Return when a taint evicts; None: never. The shortest toleration counts.

    Seconds count only where the effect of the toleration is NoExecute, as the API says.
    """
    limits = [_limit_s(item) for item in tolerations if tolerates(item, taint)]
    limit_s = max(min(limits, default=0.0), 0.0)
    return None if limit_s == math.inf else _seconds(taint.get("timeAdded")) + limit_s


def _limit_s(toleration: Object) -> float:
    seconds = toleration.get("tolerationSeconds")
    if seconds is None or toleration.get("effect") != NO_EXECUTE:
        return math.inf
    return float(seconds)


def tolerates(toleration: Object, taint: Object) -> bool:
    """Return whether a toleration matches a taint; an empty effect or key matches all."""
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("key") not in (None, "", taint.get("key")):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool((toleration.get("value") or "") == (taint.get("value") or ""))


def _seconds(text: str | None) -> float:
    """Return a time of the API; without one the taint counts as old, and evicts at once."""
    return -math.inf if text is None else datetime.datetime.fromisoformat(text).timestamp()
