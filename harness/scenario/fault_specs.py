"""The `[[faults]]` of a scenario: what breaks, for whom, when, and for how long.

Faults of traffic apply to API calls and watch events of a role. Faults of objects, processes and
the API server are injected by the run itself.
"""

from typing import Annotated, Literal, TypeAlias

import pydantic

from harness.scenario.fields import Name, PositiveCount, Probability, Seconds, Spec

Role = Literal["scheduler", "claim-controller", "kubelet", "load", "recorder"]
"""`scheduler`: all schedulers of the run; `load`: the Locust workers; `recorder`: the observer
whose record is judged, so that a fault of it makes the verdict UNKNOWN."""
Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
EventType = Literal["ADDED", "MODIFIED", "DELETED"]
Delay = Annotated[float, pydantic.Field(gt=0, le=3600)]
"""Seconds."""
FAULTS_MAX = 64
"""Maximum number of faults in a scenario."""


class TargetSpec(Spec):
    """The calls or watches that a fault applies to; every condition must hold."""

    role: Role = "scheduler"
    """The processes whose calls are hit."""
    verbs: list[Verb] = []
    """Verbs; empty: those that the kind of fault can apply to."""
    resource: str = ""
    """Plural name of the resource, as in `resourceclaims`; empty: any."""
    subresource: str | None = None
    """Name of the subresource, as in `status`; empty: calls of the object itself only; left out:
    any."""
    name: str = ""
    """Shell pattern for the object's name, as in `claim-*`; empty: any."""


class StartSpec(Spec):
    """Start a fault when another one has taken effect."""

    fault: Name
    """Name of the other fault."""
    applied: PositiveCount = 1
    """Number of times that it must have taken effect."""


class _Fault(Spec):
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


class _TrafficFault(_Fault):
    """Keys of faults that apply to API calls and watch events."""

    on: TargetSpec = TargetSpec()
    """The calls or watches that are hit."""
    skip: Annotated[int, pydantic.Field(ge=0, le=1_000_000)] = 0
    """Number of matching calls or events to pass over first."""
    every: Annotated[int, pydantic.Field(ge=1, le=1_000_000)] = 1
    """Hit each n-th matching call or event after those; 1: all."""
    times: PositiveCount | None = None
    """Hit at most this many; left out: no limit."""
    probability: Probability = 1.0
    """Probability of hitting one that the other keys select; drawn from the run's seed."""
    duration_s: Delay | None = None
    """Seconds until the fault is healed; left out: until the load has ended."""


class LoseRequest(_TrafficFault):
    """The connection closes before the API server receives the request: nothing is committed."""

    kind: Literal["lose-request"]


class LoseResponse(_TrafficFault):
    """The connection closes after the commit, before the response: the outcome is unknown."""

    kind: Literal["lose-response"]


class DelayRequest(_TrafficFault):
    """The request reaches the API server late, even if its sender has died meanwhile."""

    kind: Literal["delay-request"]
    seconds: Delay
    """Delay in seconds."""


class DelayResponse(_TrafficFault):
    """The response of a committed request arrives late."""

    kind: Literal["delay-response"]
    seconds: Delay
    """Delay in seconds."""


class RejectRequest(_TrafficFault):
    """The request is answered with an error and not carried out."""

    kind: Literal["reject"]
    code: Literal[409, 429, 500, 503, 504]
    """HTTP status code."""
    retry_after_s: Annotated[int, pydantic.Field(ge=1, le=3600)] | None = None
    """Retry-After header in seconds; left out: no such header."""


class TruncateResponse(_TrafficFault):
    """The connection is reset in the middle of the response's body."""

    kind: Literal["truncate-response"]


class StaleRead(_TrafficFault):
    """A get or list shows the state of some seconds ago, as an API server's watch cache may."""

    kind: Literal["stale-list"]
    seconds: Delay
    """Age of the state in seconds."""


class OverlookFinalizers(_TrafficFault):
    """A deletion is decided from the state of some seconds ago: newer finalizers are not seen.

    kube-apiserver does it within milliseconds. Only the embedded API server can be made to.
    """

    kind: Literal["overlook-finalizers"]
    seconds: Delay
    """Age of the state in seconds; an object without finalizers since then is removed at once."""


class DelayEvents(_TrafficFault):
    """Watch events arrive late, in their order."""

    kind: Literal["delay-events"]
    seconds: Delay
    """Lag in seconds."""
    event_types: list[EventType] = []
    """Types of events that are delayed, with all later ones of the watch; empty: all."""


class DropWatch(_TrafficFault):
    """The watch's connection closes before an event."""

    kind: Literal["drop-watch"]


class ExpireWatch(_TrafficFault):
    """The watch ends with 410, so that the client must list again."""

    kind: Literal["expire-watch"]


class StarveBookmarks(_TrafficFault):
    """Watches get no bookmarks."""

    kind: Literal["starve-bookmarks"]


class TouchObjects(_Fault):
    """Another client changes an annotation of objects, so that concurrent updates conflict."""

    kind: Literal["touch-objects"]
    resource: Literal["resourceclaims", "pods", "nodes", "resourceslices"]
    """Plural name of the resource."""
    object_name: str = "*"
    """Shell pattern for the names of the objects."""
    rate_per_s: Annotated[float, pydantic.Field(gt=0, le=10_000)] = 50.0
    """Changes per second, of all objects in turn."""
    duration_s: Delay | None = None
    """Seconds until the fault is healed; left out: until the load has ended."""


class _RepeatedFault(_Fault):
    """Keys of faults that the run repeats."""

    times: Annotated[int, pydantic.Field(ge=1, le=1000)] = 1
    """Number of times."""
    interval_s: Delay = 2.0
    """Seconds from the end of one to the beginning of the next."""


class ReallocateClaims(_RepeatedFault):
    """Another writer moves claims: it frees a device and allocates a free one, in two writes."""

    kind: Literal["reallocate-claims"]


class RestartApiServer(_RepeatedFault):
    """The API server ends and starts again on its data."""

    kind: Literal["restart-api-server"]
    kill: bool = False
    """End it with SIGKILL instead of in an orderly way."""
    down_s: Seconds = 0.5
    """Seconds between its end and its new start."""


class ProcessFault(_RepeatedFault):
    """Base of faults of one process of the run."""

    role: Literal["scheduler", "claim-controller", "kubelet"] = "scheduler"
    """The process; of several schedulers, the leader if they elect one, otherwise the first."""


class KillProcess(ProcessFault):
    """A process ends with SIGKILL and is started again."""

    kind: Literal["kill-process"]
    down_s: Seconds = 0.5
    """Seconds until it is started again."""


class RestartProcess(ProcessFault):
    """A process ends with SIGTERM, in an orderly way, and is started again."""

    kind: Literal["restart-process"]
    down_s: Seconds = 0.0
    """Seconds until it is started again."""


class PauseProcess(ProcessFault):
    """A process stops (SIGSTOP) and continues later (SIGCONT), as after a long pause of its host.

    It does not notice that time has passed.
    """

    kind: Literal["pause-process"]
    seconds: Delay
    """Length of the pause in seconds."""


class LoseNode(_RepeatedFault):
    """The last node is lost: its kubelet is killed, and its pods are deleted by force."""

    kind: Literal["lose-node"]
    down_s: Seconds = 2.0
    """Seconds until it comes back with another kubelet process; its containers run on
    meanwhile."""
    comes_back: bool = True
    """false: it never does, and is removed with its ResourceSlices; `times` is 1 then."""


class TakeOver(_Fault):
    """Another scheduler is started and replaces the first, as after a lost leader election."""

    kind: Literal["take-over"]
    ends: Literal["kill", "terminate", "pause"] = "kill"
    """How the first scheduler ends: SIGKILL, SIGTERM, or SIGSTOP until the end of the load,
    after which it continues beside its successor."""
    overlap_s: Seconds = 0.0
    """Seconds by which the second one starts before the first one ends; 0: it starts
    afterwards."""


class PluginFault(_Fault):
    """A fault of another package (`flake_hunt.faults`), which acts as a client of the cluster."""

    kind: Literal["plugin"]
    plugin: Name
    """Name of the plug-in; `flake-hunt plugins` lists them."""
    parameters: dict[str, str | int | float | bool] = {}
    """Values for the plug-in; it documents them."""
    duration_s: Delay | None = None
    """Seconds until the plug-in has to undo it; left out: when it is done, or the load has
    ended."""


class Nemesis(_Fault):
    """Faults that are drawn at random from the run's seed when the run is planned."""

    kind: Literal["nemesis"]
    draws: Annotated[int, pydantic.Field(ge=1, le=FAULTS_MAX)] = 6
    """Number of faults."""
    within_s: Delay = 20.0
    """The drawn faults begin within this time, in seconds, from the start of the load."""
    kinds: list[str] = []
    """Kinds to draw from; empty: all that the cluster and the subject allow."""


TrafficFault: TypeAlias = (
    LoseRequest
    | LoseResponse
    | DelayRequest
    | DelayResponse
    | RejectRequest
    | TruncateResponse
    | StaleRead
    | OverlookFinalizers
    | DelayEvents
    | DropWatch
    | ExpireWatch
    | StarveBookmarks
)
RunFault: TypeAlias = (
    TouchObjects
    | ReallocateClaims
    | RestartApiServer
    | KillProcess
    | RestartProcess
    | PauseProcess
    | LoseNode
    | TakeOver
    | PluginFault
)
AnyFault: TypeAlias = Annotated[
    TrafficFault | RunFault | Nemesis, pydantic.Field(discriminator="kind")
]
