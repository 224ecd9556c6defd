"""Faults of other packages."""

from collections.abc import Iterator
from typing import Literal

from harness import errors
from harness.extensions import descriptions, discovery
from harness.scenario.fault_kinds import fault
from harness.scenario.fields import Name


class PluginFault(fault.Fault):
    """A fault of another package (`flake_hunt.faults`), which acts as a client of the cluster."""

    kind: Literal["plugin"]
    plugin: Name
    """Name of the plug-in; `flake-hunt doctor --plugins` lists them."""
    parameters: dict[str, str | int | float | bool] = {}
    """Values for the plug-in; it documents them."""
    duration_s: fault.Delay | None = None
    """Seconds until the plug-in has to undo it; left out: when it is done, or the load has
    ended."""

    says = "the plug-in {plugin} injects its fault"

    @property
    def plugins(self) -> list[str]:
        """The plug-in."""
        return [self.plugin]

    def objections(self, run: fault.Run) -> Iterator[str]:
        """Yield why the plug-in is not there or cannot be loaded."""
        del run
        try:
            objection = descriptions.problem(discovery.require("faults", self.plugin))
        except errors.PluginError as error:
            objection = str(error)
        if objection:
            yield objection


KINDS = (PluginFault,)
