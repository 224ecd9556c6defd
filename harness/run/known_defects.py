"""The known defects of all parts of a run, by name, and the part that each one belongs to.

Plug-ins are known, too, but not listed among the names.
"""

from collections.abc import Iterable
from typing import Literal

from harness import errors, suggestions
from harness.cluster.dra import kubelet_defects
from harness.extensions import discovery
from harness.subject import assembling, defects, plugin_defects
from harness.subject.defects import claim_controller_defects
from harness.subject.scheduling import schedulers

Part = Literal["scheduler", "claim-controller", "kubelet"]
Actor = Literal["scheduler", "claim-controller", "kubelet", "driver"]
_SHIPPED: dict[str, Part] = {
    **dict.fromkeys(defects.names(), "scheduler"),
    **dict.fromkeys(claim_controller_defects.CATALOGUE.names(), "claim-controller"),
    **dict.fromkeys(kubelet_defects.names(), "kubelet"),
}


def names() -> tuple[str, ...]:
    """Return the names of all shipped defects."""
    return tuple(_SHIPPED)


def _part(name: str) -> Part | None:
    """Return the part that a defect belongs to; None if it is unknown."""
    if name in _SHIPPED:
        return _SHIPPED[name]
    plugin = plugin_defects.replacement(name)
    if plugin is None:
        return None
    return "scheduler" if plugin.whole is schedulers.SchedulerParts else "claim-controller"


def describe(name: str) -> str:
    """Return what a defect does. Raises UsageError for an unknown name."""
    require_known([name])
    match _part(name):
        case "kubelet":
            return kubelet_defects.describe(name)
        case "claim-controller":
            return claim_controller_defects.CATALOGUE.describe(name)
        case _:
            return defects.describe(name)


def actor(name: str) -> Actor:
    """Return what has a defect; the process of the kubelets is driver, too.

    Raises UsageError for an unknown name.
    """
    require_known([name])
    part = _part(name) or "scheduler"
    is_of_driver = part == "kubelet" and kubelet_defects.is_of_driver(name)
    return "driver" if is_of_driver else part


def require_known(chosen: Iterable[str]) -> None:
    """Raise UsageError for an unknown name."""
    for name in chosen:
        if _part(name) is None:
            plugins = discovery.usable("defects", shipped=_SHIPPED)
            others = f" Plug-ins: {', '.join(plugins)}." if plugins else ""
            known = suggestions.listed(
                name, [*_SHIPPED, *plugins], title="Known defects", where="`flake-hunt defects`"
            )
            raise errors.UsageError(f"expected a known defect, got {name!r}.{known}{others}")


def of_part(chosen: Iterable[str], part: Part) -> list[str]:
    """Return those of the chosen defects that belong to a part."""
    return [name for name in chosen if _part(name) == part]


def double_allocating(chosen: Iterable[str]) -> list[str]:
    """Return those of the chosen defects by which a device is allocated twice.

    Others of the scheduler show as allocations that a claim did not ask for, or of devices that are
    not there or tainted.
    """
    of_scheduler = of_part(chosen, "scheduler")
    return [name for name in of_scheduler if not defects.CATALOGUE.named(name).shows_otherwise]


def show_otherwise(chosen: Iterable[str]) -> bool:
    """Return whether defects are chosen, and all show in other ways than by double allocations."""
    chosen = list(chosen)
    return bool(chosen) and not double_allocating(chosen)


def require_part(chosen: Iterable[str], part: Part) -> None:
    """Raise UsageError for an unknown name, or a defect of another part."""
    chosen = list(chosen)
    require_known(chosen)
    for name in chosen:
        if _part(name) != part:
            known = ", ".join(of_part(_SHIPPED, part)) or "none"
            raise errors.UsageError(
                f"expected a defect of the {part}, got {name!r}, which is one of the "
                f"{_part(name)}. Known defects of the {part}: {known}"
            )


def require_combinable(
    chosen: Iterable[str], remedies: Iterable[str] = (), release: str = ""
) -> None:
    """Raise UsageError for unknown names, or if two defects or remedies cannot be combined."""
    chosen = list(chosen)
    require_known(chosen)
    assembling.parts(of_part(chosen, "scheduler"), remedies, release or None)
    assembling.claim_controller_parts(
        of_part(chosen, "claim-controller"), remedies, release or None
    )
    kubelet_defects.parts(of_part(chosen, "kubelet"))
