"""The rules as they are written down: groups of rules, rules of steps, steps of a request and what is expected of its answer.

A step is one YAML mapping whose only key is the request: `POST configmaps`, `GET configmaps/{name}`, `WATCH pods`, `EVENTS w`. Its value says
what goes with it and what has to come back; the fields of `Step` are its keys. `{name}` is a name that no other rule uses,
`{as.path}` a value of an earlier answer.
"""

import dataclasses
import functools
import importlib.resources
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from harness import errors

FOLDER = "rules"
TEMPLATES = "templates.yaml"
VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE", "WATCH", "EVENTS")
PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
NEEDS = ("forgotten-past", "garbage-collector", "resource.k8s.io")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request and what is expected of its answer."""

    verb: str
    target: str
    """A resource with what follows it, a whole path, or (EVENTS) the name of a watch."""
    query: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    body: Any = None
    """A document, the name of a template, or an earlier answer (`{first}`)."""
    changes: Any = None
    """`with`: a merge patch on the body."""
    text: str | None = None
    """A body that is no document."""
    patch: str = ""
    """One of PATCHES, when the body is a patch."""
    label: str = ""
    """`as`: what later steps call the answer (or the watch)."""
    gives: int = 0
    """The expected status; 0: any success."""
    reason: str = ""
    """The expected reason of a Status."""
    says: str = ""
    """A pattern that the message of a Status contains."""
    has: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Values at paths of the answer."""
    lacks: Sequence[str] = ()
    """Paths at which there is nothing."""
    matches: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Patterns of texts at paths."""
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Lengths of lists at paths."""
    differs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Values that must not be at paths."""
    above: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Integers than which those at paths are greater."""
    events: Sequence[str] = ()
    """EVENTS: what comes next on the watch, each as `TYPE name`."""
    within_s: float = 0.0
    """Ask again for so long until the answer is as expected."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing that is documented."""

    group: str
    name: str
    steps: Sequence[Step]
    needs: str = ""
    """What the server must have for the rule to apply: one of NEEDS."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rules about one matter."""

    name: str
    about: str
    rules: Sequence[Rule]


@functools.cache
def groups() -> tuple[Group, ...]:
    """All of them, by name."""
    files = importlib.resources.files(__package__).joinpath(FOLDER).iterdir()
    found = [file for file in files if file.name.endswith(".yaml") and file.name != TEMPLATES]
    return tuple(parse(file.read_text("utf-8")) for file in sorted(found, key=lambda f: f.name))


@functools.cache
def templates() -> Mapping[str, Any]:
    """The documents that rules start from, by name."""
    file = importlib.resources.files(__package__).joinpath(FOLDER, TEMPLATES)
    document: Mapping[str, Any] = yaml.safe_load(file.read_text("utf-8"))
    return document


def parse(text: str) -> Group:
    """A group from YAML; HarnessError when it says something that is not understood."""
    document = yaml.safe_load(text)
    name, about, needs = document["group"], document["about"], document.get("needs", "")
    rules = [_rule(name, needs, entry) for entry in document["rules"]]
    return Group(name=name, about=about, rules=tuple(rules))


def _rule(group: str, needs: str, entry: Mapping[str, Any]) -> Rule:
    _require(entry.keys() <= {"rule", "needs", "steps"}, f"a rule of {group}", sorted(entry))
    needs = entry.get("needs", needs)
    _require(needs in ("", *NEEDS), f"needs of {entry['rule']!r}", needs)
    steps = tuple(_step(entry["rule"], step) for step in entry["steps"])
    return Rule(group=group, name=entry["rule"], steps=steps, needs=needs)


def _step(rule: str, entry: Mapping[str, Any]) -> Step:
    _require(len(entry) == 1, f"one request in each step of {rule!r}", sorted(entry))
    ((request, details),) = entry.items()
    verb, _, target = request.partition(" ")
    _require(verb in VERBS, f"a verb in {rule!r}", verb)
    fields = dict(details or {})
    for key, name in (("as", "label"), ("with", "changes")):
        if key in fields:
            fields[name] = fields.pop(key)
    for patch in PATCHES.keys() & fields.keys():
        fields |= {"patch": patch, "body": fields.pop(patch)}
    fields |= _gives(fields.get("gives", 0))
    known = {field.name for field in dataclasses.fields(Step)} - {"verb", "target"}
    _require(fields.keys() <= known, f"the keys of {request!r} in {rule!r}", sorted(fields))
    return Step(verb=verb, target=target, **fields)


def _gives(value: int | str) -> dict[str, Any]:
    """`409`, or `409 Conflict`."""
    status, _, reason = str(value).partition(" ")
    return {"gives": int(status), "reason": reason}


def _require(condition: object, what: str, got: object) -> None:
    if not condition:
        raise errors.HarnessError(
            f"a rule cannot be read: expected {what} to be known, got {got!r}"
        )
