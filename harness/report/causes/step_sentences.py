"""Steps of the subject as sentences: one table for explored and for recorded runs."""

from collections.abc import Callable, Mapping, Sequence

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
        return f"(no {key})"


def tell(steps: Sequence[records.Step], names: Names, *, origin_ns: int) -> list[tuple[int, str]]:
    """Return a sentence for each step that has one, with its time in milliseconds.

    Before it comes the number of the step, counted from 1.
    """
    return [
        (
            number,
            f"{_time(step, origin_ns)}: {sentence(step.thread, step.name, step.fields, names)}",
        )
        for number, step in enumerate(steps, start=1)
        if has_sentence(step.name, step.fields)
    ]


def _time(step: records.Step, origin_ns: int) -> str:
    return f"{(step.ts_ns - origin_ns) / 1e6:+,.3f} ms"


def has_sentence(name: str, fields: Fields) -> bool:
    """Return whether there is a sentence for a step."""
    return name in _PHRASES and str(fields.get("handler")) not in _SKIPPED_HANDLERS


def sentence(task: str, name: str, fields: Fields, names: Names) -> str:
    """Return the sentence of a step that has one."""
    return f"{_who(task)} {_PHRASES[name](_named(fields, names))}"


def _named(fields: Fields, names: Names) -> dict[str, str]:
    named = _Words({key: names.get(str(value), str(value)) for key, value in fields.items()})
    if "device" in named:
        named["device"] = named["device"].rpartition("/")[2]
    return named


def _who(task: str) -> str:
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


_PHRASES: dict[str, Callable[[dict[str, str]], str]] = {
    "scheduling.started": lambda f: f"takes {f['pod']}",
    "scheduling.unschedulable": lambda f: f"finds {f['pod']} unschedulable: {f['reason']}",
    "scheduling.failed": lambda f: f"fails to schedule {f['pod']}: {f['reason']}",
    "gather.devices.cloned": lambda f: f"copies the allocated devices ({f['count']})",
    "gather.in-flight.listed": lambda f: f"lists the claims in flight ({f['count']})",
    "gather.conflict": lambda _: "notices that they changed meanwhile and gathers again",
    "in-flight.added": lambda f: f"plans {f['device']} for {f['claim']}",
    "in-flight.kept": lambda f: f"keeps the first plan for {f['claim']}, not a further one",
    "in-flight.removed": lambda f: f"removes {f['claim']} from the claims in flight",
    "allocated-devices.inserted": lambda f: (
        f"adds {f['device']} of {f['claim']} to the allocated devices"
    ),
    "allocated-devices.removed": lambda f: (
        f"removes {f['device']} of {f['claim']} from the allocated devices"
    ),
    "assume-cache.event.popped": lambda f: (
        f"takes the event for version {f['version']} of {f['claim']} from the assume cache's queue"
    ),
    "pre-bind.written": lambda f: (
        f"receives the response that {f['claim']} is written, in version {f['version']}"
    ),
    "pre-bind.assumed": lambda f: f"adds {f['claim']} to the assume cache",
    "pre-bind.not-assumed": lambda f: f"cannot add {f['claim']} to the assume cache: {f['reason']}",
    "pre-bind.conflict": lambda f: f"gets a conflict when it writes {f['claim']}",
    "api.answer.lost": lambda f: (
        f"gets no response to {f['method']} {f['path']}, although it was committed"
    ),
    "api.request.lost": lambda f: (
        f"gets no response to {f['method']} {f['path']}, which never reached the server"
    ),
    "api.request.late": lambda f: (
        f"gets no response to {f['method']} {f['path']}, which is still under way"
    ),
    "api.request.arrived": lambda f: (
        f"reaches the server: {f['method']} {f['path']} is answered {f['status']}"
    ),
    "remedy.outcome-unknown": lambda f: (
        f"keeps {f['claim']} in flight, because the outcome of its write is unknown"
    ),
    "remedy.read": lambda f: f"reads {f['claim']} from the newest state",
    "remedy.fenced": lambda f: f"fences {f['claim']}, which gets version {f['version']}",
    "remedy.postponed": lambda f: f"cannot settle a claim yet: {f['reason']}",
    "remedy.listed": lambda f: (
        f"lists {f['count']} {f.get('resource', 'claims')} from the newest state"
    ),
    "remedy.settled": lambda f: f"has settled {f['claim']}, which is {f['fate']}",
    "remedy.reallocation-seen": lambda f: f"notices that the devices of {f['claim']} have changed",
    "remedy.took-over": lambda f: f"begins to lead, with {f['claims']} claims fenced",
    "remedy.name-taken": lambda f: f"finds that there is a claim {f['claim_name']} already",
    "remedy.pod-unseen": lambda f: (
        f"syncs claim {f['claim_name']} again later: it is reserved for pods that are not known yet"
    ),
    "remedy.write-refused": lambda f: (
        f"no longer leads and does not send {f['method']} {f['path']}"
    ),
    "bind.failed": lambda f: f"fails to bind {f['pod']}: {f['reason']}",
    "bind.unschedulable": lambda f: f"cannot bind {f['pod']} yet: {f['reason']}",
    "api.watch.broken": lambda f: f"loses its watch of {f['resource']}",
    "api.object.touched": lambda f: (
        f"meets another client, which changes {f.get('object', 'the object')} before {f['path']}"
    ),
    "filter.started": lambda f: f"filters {f['node']}",
    "post-filter.deallocating": lambda f: (
        f"frees the allocation of {f['claim']}, which no one uses"
    ),
    "slice-tracker.event.popped": lambda f: (
        f"takes the event for version {f['version']} of {f['slice']} from the slice tracker's queue"
    ),
    "controller.claim.created": lambda f: f"creates {f['claim']} for {f['pod']}",
    "controller.deallocated": lambda f: f"takes the device from {f['claim']}",
    "controller.failed": lambda f: f"fails to work on {f['key']}: {f['reason']}",
    "api.deletion.decided": lambda f: (
        f"asks to delete {f['path'].rpartition('/')[2]}, which has no finalizer as it is read"
    ),
    "client.claim.deleted": lambda f: f"deletes {f['claim_name']}",
    "driver.prepared": lambda f: f"has prepared {f['claim']} on {f['node']}",
    "driver.unprepare.started": lambda f: f"unprepares {f['claim']} on {f['node']}",
    "driver.unprepared": lambda f: f"has unprepared {f['claim']} on {f['node']}",
    "unreserve.started": lambda f: f"reverts the plan for {f['claim']}",
    "bind.done": lambda f: f"has bound {f['pod']}",
}
