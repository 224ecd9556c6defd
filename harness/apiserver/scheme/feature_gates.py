"""The feature gates of the API server that can be switched on.

All gates have the defaults of Kubernetes 1.36. The fields of an alpha gate that the server
implements are dropped before an object is stored, unless `--feature-gates` switches the gate on.
"""

from collections.abc import Mapping

from harness import errors

LIST_ATTRIBUTES = "DRAListTypeAttributes"
"""Attributes of devices whose value is a list."""
POD_GROUPS = "GenericWorkload"
"""Groups of pods: `spec.schedulingGroup` of a pod names its PodGroup."""
GROUP_CLAIMS = "DRAWorkloadResourceClaims"
"""Claims of a PodGroup, which its pods use together."""
DEFAULTS: Mapping[str, bool] = {LIST_ATTRIBUTES: False, POD_GROUPS: False, GROUP_CLAIMS: False}
"""The gates that the server knows."""
_VALUES = {"true": True, "false": False}
_chosen = dict(DEFAULTS)


def is_on(gate: str) -> bool:
    """Return whether a gate is on in this process. Raises KeyError if unknown."""
    return _chosen[gate]


def parse(text: str) -> dict[str, bool]:
    """Return the gates that `DRAListTypeAttributes=true,…` names, and no others.

    Raises UsageError for a text of another form, and for an unknown gate.
    """
    named = {}
    for item in filter(None, text.split(",")):
        name, _, value = item.partition("=")
        if name not in DEFAULTS or value.lower() not in _VALUES:
            raise errors.UsageError(
                "expected feature gates like DRAListTypeAttributes=true, got "
                f"{item!r}. Known gates: {', '.join(DEFAULTS)}."
            )
        named[name] = _VALUES[value.lower()]
    return named


def choose(gates: Mapping[str, bool]) -> None:
    """Switch gates on or off, for as long as the process lives; the others keep their state."""
    _chosen.update(gates)
