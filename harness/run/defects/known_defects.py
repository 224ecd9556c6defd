"""The known defects of all processes of a run, by name.

Plug-ins are known, too, but not listed among the names.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from harness import errors, suggestions
from harness.cluster.dra import kubelet_defects
from harness.extensions import discovery, replacements
from harness.subject import assembling, defects

Part = Literal["scheduler", "claim-controller", "kubelet"]
PARTS: tuple[Part, ...] = ("scheduler", "claim-controller", "kubelet")


def names(part: Part | None = None) -> tuple[str, ...]:
    """Return the names of all shipped defects, part by part; of one part, if it is given."""
    every = (defects.CATALOGUE, kubelet_defects.CATALOGUE)
    parts = PARTS if part is None else (part,)
    return tuple(name for item in parts for known in every for name in known.names(item))


def facts() -> Mapping[str, replacements.Facts]:
    return {name: named(name).facts for name in names()}


def _find(name: str) -> replacements.Replacement | None:
    return kubelet_defects.CATALOGUE.find(name) or defects.CATALOGUE.find(name)


def named(name: str) -> replacements.Replacement:
    found = _find(name)
    if found is None:
        shipped = names()
        plugins = discovery.usable("defects", shipped=shipped)
        others = f" Plug-ins: {', '.join(plugins)}." if plugins else ""
        known = suggestions.listed(
            name, [*shipped, *plugins], title="Known defects", where="`flake-hunt defects`"
        )
        raise errors.UsageError(f"expected a known defect, got {name!r}.{known}{others}")
    return found


def actor(name: str) -> str:
    """Return what has a defect, the part or `driver`: the process of the kubelets is both."""
    found = named(name)
    is_of_driver = found.process == "kubelet" and kubelet_defects.is_of_driver(name)
    return "driver" if is_of_driver else found.process


def require_known(chosen: Iterable[str]) -> None:
    for name in chosen:
        named(name)


def of_part(chosen: Iterable[str], part: Part) -> list[str]:
    found = ((name, _find(name)) for name in chosen)
    return [name for name, item in found if item and item.process == part]


def of_actor(chosen: Iterable[str], wanted: str) -> list[str]:
    return [name for name in chosen if _find(name) is not None and actor(name) == wanted]


def double_allocating(chosen: Iterable[str]) -> list[str]:
    """Return those of the chosen defects by which a device is allocated twice.

    Others of the scheduler show as allocations that a claim did not ask for, or of devices that are
    not there or tainted.
    """
    return [name for name in of_part(chosen, "scheduler") if not named(name).shows_otherwise]


def show_otherwise(chosen: Iterable[str]) -> bool:
    """Return whether defects are chosen, and all show in other ways than by double allocations."""
    chosen = list(chosen)
    return bool(chosen) and not double_allocating(chosen)


def require_part(chosen: Iterable[str], part: Part) -> None:
    for name in chosen:
        other = named(name).process
        if other != part:
            known = ", ".join(names(part))
            raise errors.UsageError(
                f"expected a defect of the {part}, got {name!r}, which is one of the {other}. "
                f"Known defects of the {part}: {known}"
            )


def require_combinable(
    chosen: Iterable[str], remedies: Iterable[str] = (), release: str = ""
) -> None:
    """Raise UsageError for unknown names, or if two defects or remedies cannot be combined."""
    chosen = list(chosen)
    require_known(chosen)
    of_kubelet = of_part(chosen, "kubelet")
    others = [name for name in chosen if name not in of_kubelet]
    assembling.parts(others, remedies, release or None)
    assembling.claim_controller_parts(others, remedies, release or None)
    kubelet_defects.parts(of_kubelet)
