"""Steps of the subject as sentences: one table for explored and for recorded runs."""

from collections.abc import Mapping, Sequence

from harness.history import records

Fields = Mapping[str, object]
Names = Mapping[str, str]
"""Maps uid to the name of a claim or pod."""
_FIRST = "scheduler"
"""Process whose name is left out; a later or further one is named."""
_SKIPPED_HANDLERS = frozenset({"ClaimEvents", "ObjectEvents"})
"""Event handlers that only cause pods to be retried, which no double allocation depends on."""


class _Words(dict[str, str]):
    """Fields as text; a field that a step lacks is shown as such."""

    def __missing__(self, key: str) -> str:
        return {"resource": "claims", "object": "the object"}.get(key, f"(no {key})")


def tell(steps: Sequence[records.Step], names: Names, *, origin_ns: int) -> list[tuple[int, str]]:
    """Return a sentence for each step that has one, with its time in milliseconds.

    Before it comes the number of the step, counted from 1.
    """
    told = (
        (number, step.ts_ns, sentence(step.thread, step.name, step.fields, names))
        for number, step in enumerate(steps, start=1)
        if has_sentence(step.name, step.fields)
    )
    return [(number, f"{(at - origin_ns) / 1e6:+,.3f} ms: {text}") for number, at, text in told]


def has_sentence(name: str, fields: Fields) -> bool:
    return name in _PHRASES and str(fields.get("handler")) not in _SKIPPED_HANDLERS


def sentence(task: str, name: str, fields: Fields, names: Names) -> str:
    return f"{who(task)} {_PHRASES[name].format_map(_named(fields, names))}"


def _named(fields: Fields, names: Names) -> _Words:
    named = _Words({key: names.get(str(value), str(value)) for key, value in fields.items()})
    if "device" in named:
        named["device"] = named["device"].rpartition("/")[2]
    named["name"] = named["path"].rpartition("/")[2]
    return named


def who(task: str) -> str:
    """Return the name of a thread, which may have its process before it."""
    process, _, thread = task.rpartition("/")
    kind, _, number = thread.partition("-")
    within = f" of {process}" if process not in ("", _FIRST) else ""
    match kind:
        case "scheduling":
            return f"the scheduler{within}"
        case "binder":
            return f"binder {number}{within}"
        case "informer":
            return f"the informer of {number}{within}"
    return task


_PHRASES = {
    "scheduling.started": "takes {pod}",
    "scheduling.unschedulable": "finds {pod} unschedulable: {reason}",
    "scheduling.failed": "fails to schedule {pod}: {reason}",
    "gather.devices.cloned": "copies the allocated devices ({count})",
    "gather.in-flight.listed": "lists the claims in flight ({count})",
    "gather.conflict": "notices that they changed meanwhile and gathers again",
    "in-flight.added": "plans {device} for {claim}",
    "in-flight.kept": "keeps the first plan for {claim}, not a further one",
    "in-flight.removed": "removes {claim} from the claims in flight",
    "allocated-devices.inserted": "adds {device} of {claim} to the allocated devices",
    "allocated-devices.removed": "removes {device} of {claim} from the allocated devices",
    "assume-cache.event.popped": "takes the event for version {version} of {claim} from the assume cache's queue",
    "pre-bind.written": "receives the response that {claim} is written, in version {version}",
    "pre-bind.assumed": "adds {claim} to the assume cache",
    "pre-bind.not-assumed": "cannot add {claim} to the assume cache: {reason}",
    "pre-bind.conflict": "gets a conflict when it writes {claim}",
    "api.answer.lost": "gets no response to {method} {path}, although it was committed",
    "api.request.lost": "gets no response to {method} {path}, which never reached the server",
    "api.request.late": "gets no response to {method} {path}, which is still under way",
    "api.request.arrived": "reaches the server: {method} {path} is answered {status}",
    "remedy.outcome-unknown": "keeps {claim} in flight, because the outcome of its write is unknown",
    "remedy.read": "reads {claim} from the newest state",
    "remedy.fenced": "fences {claim}, which gets version {version}",
    "remedy.postponed": "cannot settle a claim yet: {reason}",
    "remedy.listed": "lists {count} {resource} from the newest state",
    "remedy.settled": "has settled {claim}, which is {fate}",
    "remedy.not-restored": "leaves {claim} as it was written in the assume cache",
    "remedy.reallocation-seen": "notices that the devices of {claim} have changed",
    "remedy.took-over": "begins to lead, with {claims} claims fenced",
    "remedy.name-taken": "finds that there is a claim {claim_name} already",
    "remedy.pod-unseen": "syncs claim {claim_name} again later: it is reserved for pods that are not known yet",
    "remedy.binding-unknown": "does not know whether {pod} is bound: {reason}",
    "remedy.pod-read": "reads {pod} from the newest state",
    "remedy.binding-open": "still does not know whether {pod} is bound: {reason}",
    "remedy.binding-known": "knows that {pod} is bound",
    "remedy.write-refused": "no longer leads and does not send {method} {path}",
    "bind.failed": "fails to bind {pod}: {reason}",
    "bind.unschedulable": "cannot bind {pod} yet: {reason}",
    "api.watch.broken": "loses its watch of {resource}",
    "api.object.touched": "meets another client, which changes {object} before {path}",
    "filter.started": "filters {node}",
    "post-filter.deallocating": "frees the allocation of {claim}, which no one uses",
    "slice-tracker.event.popped": "takes the event for version {version} of {slice} from the slice tracker's queue",
    "controller.claim.created": "creates {claim} for {pod}",
    "controller.deallocated": "takes the device from {claim}",
    "controller.failed": "fails to work on {key}: {reason}",
    "api.deletion.decided": "asks to delete {name}, which has no finalizer as it is read",
    "client.claim.deleted": "deletes {claim_name}",
    "driver.prepared": "has prepared {claim} on {node}",
    "driver.unprepare.started": "unprepares {claim} on {node}",
    "driver.unprepared": "has unprepared {claim} on {node}",
    "unreserve.started": "reverts the plan for {claim}",
    "bind.done": "has bound {pod}",
}
"""Step -> what the thread does; the names in braces are fields."""
