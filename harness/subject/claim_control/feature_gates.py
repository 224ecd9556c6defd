"""The feature gates of the controller, with the names and defaults of kube-controller-manager.

A gate that is switched off makes the controller refuse templates that use the feature.
"""

from collections.abc import Mapping

from harness import errors, suggestions
from harness.model.objects import Object

ADMIN_ACCESS = "DRAAdminAccess"
PRIORITIZED_LIST = "DRAPrioritizedList"
DEFAULTS: Mapping[str, bool] = {ADMIN_ACCESS: True, PRIORITIZED_LIST: True}
"""The gates that the controller knows."""
_VALUES = {"true": True, "false": False}


def parse(text: str) -> dict[str, bool]:
    """Return the gates that `DRAAdminAccess=false,…` describes; the others have their defaults.

    Raises UsageError for a text of another form, and for an unknown gate.
    """
    chosen = dict(DEFAULTS)
    for item in filter(None, text.split(",")):
        name, _, value = item.partition("=")
        if name not in DEFAULTS or value.lower() not in _VALUES:
            raise errors.UsageError(
                f"expected feature gates like DRAAdminAccess=false, got {item!r}. Known gates: "
                f"{', '.join(DEFAULTS)}.{suggestions.did_you_mean(name, DEFAULTS)}"
            )
        chosen[name] = _VALUES[value.lower()]
    return chosen


def refusal(gates: Mapping[str, bool], template: Object) -> str | None:
    """Return why no claim may be created from the template, None if one may."""
    requests = template["spec"]["spec"].get("devices", {}).get("requests") or []
    if not gates[ADMIN_ACCESS] and any(map(_asks_for_admin_access, requests)):
        return "admin access is requested, but the feature is disabled"
    if not gates[PRIORITIZED_LIST] and any(request.get("firstAvailable") for request in requests):
        return "template includes a prioritized list of subrequests, but the feature is disabled"
    return None


def _asks_for_admin_access(request: Object) -> bool:
    return bool((request.get("exactly") or {}).get("adminAccess"))
