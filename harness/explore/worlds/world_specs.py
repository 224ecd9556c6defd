"""The description of a world: its setting, its judges, and whether the correct subject fails."""

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.explore.worlds import parts
from harness.explore.worlds.oracles import claim_oracles, device_oracles, states
from harness.scenario import hazards

if TYPE_CHECKING:
    from harness.explore.worlds import world

Listener = Callable[[watch_cache.Commit], None]
Judge = Callable[[states.State], str | None]
"""Describes what is wrong when all is at rest; None if nothing is."""
Values = Mapping[str, int]
"""The sizes of a world by name."""
SIZE_MAX = 64
"""Maximum of every size."""
CHOICES_MAX = 100_000
"""Choices after which a run counts as a livelock, unless its world says otherwise."""
PRIVATE_LOCKS = (
    ".objects",
    ".stopped",
    ".synced",
    "attempt",
    "binding-conditions",
    "device-class-resolver",
    "inventory",
    "node-list",
    "slice-tracker",
)
"""Name suffixes of locks that no two tasks want in a world of constant nodes and devices."""
_CHANGES_OF_POOLS = (
    "add_rule",
    "revise_devices",
    "share_devices",
    "drop_device",
    "withdraw_pool",
    "renew_pool",
)


def private_locks(setting: parts.Setting, values: Values) -> tuple[str, ...]:
    """Return the name suffixes of locks that no two tasks want in a world."""
    contended = []
    if values.get("threads", 1) > 1:
        contended.append("attempt")
    if setting.has((parts.CONTROLLER, parts.KUBELETS)):
        contended.append(".objects")
    if setting.has((parts.DEVICE_DRIVER,)):
        contended.append("binding-conditions")
    is_late = any(part.kind == "pool" and part.when != parts.START for part in setting.parts)
    if is_late or setting.does(*_CHANGES_OF_POOLS):
        contended += ["inventory", "slice-tracker"]
    if setting.does("fail_over", "stop_controller"):
        contended += [".stopped", ".synced", "inventory", "slice-tracker", "node-list", ".objects"]
    if setting.is_of_node:
        return PRIVATE_LOCKS
    return tuple(name for name in PRIVATE_LOCKS if name not in contended)


MakeOracle = Callable[[], states.Oracle]
EXCLUSIVE: Sequence[MakeOracle] = (claim_oracles.DeviceExclusivity,)
DEVICES: Sequence[MakeOracle] = (claim_oracles.DeviceExclusivity, device_oracles.DeviceShares)
RESERVED: Sequence[MakeOracle] = (claim_oracles.DeviceExclusivity, claim_oracles.Reservations)
CONTROLLED: Sequence[MakeOracle] = (*RESERVED, claim_oracles.ClaimEntries)


class Size(NamedTuple):
    """A number that the user of a world can change."""

    value: int
    least: int
    """Its minimum."""


@functools.cache
def _source(kind: type) -> str:
    return inspect.getsource(kind)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WorldSpec:
    """A world to explore; small, because the number of interleavings grows fast."""

    title: str
    """One line that describes the world."""
    setting: Callable[[Values], parts.Setting]
    """All that there is in it, for these sizes."""
    make: "type[world.World]"
    sizes: Mapping[str, Size]
    """The sizes by name; those that cost most come first, because they are reduced first."""
    oracles: Sequence[MakeOracle]
    """The oracles that judge every commit."""
    at_rest: Sequence[Judge] | None = None
    """The judges of the end; None: the usual ones, unless the world has a hazard."""
    remedies: Sequence[str] = ()
    """Remedies that the subject always has here."""
    private_locks: tuple[str, ...] = PRIVATE_LOCKS
    """Name suffixes of locks without contention once the world is at rest."""
    choices_max: int = CHOICES_MAX
    """Choices after which a run counts as a livelock; none of the world's runs needs as many."""
    judged_s: float = math.inf
    """Virtual seconds after which timers may be cut off, so that nothing is expected any more."""
    hazard: hazards.Hazard | None = dataclasses.field(default=None, repr=False)
    """Why the correct subject fails in this world, as upstream; None: it does not. Its page says
    that it is of this world; a finding here is a real one, not an error of the explorer.
    """
    drawn_hazards: Callable[[parts.Setting], Sequence[hazards.Hazard]] = lambda _: ()
    """Returns those of a drawn world."""

    @property
    def values(self) -> dict[str, int]:
        """The sizes without their minimums."""
        return {name: size.value for name, size in self.sizes.items()}

    def with_sizes(self, values: Values) -> "WorldSpec":
        changed = {
            name: Size(values.get(name, size.value), size.least)
            for name, size in self.sizes.items()
        }
        return dataclasses.replace(self, sizes=changed)

    def source(self) -> str:
        """Return all that the world is made of, and the source of its class."""
        kinds = [kind for kind in inspect.getmro(self.make) if kind is not object]
        return repr(self.setting(self.values)) + "".join(map(_source, kinds))

    def is_known_to_fail(self, remedies: Sequence[str]) -> bool:
        """Return whether the correct subject fails with these remedies."""
        return self.hazard is not None and self.hazard.remedy not in remedies

    def related(self, setting: parts.Setting) -> Collection[str] | None:
        """Return the resources between whose commits the order matters; None: all of them.

        It matters to an oracle that looks at several resources, and to what waits for moments of
        several ones. Returned are plural names.
        """
        of_pods = ("created", "bound", "running", "recorded", "gone")
        is_of_pods = any(part.when.startswith(of_pods) for part in setting.parts)
        if is_of_pods or not {*self.oracles} <= {*DEVICES}:
            return None
        return apis.CLAIMS.plural, apis.SLICES.plural
