"""The traffic profile `script`: objects, and the steps that happen to them in one order.

Whatever a step names is held at the API server, or in the fault proxy, until its turn has come;
everything else passes freely. So the order of the events of a race is commanded from outside, on
any program. Threads of a program in Go are held at its functions, too.
"""

import copy
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import pydantic

from harness import suggestions
from harness.model import naming, thread_places
from harness.scenario.fields import CheckName, Count, Name, Seconds, Spec

JOURNAL = "script"
"""Name of the process that plays the script, of its fault in plan and record, and of its files."""
STEPS_MAX, OBJECTS_MAX = 200, 100
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


def target(text: str) -> Target:
    """Return the parts of RESOURCE[/NAME[/SUBRESOURCE]]."""
    return Target(*text.split("/"))


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
        """The plural name of its resource."""
        return self.resources[self.kind]


class Step(Spec):
    """Keys of every step."""

    name: Name | None = None
    """Name by which later steps refer to it."""
    within_s: Deadline | None = None
    """Seconds for the step; left out: the script's `deadline_s`."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        raise NotImplementedError


class Create(Step):
    """A user creates an object of the script."""

    do: Literal["create"]
    """The kind of step."""
    object: ObjectName
    """Its name in `objects`."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        return f"a user creates {self.object}"


class Delete(Step):
    """A user deletes an object."""

    do: Literal["delete"]
    """The kind of step."""
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
        """The step, as a clause."""
        overlooking = ", and its finalizers are overlooked" * self.overlooks_finalizers
        return f"a user deletes {self.object}{' by force' * self.force}{overlooking}"


class Patch(Step):
    """A user patches an object."""

    do: Literal["patch"]
    """The kind of step."""
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
        """The step, as a clause."""
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
        """The parts of `of`."""
        return target(self.of)

    @property
    def verbs(self) -> tuple[str, ...]:
        """The verbs that it matches."""
        return (self.verb,) if self.verb else WRITES

    @property
    def what(self) -> str:
        """The request, as a noun phrase."""
        return f"{self.client}'s {self.verb or 'write'} of {self.of}"


class Request(Calls):
    """A request of a client is carried out; until then it is held."""

    do: Literal["request"]
    """The kind of step."""
    answer: Literal["sent", "lost", "cut", "held"] = "sent"
    """lost: the connection breaks before the answer; cut: in the middle of its body; held: until a
    step `answer`."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        more = "" if self.answer == "sent" else f", and the answer is {self.answer}"
        return f"{self.what} is carried out{more}"


class LostRequest(Calls):
    """A request of a client is lost before it is carried out; its connection breaks."""

    do: Literal["lose-request"]
    """The kind of step."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        return f"{self.what} is lost"


class RefusedRequest(Calls):
    """A request of a client is answered by an error, and not carried out."""

    do: Literal["refuse-request"]
    """The kind of step."""
    code: Annotated[int, pydantic.Field(ge=400, le=599)] = 409
    """HTTP status of the answer."""
    reason: str = "Conflict"
    """Reason in the Status."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        return f"{self.what} is refused with {self.code}"


class HeldRequest(Calls):
    """A request of a client has arrived; it is held.

    It is carried out at the step `arrive` that names this one.
    """

    do: Literal["hold-request"]
    """The kind of step."""
    name: Name
    """Name by which the step `arrive` refers to it."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        return f"{self.what} is under way"


class SeveredRequest(Calls):
    """The connection of a request breaks; the request itself is still under way.

    It is carried out at the step `arrive` that names this one.
    """

    do: Literal["sever-request"]
    """The kind of step."""
    name: Name
    """Name by which the step `arrive` refers to it."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        return f"the connection of {self.what} breaks, which is still under way"


class Late(Step):
    """A step about the request of an earlier step, which it names."""

    _what: str = pydantic.PrivateAttr("a request")

    def refer(self, earlier: Calls) -> None:
        """Tell the request as the earlier step does."""
        self._what = earlier.what


class Arrive(Late):
    """A request that was under way is carried out."""

    do: Literal["arrive"]
    """The kind of step."""
    request: Name
    """Name of the step `hold-request` or `sever-request`."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        return f"{self._what}, which was under way, is carried out"


class Answer(Late):
    """The answer that a step `request` has held is sent."""

    do: Literal["answer"]
    """The kind of step."""
    request: Name
    """Name of that step."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        return f"the answer to {self._what} is sent"


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
        """The parts of `events`."""
        return target(self.events)


class Deliver(Events):
    """Events that were held until now are delivered to a client."""

    do: Literal["deliver"]
    """The kind of step."""
    since: Name | None = None
    """Events are held from just before this step; left out: from the beginning. Those behind a held
    one on the same watch wait, too: events never overtake each other."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        return f"{self.client} receives the events of {self.events}"


class EndWatch(Events):
    """A watch of a client ends instead of delivering an event: its next one, or a held one."""

    do: Literal["end-watch"]
    """The kind of step."""
    since: Name | None = None
    """Events are held from just before this step, and the watch ends at the step itself, so that
    none of them is delivered. Left out: the watch ends at its next event from now on, for which
    the script does not wait."""
    how: Literal["closed", "gone"] = "gone"
    """closed: the client watches on from the version that it knows; gone: it is answered 410, and
    lists again."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
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
    """The kind of step."""
    name: Name
    """Name by which the step `release-thread` refers to it."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        return f"a thread of {self.client} is held at the {self.at}"


class PassThread(OfThread):
    """A thread has passed a place."""

    do: Literal["pass-thread"]
    """The kind of step."""
    at_most_s: Deadline | None = None
    """Go on after these seconds in any case, as when only a program with the defect gets so far."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        at_most = f", or {self.at_most_s:g} s pass" if self.at_most_s else ""
        return f"a thread of {self.client} passes the {self.at}{at_most}"


class ReleaseThread(Step):
    """A thread that is held goes on."""

    do: Literal["release-thread"]
    """The kind of step."""
    hold: Name
    """Name of the step `hold-thread`."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        return f"the thread that is held since {self.hold} goes on"


class HeldVisit(NamedTuple):
    """A visit of a place in a try at which a thread is held."""

    at: str
    visit: int


class TryOrders(Step):
    """All objects of the script are created and deleted many times, each time in another order of
    the program's threads.

    A try ends when all pods are bound, or after `try_s`. Threads are held at visits of places until
    nothing else happens.
    """

    do: Literal["try-orders"]
    """The kind of step."""
    client: str
    """As in `hold-thread`."""
    functions: list[str] = []
    """Functions whose beginnings and returns are places, as in `hold-thread`; none: those of the
    program's own module whose names speak of claims, devices, allocations, caches and the like."""
    tries: Annotated[int, pydantic.Field(ge=1, le=100_000)] = 1000
    """Most orders that are tried."""
    seconds: Annotated[float, pydantic.Field(gt=0, le=86_400)] = 60.0
    """Time for all tries."""
    try_s: Deadline = 2.5
    """Time for one try."""
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

    @property
    def text(self) -> str:
        """The step, as a clause."""
        return f"orders of threads of {self.client} are tried"


class ChangeProcess(Step):
    """A process is killed, stopped, paused or resumed."""

    do: Literal["kill", "stop", "pause", "resume"]
    """kill: SIGKILL; stop: SIGTERM; pause: SIGSTOP; resume: SIGCONT."""
    process: str
    """Its name, of the newest one `scheduler.2` if it was started again."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        ended = {"kill": "killed", "stop": "stopped", "pause": "paused", "resume": "resumed"}
        return f"{self.process} is {ended[self.do]}"


class Start(Step):
    """A process is started once more; its name becomes `scheduler.2`, then `scheduler.3`."""

    do: Literal["start"]
    """The kind of step."""
    process: str
    """The name under which it was started first."""
    ready: bool = True
    """false: do not wait until it watches pods and claims, because steps hold its first lists."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        return f"another {self.process} is started"


class Await(Step):
    """An object has to be in a state."""

    do: Literal["await"]
    """The kind of step."""
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
        """The step, as a clause."""
        at_most = f", or {self.at_most_s:g} s pass" if self.at_most_s else ""
        return f"{self.object} is {self.state}{at_most}"


class Wait(Step):
    """Time passes."""

    do: Literal["wait"]
    """The kind of step."""
    seconds: Deadline
    """How much."""

    @property
    def text(self) -> str:
        """The step, as a clause."""
        return f"{self.seconds:g} s pass"


AnyStep: TypeAlias = Annotated[
    Create
    | Delete
    | Patch
    | Request
    | LostRequest
    | RefusedRequest
    | HeldRequest
    | SeveredRequest
    | Arrive
    | Answer
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
    """The kind of traffic."""
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
        """Return the longest time that a script can take that is followed, in seconds."""
        return sum(self.time_of(step) for step in self.steps)

    def time_of(self, step: Step) -> float:
        """Return the seconds in which a step has to happen."""
        own_s = step.within_s or self.deadline_s
        if isinstance(step, TryOrders):
            return step.seconds + own_s
        if isinstance(step, Await | PassThread):
            return step.at_most_s or own_s
        return own_s + step.seconds if isinstance(step, Wait) else own_s

    def object_named(self, name: str) -> ScriptObject:
        """Return the object of this name. Raises KeyError if there is none."""
        return {item.name: item for item in self.objects}[name]

    @property
    def clients(self) -> list[str]:
        """The clients whose requests or events the script holds, and those that it starts."""
        named = [step.client for step in self.steps if isinstance(step, OfClient)]
        return list(dict.fromkeys([*named, *self.searched, *self.started]))

    @property
    def searched(self) -> list[str]:
        """The clients whose orders of threads are tried, some of whose calls wait, too."""
        return [step.client for step in self.steps if isinstance(step, TryOrders)]

    @property
    def started(self) -> list[str]:
        """The names of the processes that the script starts, in order."""
        firsts = [step.process for step in self.steps if isinstance(step, Start)]
        return [
            naming.incarnation(name, firsts[: index + 1].count(name) + 1)
            for index, name in enumerate(firsts)
        ]

    @property
    def named_processes(self) -> list[str]:
        """The processes that the script names, by the names under which they were started first."""
        changed = [step.process for step in self.steps if isinstance(step, ChangeProcess | Start)]
        named = [*self.clients, *self.traced, *changed]
        return list(dict.fromkeys(map(naming.first_incarnation, named)))

    @property
    def traced(self) -> list[str]:
        """The processes whose threads the script holds."""
        steps = [step for step in self.steps if isinstance(step, OfThread | TryOrders)]
        return list(dict.fromkeys(step.client for step in steps))

    @property
    def of_threads(self) -> list[OfThread]:
        """The steps about threads."""
        return [step for step in self.steps if isinstance(step, OfThread)]

    @pydantic.model_validator(mode="after")
    def _require_consistent(self) -> Self:
        for problem in (*self._of_objects(), *self._of_names(), *self._of_processes()):
            raise ValueError(problem)
        return self

    def _of_objects(self) -> Iterator[str]:
        names = [item.name for item in self.objects]
        for name in names:
            if names.count(name) > 1:
                yield f"objects: expected different names, got {name!r} twice"
        for number, step in enumerate(self.steps, start=1):
            wanted = getattr(step, "object", "")
            if wanted and wanted not in names and "/" not in wanted:
                yield (
                    f"steps: expected step {number} ({step.do}) to name an object of the script, "
                    f"got {wanted!r}."
                    f"{suggestions.did_you_mean(wanted, names)}"
                )

    def _of_names(self) -> Iterator[str]:
        seen: dict[str, Step] = {}
        for number, step in enumerate(self.steps, start=1):
            where = f"steps: expected step {number} ({step.do})"
            since, request = getattr(step, "since", None), getattr(step, "request", None)
            held = getattr(step, "hold", None)
            for name in filter(None, (since, request, held)):
                if name not in seen:
                    yield f"{where} to refer to the name of an earlier step, got {name!r}"
            before = seen.get(request) if request else None
            is_late = isinstance(before, HeldRequest | SeveredRequest)
            if isinstance(step, Arrive) and before and not is_late:
                yield f"{where} to name a step hold-request or sever-request, got {request!r}"
            if held in seen and not isinstance(seen[held], HoldThread):
                yield f"{where} to name a step hold-thread, got {held!r}"
            if isinstance(step, Late) and isinstance(before, Calls):
                step.refer(before)
            if isinstance(step, Answer) and before and getattr(before, "answer", "") != "held":
                yield f'{where} to name a step request with answer = "held", got {request!r}'
            if step.name in seen:
                yield f"steps: expected different names, got {step.name!r} twice"
            if step.name:
                seen[step.name] = step

    def _of_processes(self) -> Iterator[str]:
        """Yield steps that name an incarnation that the script has not started by then."""
        running: list[str] = []
        for number, step in enumerate(self.steps, start=1):
            if isinstance(step, Start):
                count = 2 + sum(naming.first_incarnation(one) == step.process for one in running)
                running.append(naming.incarnation(step.process, count))
            named = getattr(step, "client", "") or getattr(step, "process", "")
            is_later = naming.first_incarnation(named) != named
            is_client = isinstance(step, OfClient | OfThread)
            known = [*running, *self.started] if is_client else running
            if is_later and named not in known:
                yield (
                    f"steps: expected step {number} ({step.do}) to name a process that runs, got "
                    f"{named!r}, which no earlier step starts"
                )
