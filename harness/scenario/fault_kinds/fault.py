"""The base of all kinds of faults: their common keys, and the methods that a kind may override.

By default a fault hits no process, cannot be drawn by a nemesis, takes no time, and explains no
violation. Planning, texts and checks use these methods, and no kind by its name.
"""

import dataclasses
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import pydantic

from harness.model import fault_effects
from harness.scenario import claim_specs, pool_specs, traffic_specs
from harness.scenario.fields import Name, PositiveCount, Seconds, Spec

Role = Literal["scheduler", "claim-controller", "kubelet", "load", "recorder"]
"""`scheduler`: all schedulers of the run; `load`: the Locust workers; `recorder`: the observer
whose record is judged, so that a fault of it makes the verdict UNKNOWN."""
EndedRole = Literal["scheduler", "claim-controller", "kubelet", "driver"]
"""A role whose processes faults can end or pause; `driver`: the DRA driver, if it is a process."""
Delay = Annotated[float, pydantic.Field(gt=0, le=3600)]
"""Seconds."""
FAULTS_MAX = 64
"""Maximum number of faults in a scenario."""
Keys = dict[str, Any]
"""Keys of a fault, as in a scenario file."""


Effect: TypeAlias = fault_effects.Effect
Draw = Callable[[random.Random], Any]
"""Draws the value of a key."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The run for which faults are planned."""

    pools: pool_specs.PoolsSpec
    claims: Sequence[claim_specs.ClaimSpec]
    """The kinds of claims; none if manifests say them."""
    traffic: traffic_specs.TrafficSpec
    provider: str
    is_alone: bool
    """True if the cluster has no other users."""
    restarts_api_server: bool
    """True if the API server can be restarted on its data."""
    longest_s: float
    """Longest time that the load may take, in seconds."""
    processes: Mapping[Role, list[str]]
    """Names of the processes of each role that the run starts; empty: it starts none."""
    ended: Mapping[EndedRole, list[str]]
    """The processes of each role that faults can end or pause; one may be of the cluster."""
    reboots_driver: bool
    """True if a process of its own serves the last node, or the driver is in the kubelet's."""
    kubelets: list[str]
    """The kubelet processes; another one for a node that may be lost."""
    foreign_schedulers: list[str]
    """Kinds of the schedulers that run without the run: `cluster`, `external`."""
    foreign_controller: str
    """The claim controller that runs without the run: `cluster`, `external`; empty: the run starts
    it."""


class StartSpec(Spec):
    """Start a fault when another one has taken effect."""

    fault: Name
    """Name of the other fault."""
    applied: PositiveCount = 1
    """Number of times that it must have taken effect."""


class Fault(Spec):
    """Keys of every fault."""

    name: Name | None = None
    """Name in messages and in the record; left out: the kind, numbered from the second on."""
    start_s: Seconds = 0.0
    """Seconds from the first pod of the load (or from the condition in `start_after`) until the
    fault begins; 0: faults of traffic are on before the load starts."""
    start_after: StartSpec | None = None
    """Begin when another fault has taken effect; left out: begin at the start of the load."""
    required: bool = True
    """The run is UNKNOWN if the fault never takes effect."""
    kind: str

    effect: ClassVar[Effect] = Effect.OTHER
    says: ClassVar[str] = ""
    """Clause for `sentence`, with {process}, {repetition} and any key."""
    clause: ClassVar[str] = ""
    """Clause about its effect in the account of a double allocation: {name} of the claim,
    {process}, {client}, and the time for which it {lasted}; empty: checks have the words."""
    drawn: ClassVar[Mapping[str, Draw]] = {}
    """The keys that a nemesis draws, in this order; empty: it does not draw the kind."""
    may_restart_api_server: ClassVar[bool] = False
    needs_own_kubelet: ClassVar[bool] = False
    """True if it hits a node, which has a kubelet process of its own for that."""
    loses_node: ClassVar[bool] = False
    """True if the API gives away what runs on a node."""
    ends_process: ClassVar[bool] = False
    """True if its client ends or stands still; no other fault may act on it then."""

    # ------------------------------------------------------------------------- planning

    @classmethod
    def draw(cls, dice: random.Random) -> Keys:
        return {key: draw(dice) for key, draw in cls.drawn.items()}

    @property
    def plugins(self) -> list[str]:
        return []

    @property
    def length_s(self) -> float:
        """The seconds that it takes and that cannot be cut short; 0 if it can be healed at once."""
        return 0.0

    @property
    def lasts_until_end(self) -> bool:
        """True if it acts on its process until the load has ended."""
        return False

    def clients(self, run: Run) -> list[str]:
        del run
        return []

    def objections(self, run: Run) -> Iterator[str]:
        """Yield a sentence for each reason why it cannot work in a run, with a remedy."""
        del run
        yield from ()

    def time_objections(self, run: Run) -> Iterator[str]:
        """Yield a sentence if it cannot begin and end while there is load."""
        if self.start_s >= run.longest_s:
            yield (
                f"expected start_s below {run.longest_s:g}, the longest time of the load in seconds, "
                f"got {self.start_s:g}: begin earlier, or make the load longer"
            )
        elif self.start_s + self.length_s > run.longest_s:
            yield (
                f"expected it to end within {run.longest_s:g} s, the longest time of the load, because "
                f"it cannot be healed before, but it takes {self.length_s:g} s from {self.start_s:g} s: "
                "shorten it, or make the load longer"
            )

    # ---------------------------------------------------------------------------- words

    @property
    def words(self) -> Mapping[str, Any]:
        return dict(self)

    def what(self, clients: Sequence[str]) -> str:
        return self.says.format(process=" and ".join(clients), **self.words)

    @property
    def warning(self) -> str:
        """A sentence about what it does to the verdict; empty: nothing."""
        return ""

    def sentence(self, clients: Sequence[str]) -> str:
        """Return what it does, to whom, when and for how long; `clients` are processes."""
        text = f"{self.what(clients)}{self._when}{self._how_long}."
        return text[0].upper() + text[1:] + self.warning

    @property
    def _when(self) -> str:
        late = f"{self.start_s:g} s after " if self.start_s else ""
        if self.start_after is not None:
            after = self.start_after
            times = f"{after.applied} times" if after.applied > 1 else "once"
            return f", from {late or 'when '}{after.fault} has taken effect {times}"
        return f", from {late}the start of the load" if late else ""

    @property
    def _how_long(self) -> str:
        duration_s: float | None = getattr(self, "duration_s", None)
        return f", for {duration_s:g} s" if duration_s is not None else ""


class RepeatedFault(Fault):
    """Keys of faults that the run repeats."""

    times: Annotated[int, pydantic.Field(ge=1, le=1000)] = 1
    """Number of times."""
    interval_s: Delay = 2.0
    """Seconds from the end of one to the beginning of the next."""

    once: ClassVar[str] = ""
    """The key with the seconds that it takes each time; empty: it can be healed at once."""

    @property
    def length_s(self) -> float:
        if not self.once:
            return 0.0
        once_s: float = getattr(self, self.once)
        return self.times * once_s + (self.times - 1) * self.interval_s

    @property
    def repetition(self) -> str:
        return f", {self.times} times, {self.interval_s:g} s apart" if self.times > 1 else ""

    @property
    def words(self) -> Mapping[str, Any]:
        return {**dict(self), "repetition": self.repetition}


class Nemesis(Fault):
    """Faults that are drawn at random from the run's seed when the run is planned."""

    kind: Literal["nemesis"]
    draws: Annotated[int, pydantic.Field(ge=1, le=FAULTS_MAX)] = 6
    """Number of faults."""
    within_s: Delay = 20.0
    """The drawn faults begin within this time, in seconds, from the start of the load."""
    kinds: list[str] = []
    """Kinds to draw from; empty: all that the cluster and the subject allow."""

    may_restart_api_server = True


def role_objections(role: Role | Literal["driver"], run: Run) -> Iterator[str]:
    """Yield a sentence if the run does not start the processes of a role: only they can be hit."""
    if role == "driver":
        yield (
            "expected a driver that is a process of this run, got none: set subject.driver to "
            "'socket', or to a command"
        )
    elif role == "scheduler" and (foreign := run.foreign_schedulers):
        yield (
            f"expected schedulers that the run starts, got subject {foreign[0]!r}, whose process and "
            "connections belong to others: use --subject kube-scheduler, or remove the fault"
        )
    elif not run.processes[role]:
        is_external = run.foreign_controller == "external"
        whose = "another program is the" if is_external else "the cluster runs its own"
        yield (
            f"expected a role of this run, got {role!r}, but {whose} ResourceClaim controller: use "
            "--claim-controller python or kube-controller-manager on a cluster without it, or remove "
            "the fault"
        )


def seconds(least: float, most: float) -> Draw:
    return lambda dice: round(dice.uniform(least, most), 2)


def one_of(*choices: Any) -> Draw:
    return lambda dice: dice.choice(choices)


def whole(least: int, most: int) -> Draw:
    return lambda dice: dice.randint(least, most)


LASTING, LAG, PAUSE = seconds(0.5, 4.0), seconds(0.1, 1.5), seconds(0.5, 3.0)
"""How long drawn faults are on, how long they delay, and how long processes stand still."""
