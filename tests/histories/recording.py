"""The records of a recorder about API objects: first lists, an event for each commit, final lists.

Commits count resourceVersions from 1, as the words of the language do; the recorded objects get
them.
"""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from harness.history import records
from tests.histories import language

Object = dict[str, Any]
SLICES, CLASSES, NODES = "resourceslices", "deviceclasses", "nodes"
RESOURCES = (language.CLAIMS, language.PODS, SLICES)


@dataclasses.dataclass(frozen=True, slots=True)
class Commit:
    """A version of an object."""

    resource: str
    object: Object
    gone: bool = False
    """The commit deletes the object."""


def claim(value: Object, **options: Any) -> Commit:
    return Commit(language.CLAIMS, value, **options)


def pod(value: Object, **options: Any) -> Commit:
    return Commit(language.PODS, value, **options)


def piece(value: Object, **options: Any) -> Commit:
    return Commit(SLICES, value, **options)


def record(commits: Sequence[Commit], resources: Sequence[str] = RESOURCES) -> list[records.Body]:
    """The records of a recorder that saw everything: these resources, and those of the commits."""
    resources = list(dict.fromkeys([*resources, *(commit.resource for commit in commits)]))
    live: dict[str, dict[str, records.Observation]] = {name: {} for name in resources}
    body: list[records.Body] = [language.listed(name, "first", 0) for name in resources]
    for version, commit in enumerate(commits, start=1):
        meta = commit.object["metadata"] | {"resourceVersion": str(version)}
        uid, known = meta["uid"], live[commit.resource]
        kind = "DELETED" if commit.gone else "MODIFIED" if uid in known else "ADDED"
        value = {**commit.object, "metadata": meta}
        known[uid] = language.observation(commit.resource, version, value, kind)
        body.append(known[uid])
        if commit.gone:
            del known[uid]
    return [*body, *_final(live, len(commits))]


def _final(live: dict[str, dict[str, records.Observation]], version: int) -> Iterator[records.Body]:
    for resource, objects in live.items():
        yield language.listed(resource, "final", version, len(objects))
        for seen in objects.values():
            yield msgspec.structs.replace(seen, type="FINAL", ts_ns=language.at(version))


def created(body: Sequence[records.Body]) -> list[tuple[str, str, str, int]]:
    """Every claim and pod that was created: resource, name, uid, resourceVersion."""
    found = []
    for item in body:
        if isinstance(item, records.Observation) and item.type == "ADDED":
            meta = json.loads(bytes(item.object))["metadata"]
            if item.resource in (language.CLAIMS, language.PODS):
                found.append((item.resource, meta["name"], meta["uid"], item.resource_version))
    return found
