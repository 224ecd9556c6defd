"""The traffic profile `script`: objects, and the steps that happen to them in one order.

Whatever a step names is held at the API server, or in the fault proxy, until its turn has come;
everything else passes freely. So the order of the events of a race is commanded from outside, on
any program. Threads of a program in Go are held at its functions, too.
"""

import copy
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import pydantic

from harness import suggestions
from harness.model import naming, thread_places
from harness.scenario.fields import CheckName, Count, Name, Seconds, Spec

JOURNAL = naming.SCRIPT
STEPS_MAX, OBJECTS_MAX = 200, 100
TRY_S = 2.5
"""Time for a try of an order, in seconds."""
WRITES = ("create", "update", "patch", "delete", "deletecollection")
"""The verbs that a step matches unless it names one."""
Deadline = Annotated[float, pydantic.Field(gt=0, le=600)]
Manifest: TypeAlias = dict[str, Any]
State = Literal[
    "exists",
    "gone",
    "bound",
    "running",
    "finished",
    "allocated",
    "deallocated",
    "reserved",
    "unreserved",
]
Verb = Literal["get", "list", "create", "update", "patch", "delete", "deletecollection"]


class Target(NamedTuple):
    """The calls or objects that a step names: RESOURCE[/NAME[/SUBRESOURCE]], as shell patterns."""

    resource: str
    name: str = ""
    subresource: str = ""
    """Name of the subresource that is patched; empty: the object itself."""


TargetText = Annotated[str, pydantic.Field(pattern=r"^[a-z]+(/[^/\s]+(/[a-z]+)?)?$")]
"""RESOURCE[/NAME[/SUBRESOURCE]], as in `resourceclaims/claim-1/status`."""
EventsText = Annotated[str, pydantic.Field(pattern=r"^[a-z]+(/[^/\s]+)?$")]
"""RESOURCE[/NAME], as in `resourceclaims/claim-1`."""
ObjectName = Annotated[str, pydantic.Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$")]


class ScriptObject(Spec):
    """An object of the script; a step creates it."""

    kind: Literal["Pod", "ResourceClaim", "ResourceClaimTemplate"]
    """Its kind."""
    name: ObjectName
    """Different for all objects of the script, whatever their kind."""
    claim: Count = 0
    """ResourceClaim, ResourceClaimTemplate: which of the scenario's kinds of claims it is, counted
    from 0."""
    claims: list[ObjectName] = []
    """Pod: an entry for each of these claims; a name may stand here twice."""
    templates: list[ObjectName] = []
    """Pod: an entry for each of these templates, after those of `claims`."""
    extended: bool = False
    """Pod: its container asks for the extended resource of the device class, `claim.devices`
    times."""
    scheduler: Count = 0
    """Pod: which of the subject's schedulers it is for, counted from 0."""
    node: str = ""
    """Pod: it is bound to this node from the beginning; empty: a scheduler binds it."""
    runs_s: Seconds | None = None
    """Pod: its container ends by itself after these seconds; left out: never."""
    spec: Manifest = {}
    """Keys that are added to the spec, or replace its own."""

    resources: ClassVar[dict[str, str]] = {
        "Pod": "pods",
        "ResourceClaim": "resourceclaims",
        "ResourceClaimTemplate": "resourceclaimtemplates",
    }

    @property
    def resource(self) -> str:
        return self.resources[self.kind]


class Step(Spec):
    """Keys of every step."""

    name: Name | None = None
    """Name by which later steps refer to it."""
    within_s: Deadline | None = None
    """Seconds for the step; left out: the script's `deadline_s`."""

    says: ClassVar[str] = ""
    """The step as a clause, with any of its keys."""

    @property
    def text(self) -> str:
        return self.says.format(self=self)


class Create(Step):
    """A user creates an object of the script."""

    do: Literal["create"]
    object: ObjectName
    """Its name in `objects`."""

    says = "a user creates {self.object}"


class Delete(Step):
    """A user deletes an object."""

    do: Literal["delete"]
    object: str
    """An object of the script, or RESOURCE/NAME with a shell pattern, as in
    `resourceclaims/pod-1-*`."""
    force: bool = False
    """With a grace period of zero seconds."""
    overlooks_finalizers: bool = False
    """The API server decides it from an older state, and removes the object in spite of its newer
    finalizers, as kube-apiserver does within milliseconds. Only the embedded API server can be made
    to; with any other one the step does not happen."""

    @property
    def text(self) -> str:
        overlooking = ", and its finalizers are overlooked" * self.overlooks_finalizers
        return f"a user deletes {self.object}{' by force' * self.force}{overlooking}"


class Patch(Step):
    """A user patches an object."""

    do: Literal["patch"]
    object: str
    """As in `delete`."""
    patch: Manifest = {}
    """A JSON merge patch."""
    remove: list[str] = []
    """Keys that are removed, with a dot below each other, as in `status.allocation`: TOML has no
    null."""
    subresource: str = ""
    """Name of the subresource that is patched; empty: the object itself."""

    @property
    def document(self) -> Manifest:
        """The JSON merge patch, with null for each key that is removed."""
        made: Manifest = copy.deepcopy(self.patch)
        for path in self.remove:
            *parents, last = path.split(".")
            table = made
            for key in parents:
                table = table.setdefault(key, {})
            table[last] = None
        return made

    @property
    def text(self) -> str:
        return f"a user patches {'/'.join(filter(None, [self.object, self.subresource]))}"


class Calls(Step):
    """Keys of steps about a request of a client."""

    client: str
    """Process that makes it: `scheduler`, `scheduler-2`, `claim-controller`, `kubelet`; a process
    that was started again has a name of its own, `scheduler.2`."""
    of: TargetText
    """The request: RESOURCE[/NAME[/SUBRESOURCE]], with shell patterns. Without a name it matches
    any object, without a subresource only requests of the object itself."""
    verb: Verb | None = None
    """Its verb; left out: any write."""
    since: Name | None = None
    """Requests are held from just before this step; left out: from the beginning."""

    @property
    def target(self) -> Target:
        return Target(*self.of.split("/"))

    @property
    def verbs(self) -> tuple[str, ...]:
        return (self.verb,) if self.verb else WRITES

    @property
    def what(self) -> str:
        return f"{self.client}'s {self.verb or 'write'} of {self.of}"


class Request(Calls):
    """A request of a client is carried out; until then it is held."""

    do: Literal["request"]
    answer: Literal["sent", "lost", "cut", "held"] = "sent"
    """lost: the connection breaks before the answer; cut: in the middle of its body; held: until a
    step `answer`."""

    @property
    def text(self) -> str:
        more = "" if self.answer == "sent" else f", and the answer is {self.answer}"
        return f"{self.what} is carried out{more}"


class LostRequest(Calls):
    """A request of a client is lost before it is carried out; its connection breaks."""

    do: Literal["lose-request"]

    says = "{self.what} is lost"


class RefusedRequest(Calls):
    """A request of a client is answered by an error, and not carried out."""

    do: Literal["refuse-request"]
    code: Annotated[int, pydantic.Field(ge=400, le=599)] = 409
    """HTTP status of the answer."""
    reason: str = "Conflict"
    """Reason in the Status."""

    says = "{self.what} is refused with {self.code}"


class LateRequest(Calls):
    """A request of a client has arrived, and is carried out only at the step `arrive` that names
    this one."""

    do: Literal["hold-request", "sever-request"]
    """hold-request: its connection waits; sever-request: its connection breaks meanwhile."""
    name: Name
    """Name by which the step `arrive` refers to it."""

    @property
    def text(self) -> str:
        if self.do == "hold-request":
            return f"{self.what} is under way"
        return f"the connection of {self.what} breaks, which is still under way"


class Late(Step):
    """A request that was under way is carried out, or the answer that was held is sent."""

    do: Literal["arrive", "answer"]
    """arrive: the request; answer: the answer."""
    request: Name
    """Name of the step `hold-request` or `sever-request`, or of the step `request` that holds its
    answer."""

    _what: str = pydantic.PrivateAttr("a request")

    def refer(self, earlier: Calls) -> None:
        self._what = earlier.what

    @property
    def text(self) -> str:
        if self.do == "answer":
            return f"the answer to {self._what} is sent"
        return f"{self._what}, which was under way, is carried out"


class Events(Step):
    """Keys of steps about the watches of a client."""

    client: str
    """As in `request`."""
    events: EventsText
    """RESOURCE[/NAME], with shell patterns."""
    since: Name | None = None
    """Step before which it begins."""

    @property
    def target(self) -> Target:
        return Target(*self.events.split("/"))


class Deliver(Events):
    """Events that were held until now are delivered to a client."""

    do: Literal["deliver"]
    since: Name | None = None
    """Events are held from just before this step; left out: from the beginning. Those behind a held
    one on the same watch wait, too: events never overtake each other."""

    says = "{self.client} receives the events of {self.events}"


class EndWatch(Events):
    """A watch of a client ends instead of delivering an event: its next one, or a held one."""

    do: Literal["end-watch"]
    since: Name | None = None
    """Events are held from just before this step, and the watch ends at the step itself, so that
    none of them is delivered. Left out: the watch ends at its next event from now on, for which
    the script does not wait."""
    how: Literal["closed", "gone"] = "gone"
    """closed: the client watches on from the version that it knows; gone: it is answered 410, and
    lists again."""

    @property
    def text(self) -> str:
        end = {"closed": "closed", "gone": "ended by 410"}[self.how]
        place = "the events that were held" if self.since else "an event"
        return f"{self.client}'s watch of {self.events} is {end} instead of {place}"


def _require_place(text: str) -> str:
    if thread_places.parse(text).point == "step":
        raise ValueError(
            f"expected a place as {thread_places.FORMS}, got {text!r}: steps have a key"
        )
    return text


class OfThread(Step):
    """Keys of steps about a thread of a program in Go, which comes to a place."""

    client: str
    """Process of the thread, as in `request`."""
    at: Annotated[str, pydantic.AfterValidator(_require_place)]
    """`entry of F [called by G]` or `return of F [to G]`; F and G are the ends of functions' names,
    with `*` for any characters and `|` between alternatives."""
    step: str = ""
    """The place in the Python scheduler, instead of `at`: a named step, such as
    `gather.devices.cloned`; empty: the script is none for it."""
    visit: Annotated[int, pydantic.Field(ge=1, le=100_000)] = 1
    """Which visit of the place it is."""
    since: Name | None = None
    """Visits count from just before this step; left out: from the first step."""


class HoldThread(OfThread):
    """A thread has come to a place, and is held there until a step `release-thread`."""

    do: Literal["hold-thread"]
    name: Name
    """Name by which the step `release-thread` refers to it."""

    says = "a thread of {self.client} is held at the {self.at}"


class PassThread(OfThread):
    """A thread has passed a place."""

    do: Literal["pass-thread"]
    at_most_s: Deadline | None = None
    """Go on after these seconds in any case, as when only a program with the defect gets so far."""

    @property
    def text(self) -> str:
        at_most = f", or {self.at_most_s:g} s pass" if self.at_most_s else ""
        return f"a thread of {self.client} passes the {self.at}{at_most}"


class ReleaseThread(Step):
    """A thread that is held goes on."""

    do: Literal["release-thread"]
    hold: Name
    """Name of the step `hold-thread`."""

    says = "the thread that is held since {self.hold} goes on"


class HeldVisit(NamedTuple):
    """A visit of a place in a try at which a thread is held."""

    at: str
    visit: int


class TryOrders(Step):
    """All objects of the script are created and deleted many times, each time in another order of
    the program's threads.

    A try ends when all pods are bound, or after some seconds. Threads are held at visits of places
    until nothing else happens.
    """

    do: Literal["try-orders"]
    client: str
    """As in `hold-thread`."""
    functions: list[str] = []
    """Functions whose beginnings and returns are places, as in `hold-thread`; none: those of the
    program's own module whose names speak of claims, devices, allocations, caches and the like."""
    tries: Annotated[int, pydantic.Field(ge=1, le=100_000)] = 1000
    """Most orders that are tried."""
    seconds: Annotated[float, pydantic.Field(gt=0, le=86_400)] = 60.0
    """Time for all tries."""
    depth: Annotated[int, pydantic.Field(ge=0, le=20)] = 3
    """Most threads that are held in a try; 0: none is."""
    chosen: list[list[HeldVisit]] = []
    """Hold threads at these visits, each list in its turn; none: they are drawn."""
    waits: Literal["drawn", "", "request", "answer", "event"] = "drawn"
    """The calls or events that wait for a moment: status writes of claims, their answers, or events
    of claims."""
    stops: bool = True
    """Repeat an order that gave a device to two claims at once, and end if it does so in half of
    its repetitions."""

    says = "orders of threads of {self.client} are tried"


class ChangeProcess(Step):
    """A process is killed, stopped, paused or resumed."""

    do: Literal["kill", "stop", "pause", "resume"]
    """kill: SIGKILL; stop: SIGTERM; pause: SIGSTOP; resume: SIGCONT."""
    process: str
    """Its name, of the newest one `scheduler.2` if it was started again."""

    @property
    def text(self) -> str:
        ended = {"kill": "killed", "stop": "stopped", "pause": "paused", "resume": "resumed"}
        return f"{self.process} is {ended[self.do]}"


class Start(Step):
    """A process is started once more; its name becomes `scheduler.2`, then `scheduler.3`."""

    do: Literal["start"]
    process: str
    """The name under which it was started first."""
    ready: bool = True
    """false: do not wait until it watches pods and claims, because steps hold its first lists."""

    says = "another {self.process} is started"


class Await(Step):
    """An object has to be in a state."""

    do: Literal["await"]
    object: str
    """As in `delete`."""
    state: State
    """`gone` and `exists` of any object; `bound`, `running` and `finished` of a pod; `allocated`,
    `deallocated`, `reserved` and `unreserved` of a claim."""
    at_most_s: Deadline | None = None
    """Go on after these seconds in any case, as when only a program with the defect gets so far;
    left out: the state has to be reached."""

    @property
    def text(self) -> str:
        at_most = f", or {self.at_most_s:g} s pass" if self.at_most_s else ""
        return f"{self.object} is {self.state}{at_most}"


class Wait(Step):
    """Time passes."""

    do: Literal["wait"]
    seconds: Deadline
    """How much."""

    says = "{self.seconds:g} s pass"


AnyStep: TypeAlias = Annotated[
    Create
    | Delete
    | Patch
    | Request
    | LostRequest
    | RefusedRequest
    | LateRequest
    | Late
    | Deliver
    | EndWatch
    | HoldThread
    | PassThread
    | ReleaseThread
    | TryOrders
    | ChangeProcess
    | Start
    | Await
    | Wait,
    pydantic.Field(discriminator="do"),
]
OfClient: TypeAlias = Calls | Events
"""Steps that name a client."""


class ScriptTraffic(Spec):
    """No load: objects, and the steps of one course of events."""

    profile: Literal["script"]
    expects: list[CheckName] = []
    """Names of the checks that find the violation, if the program has the defect."""
    deadline_s: Deadline = 10.0
    """Seconds in which each step has to happen, after the one before; if one does not, the rest is
    not played, and the run is UNKNOWN unless a violation stands."""
    objects: Annotated[list[ScriptObject], pydantic.Field(max_length=OBJECTS_MAX)] = []
    """The objects that users create."""
    steps: Annotated[list[AnyStep], pydantic.Field(min_length=1, max_length=STEPS_MAX)]
    """The steps, in their order."""

    users: ClassVar[int] = 0
    processes: ClassVar[int] = 0
    process_names: ClassVar[list[str]] = [JOURNAL]
    """Name of its journal of API calls."""

    @property
    def longest_s(self) -> float:
        return sum(self.time_of(step) for step in self.steps)

    def time_of(self, step: Step) -> float:
        own_s = step.within_s or self.deadline_s
        if isinstance(step, TryOrders):
            return step.seconds + own_s
        if isinstance(step, Await | PassThread):
            return step.at_most_s or own_s
        return own_s + step.seconds if isinstance(step, Wait) else own_s

    def object_named(self, name: str) -> ScriptObject:
        return {item.name: item for item in self.objects}[name]

    @property
    def clients(self) -> list[str]:
        """The clients whose requests or events the script holds, and those that it starts."""
        named = [step.client for step in self.steps if isinstance(step, OfClient)]
        return list(dict.fromkeys([*named, *self.searched, *self.started]))

    @property
    def searched(self) -> list[str]:
        return [step.client for step in self.steps if isinstance(step, TryOrders)]

    @property
    def started(self) -> list[str]:
        firsts = [step.process for step in self.steps if isinstance(step, Start)]
        return [
            naming.incarnation(name, firsts[: index + 1].count(name) + 1)
            for index, name in enumerate(firsts)
        ]

    @property
    def named_processes(self) -> list[str]:
        changed = [step.process for step in self.steps if isinstance(step, ChangeProcess | Start)]
        named = [*self.clients, *self.traced, *changed]
        return list(dict.fromkeys(map(naming.first_incarnation, named)))

    @property
    def traced(self) -> list[str]:
        steps = [step for step in self.steps if isinstance(step, OfThread | TryOrders)]
        return list(dict.fromkeys(step.client for step in steps))

    @property
    def of_threads(self) -> list[OfThread]:
        return [step for step in self.steps if isinstance(step, OfThread)]

    @pydantic.model_validator(mode="after")
    def _require_consistent(self) -> Self:
        names = [item.name for item in self.objects]
        if doubled := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"objects: expected different names, got {doubled[0]!r} twice")
        earlier: dict[str, AnyStep] = {}
        for number, step in enumerate(self.steps, start=1):
            for problem in self._problems(number, step, earlier):
                raise ValueError(f"steps: expected step {number} ({step.do}) to {problem}")
            if step.name:
                earlier[step.name] = step
        return self

    def _problems(
        self, number: int, step: AnyStep, earlier: Mapping[str, AnyStep]
    ) -> Iterator[str]:
        wanted, objects = getattr(step, "object", ""), [item.name for item in self.objects]
        if wanted and wanted not in objects and "/" not in wanted:
            near = suggestions.did_you_mean(wanted, objects)
            yield f"name an object of the script, got {wanted!r}.{near}"
        if step.name in earlier:
            yield f"have a name of its own, got {step.name!r}"
        for key in ("since", "request", "hold"):
            name = getattr(step, key, None)
            if name and name not in earlier:
                yield f"refer to the name of an earlier step, got {name!r}"
            elif name:
                yield from _of_reference(step, earlier[name])
        # A client may be one that a later step starts: its calls are held from the beginning.
        process = getattr(step, "client", "") or getattr(step, "process", "")
        until = len(self.steps) if isinstance(step, OfClient | OfThread) else number
        starts = sum(isinstance(one, Start) for one in self.steps[:until])
        is_later = naming.first_incarnation(process) != process
        if is_later and process not in self.started[:starts]:
            yield f"name a process that runs, got {process!r}, which no earlier step starts"


def _of_reference(step: AnyStep, before: AnyStep) -> Iterator[str]:
    match step:
        case Late(do="arrive") if not isinstance(before, LateRequest):
            yield f"name a step hold-request or sever-request, got {before.name!r}"
        case Late(do="answer") if getattr(before, "answer", "") != "held":
            yield f'name a step request with answer = "held", got {before.name!r}'
        case ReleaseThread() if not isinstance(before, HoldThread):
            yield f"name a step hold-thread, got {before.name!r}"
        case Late() if isinstance(before, Calls):
            step.refer(before)
