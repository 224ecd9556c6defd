"""The known defects of the kubelet and its driver by name, and the parts with chosen ones."""

from collections.abc import Iterable

from harness import errors
from harness.cluster.dra import claim_managers, defects
from harness.cluster.driver import served_drivers
from harness.extensions import replacements

CATALOGUE = replacements.Catalogue(
    "defect of the kubelet",
    "defects",
    defects.__name__,
    {"kubelet": claim_managers.KubeletParts},
    own_plugins=True,
)
"""The known defects by name."""
_PARTS_OF_DRIVER = {"driver", "served"}


def is_of_driver(name: str) -> bool:
    """Return whether a defect is one of the driver. Raises UsageError for an unknown name."""
    return CATALOGUE.named(name).parts.keys() <= _PARTS_OF_DRIVER


def parts(chosen: Iterable[str] = ()) -> claim_managers.KubeletParts:
    """Return the parts with these defects.

    Raises UsageError for an unknown name, and for two defects that override the same method.
    """
    return replacements.replaced(claim_managers.CORRECT, CATALOGUE.chosen(chosen))


def driver_parts(chosen: Iterable[str]) -> served_drivers.DriverParts:
    """Return the parts of the driver as a program with these defects.

    Raises UsageError for an unknown name, one of the kubelet, and for two defects that override
    the same method.
    """
    known = [name for name in CATALOGUE.names() if is_of_driver(name)]
    for name in chosen:
        if not is_of_driver(name):
            raise errors.UsageError(
                f"expected a defect of the driver, got {name!r}, which is one of the kubelet. "
                f"Known ones: {', '.join(known)}"
            )
    made = parts(chosen)
    return served_drivers.DriverParts(driver=made.driver, served=made.served)
