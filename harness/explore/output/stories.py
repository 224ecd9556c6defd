"""A failing run told in numbered sentences."""

from collections.abc import Callable, Mapping, Sequence

from harness.explore.search import explored_run

Fields = Mapping[str, object]
Names = Mapping[str, str]
"""uid -> the name of a claim or pod"""


def tell(moments: Sequence[explored_run.StoryStep], names: Names, finding: str) -> list[str]:
    """One sentence for each step that matters, in order, and what they lead to."""
    sentences = []
    for moment in moments:
        if is_told(moment):
            phrase = _PHRASES[moment.name]
            sentences.append(f"{_who(moment.task)} {phrase(_named(moment.fields, names))}")
    return [*sentences, f"therefore {finding}"]


def is_told(moment: explored_run.StoryStep) -> bool:
    """Whether the story has a sentence for it."""
    return moment.name in _PHRASES and moment.fields.get("handler") not in _UNTOLD_HANDLERS


def _named(fields: Fields, names: Names) -> dict[str, str]:
    found = {key: names.get(str(value), str(value)) for key, value in fields.items()}
    found["device"] = found.get("device", "").rpartition("/")[2]
    return found


def _who(task: str) -> str:
    kind, _, number = task.partition("-")
    match kind:
        case "scheduling":
            return "the scheduler"
        case "binder":
            return f"binder {number}"
        case "informer":
            return f"the informer of {number}"
    return task


_UNTOLD_HANDLERS = frozenset({"_ClaimEvents"})
"""What they do has no part in a double allocation: they make pods be tried again."""
_PHRASES: dict[str, Callable[[dict[str, str]], str]] = {
    "scheduling.started": lambda f: f"takes {f['pod']}",
    "scheduling.unschedulable": lambda f: f"puts {f['pod']} aside: {f['reason']}",
    "gather.devices.cloned": lambda f: f"copies the allocated devices: {f['count']} of them",
    "gather.in-flight.listed": lambda f: f"lists the claims in flight: {f['count']} of them",
    "gather.conflict": lambda _: "sees that they changed meanwhile, and gathers again",
    "in-flight.added": lambda f: f"plans {f['device']} for {f['claim']}",
    "in-flight.removed": lambda f: f"takes {f['claim']} out of the claims in flight",
    "allocated-devices.inserted": lambda f: (
        f"puts {f['device']} of {f['claim']} among the allocated devices"
    ),
    "allocated-devices.removed": lambda f: (
        f"takes {f['device']} of {f['claim']} out of the allocated devices"
    ),
    "assume-cache.event.popped": lambda f: (
        f"takes the event that {f['claim']} has version {f['version']} from the assume cache's queue, to deliver it"
    ),
    "pre-bind.written": lambda f: (
        f"has the answer that {f['claim']} is written, in version {f['version']}"
    ),
    "pre-bind.assumed": lambda f: f"has told the assume cache of {f['claim']}",
    "pre-bind.not-assumed": lambda f: (
        f"cannot tell the assume cache of {f['claim']}: {f['reason']}"
    ),
    "pre-bind.conflict": lambda f: f"meets a conflict when it writes {f['claim']}",
    "api.answer.lost": lambda f: f"gets no answer to {f['method']} {f['path']}, though it was done",
    "bind.failed": lambda f: f"gives up {f['pod']}: {f['reason']}",
    "api.watch.broken": lambda f: f"loses its watch of {f['resource']}",
    "unreserve.started": lambda f: f"undoes what was planned for {f['claim']}",
    "bind.done": lambda f: f"has bound {f['pod']}",
}
