"""Known defects of the kubelet and its driver: classes that override one method of correct code.

Each docstring says what is wrong, where it comes from, and what the correct code does.
"""

import dataclasses
import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from harness import errors, suggestions
from harness.cluster.dra import claim_infos, drivers, kubelet_parts


class ForgottenClaims(claim_infos.Checkpoint):
    """A kubelet that was started again does not know which claims are prepared.

    The containers of the pods before still use the devices, and the driver prepares them for other
    claims. As a kubelet whose checkpoint was removed with its state folder, and as drivers that
    keep what they have prepared only in memory (kubernetes-sigs/dra-driver-nvidia-gpu#642). The
    correct kubelet reads its checkpoint, and the driver refuses a device until it is unprepared.
    """

    def load(self) -> list[claim_infos.ClaimInfo]:
        """Return nothing."""
        return []


class ReleasedFirst(drivers.Driver):
    """A driver gives the devices of a claim free before it has unprepared them.

    Another claim is prepared with the devices while the first one is still being unprepared, as
    was possible in kubernetes#140527. The correct driver gives them free at the end of the call.
    """

    def unprepare(self, info: claim_infos.ClaimInfo, node: str) -> None:
        """Give the devices free, then unprepare the claim."""
        self._give_back(info, node)
        super().unprepare(info, node)


class StaleParameters(drivers.Driver):
    """A driver gives containers the parameters of the claim that had the device before.

    The driver keeps what it has computed for a device and does not compare the claim. The correct
    driver computes the environment from the allocation of the claim that it prepares.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Start without knowledge of any device."""
        super().__init__(*arguments, **options)
        self._first_configs: dict[str, Sequence[Any]] = {}
        """Device -> configuration of the first claim that had it."""

    def _configured(self, claim: drivers.Object, info: claim_infos.ClaimInfo) -> drivers.Object:
        with self._guard:
            known = self._first_configs.setdefault(info.devices[0], _config(claim))
        return _with_config(claim, known)


@dataclasses.dataclass(frozen=True, slots=True)
class _Defect:
    part: str
    """The field of KubeletParts."""
    replacement: type[Any]


_KNOWN = {
    "driver-released-first": _Defect("driver", ReleasedFirst),
    "driver-stale-parameters": _Defect("driver", StaleParameters),
    "kubelet-forgets-claims": _Defect("checkpoint", ForgottenClaims),
}


def names() -> tuple[str, ...]:
    """Return the names of all defects."""
    return tuple(_KNOWN)


def describe(name: str) -> str:
    """Return what a defect does. Raises UsageError for an unknown name."""
    return inspect.getdoc(_named(name).replacement) or ""


def is_of_driver(name: str) -> bool:
    """Return whether a defect is one of the driver. Raises UsageError for an unknown name."""
    return _named(name).part == "driver"


def parts(chosen: Iterable[str] = ()) -> kubelet_parts.KubeletParts:
    """Return the parts with these defects.

    Raises UsageError for an unknown name, and for two defects of one part.
    """
    found = {name: _named(name) for name in chosen}
    taken: dict[str, str] = {}
    for name, defect in found.items():
        other = taken.setdefault(defect.part, name)
        if other != name:
            raise errors.UsageError(
                f"expected defects of different parts, but {other} and {name} both replace the "
                f"{defect.part}: choose one of them"
            )
    classes = {defect.part: defect.replacement for defect in found.values()}
    return dataclasses.replace(kubelet_parts.CORRECT, **classes)


def _named(name: str) -> _Defect:
    if name not in _KNOWN:
        raise errors.UsageError(
            f"expected a known defect of the kubelet, got {name!r}. Known defects: "
            f"{', '.join(_KNOWN)}.{suggestions.did_you_mean(name, _KNOWN)}"
        )
    return _KNOWN[name]


def _config(claim: drivers.Object) -> Sequence[Any]:
    found: Sequence[Any] = claim["status"]["allocation"]["devices"].get("config") or ()
    return found


def _with_config(claim: drivers.Object, config: Sequence[Any]) -> drivers.Object:
    """Return the claim with another configuration in its allocation."""
    allocation = claim["status"]["allocation"]
    devices = {**allocation["devices"], "config": config}
    return {**claim, "status": {"allocation": {**allocation, "devices": devices}}}
