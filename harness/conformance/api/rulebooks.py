"""The format of the rules: groups of rules, rules of steps, steps of a request and expectations.

A step is a YAML mapping with one key, the request: `POST configmaps`, `GET configmaps/{name}`,
`WATCH pods`, `EVENTS w`. Its value has the fields of `Step` as keys: the contents of the request
and the expected response. `{name}` is a name that no other rule uses, `{as.path}` a value of an
earlier response.
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
"""The features that rules may require; `requirements` detects them."""
_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Ten times as fast as the one of `safe_load`, where PyYAML has it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request and the expectations of its response."""

    verb: str
    target: str
    """`resource[/name[/subresource]]`, a URL path, or for EVENTS the label of a watch."""
    query: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    body: Any = None
    """A document, the name of a template, or an earlier response (`{first}`); None: no body."""
    changes: Any = None
    """A merge patch that is applied to the body (key `with`)."""
    text: str | None = None
    """A body that is not JSON, instead of `body`."""
    patch: str = ""
    """One of PATCHES if the body is a patch (the key is then the patch type)."""
    label: str = ""
    """The name by which later steps refer to the response or the watch (key `as`)."""
    gives: int = 0
    """The expected status; 0: any success."""
    reason: str = ""
    """The expected reason of a `Status` (`gives: 409 Conflict`)."""
    says: str = ""
    """A regular expression that the message of a `Status` must contain."""
    has: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """The expected values at paths of the response."""
    lacks: Sequence[str] = ()
    """The paths that must be absent."""
    matches: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Regular expressions that the texts at paths must contain."""
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """The expected lengths of the lists or objects at paths."""
    differs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Values that the values at paths, which must be set, must differ from."""
    above: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Integers that the integers at paths must exceed."""
    events: Sequence[str] = ()
    """The next events on the watch, each as `TYPE name` (EVENTS only)."""
    within_s: float = 0.0
    """Time limit in seconds for retries until the response is as expected; 0: no retries."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One documented behaviour."""

    group: str
    name: str
    steps: Sequence[Step]
    needs: str = ""
    """The feature that the server must have for the rule to apply: one of NEEDS, "" for none."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The rules of one subject: one file."""

    name: str
    about: str
    rules: Sequence[Rule]


@functools.cache
def groups() -> tuple[Group, ...]:
    """Return all groups, sorted by file name."""
    folder = importlib.resources.files(__package__).joinpath(FOLDER).iterdir()
    files = [file for file in folder if file.name.endswith(".yaml") and file.name != TEMPLATES]
    return tuple(parse(file.read_text("utf-8")) for file in sorted(files, key=lambda f: f.name))


@functools.cache
def templates() -> Mapping[str, Any]:
    """Return the documents that rules use as bodies, by name."""
    file = importlib.resources.files(__package__).joinpath(FOLDER, TEMPLATES)
    document: Mapping[str, Any] = yaml.load(file.read_text("utf-8"), Loader=_Loader)  # noqa: S506
    return document


def parse(text: str) -> Group:
    """Return a group from YAML. Raises HarnessError for an unknown key, verb or requirement."""
    document = yaml.load(text, Loader=_Loader)  # noqa: S506
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
    """Split `409 Conflict` into status and reason; the reason may be missing."""
    status, _, reason = str(value).partition(" ")
    return {"gives": int(status), "reason": reason}


def _require(condition: object, what: str, got: object) -> None:
    if not condition:
        raise errors.HarnessError(
            f"a rule cannot be read: expected {what} to be known, got {got!r}"
        )
