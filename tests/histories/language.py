"""A tiny language for histories: one line of text is what happened to the claims of one run.

Each word is one commit, and commits count resourceVersions from 1:

    a+D1        claim a takes device D1 (the first word about a claim creates it)
    a+D1!       … with admin access
    a+D1%       … a share of it
    a-D1        a lets go of D1
    a=D1,D2!    a's allocation is now exactly this; `a=` holds nothing
    a|D1        a takes D1 without the finalizer, which otherwise comes and goes with the devices
    a^p         a is reserved for pod p; `a^p#u`: for a pod p with the UID `uid-u`
    a/p         a is not reserved for p any more
    a<p         a was generated for pod p; `a<p:x`: for its entry x
    a!          the deletion of a is asked for
    a~          a is deleted; another word about a makes a new claim of that name
    p:a,?       pod p is there, names claim a, and gets another one from a template (`?x`: entry x)
    p?a         the status of p names a as its generated claim; `p?a:x`: for its entry x
    p>n         p is bound to node n
    p*          p is seen Running
    p$          p has ended
    p~          p is gone
    .           something else is committed; `.9`: nine other things

    /KIND:a     a fault of this kind takes effect on claim a in its newest version, and is over
    /KIND:a>9   … and is over at resourceVersion 9; `>` without a number: it never is
    /KIND:a<2   … it began at resourceVersion 2 and is over now
    /KIND:=p    … on process p
    /KIND:@2    … on a list of claims that shows resourceVersion 2

    [ … ]       a gap: the recorder misses the claims' commits in it and lists again at its end
    [ …         a gap after which the recorder never lists again

So `a+D1 b+D1 a-D1 b-D1` gives D1 away twice, at resourceVersion 2, and both hold it until 3; in
`a+D1 [ a-D1 b+D1 ]` the recorder only knows that a held D1 until the gap began, and that b held it
when it ended.

The text says what is true. `parse` gives the commits, `observe` what a recorder writes down of
them, `fault_words.applications` what the record of the faults says.
"""

import collections
import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from harness.history import records
from harness.model import devices
from tests.histories.words import pod_words

NAMESPACE, DRIVER, POOL = "tests", "gpu.example", "pool"
CLAIMS, PODS, EVENTS = "resourceclaims", "pods", "events"
FINALIZER = "resource.kubernetes.io/delete-protection"
GENERATED = "resource.kubernetes.io/pod-claim-name"
START_NS, COMMIT_NS = 5_000_000_000, 1_000_000
"""Times are made up: a millisecond for each commit."""

_COMMIT = re.compile(r"(?P<name>[a-z]\w*)(?P<verb>[-+=|^/<!~:?>*$])(?P<rest>\S*)")
_MANY = re.compile(r"\.(?P<count>[1-9]\d*)")
_FAULT = re.compile(
    r"/(?P<kind>[a-z-]+):(?:=(?P<process>[\w-]+)|@(?P<listed>\d+)|(?P<claim>\w+))(?:(?P<edge>[<>])(?P<rv>\d*))?"
)
_DEVICE = re.compile(r"(?P<name>D\d+)(?P<how>[!%]?)")
Names = Mapping[str, str]


class LanguageError(ValueError):
    """A history that says nothing sensible."""


@dataclasses.dataclass(frozen=True, slots=True)
class Take:
    """A device and how it is taken."""

    device: str
    admin: bool = False
    share: bool = False

    @property
    def exclusive(self) -> bool:
        """Return whether only one claim may hold it at a time."""
        return not (self.admin or self.share)


@dataclasses.dataclass(frozen=True, slots=True)
class Commit:
    """One word."""

    rv: int
    name: str
    """Of the claim or pod; empty for something else."""
    verb: str
    takes: tuple[Take, ...] = ()
    pod: str = ""
    """The rest of a word that is about no devices."""

    @property
    def ts_ns(self) -> int:
        return at(self.rv)


@dataclasses.dataclass(frozen=True, slots=True)
class Edge:
    """`[` or `]`."""

    opens: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A word that begins with a slash."""

    kind: str
    claim: str = ""
    process: str = ""
    listed_rv: int = 0
    begun_ns: int
    ended_ns: int | None


Item = Commit | Edge | Fault


def at(rv: int) -> int:
    return START_NS + rv * COMMIT_NS


def after(rv: int) -> int:
    """The time of a fault between this resourceVersion and the next one."""
    return at(rv) + COMMIT_NS // 2


def device_id(name: str, names: Names | None = None) -> str:
    return str(devices.DeviceID(DRIVER, POOL, (names or {}).get(name, name)))


def parse(text: str) -> list[Item]:
    """The words in order; LanguageError names the one that says nothing."""
    items: list[Item] = []
    rv, inside = 0, False
    for word in text.split():
        if word in "[]":
            if inside is (word == "["):
                raise LanguageError(f"expected gaps one after the other, got {word!r} in {text!r}")
            inside = not inside
            items.append(Edge(inside))
        elif word.startswith("/"):
            items.append(_fault(word, rv))
        else:
            many = _MANY.fullmatch(word)
            rv += int(many["count"]) if many else 1
            items.append(_commit("." if many else word, rv))
    return items


def commits(text: str) -> list[Commit]:
    """Only what was committed, seen or not."""
    return [item for item in parse(text) if isinstance(item, Commit)]


def _commit(word: str, rv: int) -> Commit:
    if word == ".":
        return Commit(rv, "", ".")
    match = _COMMIT.fullmatch(word)
    if match is None:
        raise LanguageError(f"expected a word of the language, got {word!r}")
    name, verb, rest = match["name"], match["verb"], match["rest"]
    if verb in "^/<:?>" and rest:
        return Commit(rv, name, verb, pod=rest)
    if verb in "~*$!" and not rest:
        return Commit(rv, name, verb)
    if verb in "+-=|" and (rest or verb == "="):
        return Commit(rv, name, verb, tuple(map(_take, rest.split(",") if rest else ())))
    raise LanguageError(f"expected a word of the language, got {word!r}")


def _fault(word: str, rv: int) -> Fault:
    match = _FAULT.fullmatch(word)
    if match is None or (match["edge"] == "<" and not match["rv"]):
        raise LanguageError(f"expected a fault like /lose-response:a, got {word!r}")
    edge = match["edge"]
    other = after(int(match["rv"])) if match["rv"] else None
    return Fault(
        kind=match["kind"],
        claim=match["claim"] or "",
        process=match["process"] or "",
        listed_rv=int(match["listed"] or 0),
        begun_ns=other if edge == "<" and other is not None else after(rv),
        ended_ns=other if edge == ">" else after(rv),
    )


def _take(text: str) -> Take:
    match = _DEVICE.fullmatch(text)
    if match is None:
        raise LanguageError(f"expected a device like D1, D1! or D1%, got {text!r}")
    return Take(match["name"], admin=match["how"] == "!", share=match["how"] == "%")


# --------------------------------------------------------------------------------- what is true


@dataclasses.dataclass(slots=True)
class _Claim:
    name: str
    uid: str
    takes: dict[str, Take] = dataclasses.field(default_factory=dict)
    pods: dict[str, str] = dataclasses.field(default_factory=dict)
    """UIDs of the pods that it is reserved for -> their names."""
    owner: tuple[str, str, str] | None = None
    """Name and UID of the pod that it was generated for, and the entry."""
    is_bare: bool = False
    is_deleting: bool = False


class World:
    """All objects as they are after the commits so far."""

    def __init__(self, names: Names, resources: Iterable[str] = (CLAIMS, PODS)) -> None:
        self._names = names
        self._claims: dict[str, _Claim] = {}
        self._lives: collections.Counter[str] = collections.Counter()
        self._pods = pod_words.Pods()
        self.objects: dict[str, dict[str, records.Observation]] = {name: {} for name in resources}
        """resource -> uid -> the latest state"""
        self.created: list[tuple[str, str, str, int]] = []
        """resource, name, uid, rv"""

    def commit(self, commit: Commit) -> records.Observation | None:
        """The event of a commit; None for something else."""
        match commit.verb:
            case "." if EVENTS in self.objects:
                name = f"event-{commit.rv}"
                meta = self._meta(name, f"uid-{name}", commit.rv)
                return self._put(EVENTS, commit, {"metadata": meta})
            case ".":
                return None
            case "~":
                return self._delete(commit)
            case verb if verb in pod_words.VERBS:
                return self._put_pod(commit)
            case _:
                return self._put_claim(commit)

    def _put_pod(self, commit: Commit) -> records.Observation:
        pod = self._pods.change(commit.name, commit.verb, commit.pod)
        return self._put(PODS, commit, pod.document(commit.rv, self._named(commit.name)))

    def _delete(self, commit: Commit) -> records.Observation:
        if commit.name in self._pods:
            pod = self._pods.remove(commit.name)
            del self.objects[PODS][pod.uid]
            last = pod.document(commit.rv, self._named(commit.name))
            return observation(PODS, commit.rv, last, "DELETED")
        claim = self._claims.pop(commit.name, None)
        if claim is None:
            raise LanguageError(f"{commit.name}~ at {commit.rv}: there is no such claim")
        del self.objects[CLAIMS][claim.uid]
        return observation(CLAIMS, commit.rv, self._object(claim, commit.rv), "DELETED")

    def _put_claim(self, commit: Commit) -> records.Observation:
        claim = self._claims.get(commit.name) or self._born(commit.name)
        match commit.verb:
            case "=":
                claim.takes = {take.device: take for take in commit.takes}
            case "+" | "|":
                claim.takes |= {take.device: take for take in commit.takes}
                claim.is_bare = commit.verb == "|"
            case "-":
                for take in commit.takes:
                    if claim.takes.pop(take.device, None) is None:
                        raise LanguageError(f"{commit.name}-{take.device} at {commit.rv}: not held")
            case "!":
                claim.is_deleting = True
            case "<":
                pod, _, entry = commit.pod.partition(":")
                claim.owner = pod, self._pods.uid(pod), entry or pod_words.ENTRY
            case _:
                self._reserve(claim, commit)
        return self._put(CLAIMS, commit, self._object(claim, commit.rv))

    def _reserve(self, claim: _Claim, commit: Commit) -> None:
        pod, _, uid = commit.pod.partition("#")
        uid = f"uid-{uid}" if uid else self._pods.uid(pod)
        if commit.verb == "^":
            claim.pods[uid] = pod
        elif claim.pods.pop(uid, None) is None:
            raise LanguageError(f"{commit.name}/{commit.pod} at {commit.rv}: not reserved")

    def _born(self, name: str) -> _Claim:
        self._lives[name] += 1
        life = "" if self._lives[name] == 1 else f"-{self._lives[name]}"
        return self._claims.setdefault(name, _Claim(name, f"uid-{name}{life}"))

    def _put(self, resource: str, commit: Commit, value: dict[str, Any]) -> records.Observation:
        meta = value["metadata"]
        is_new = meta["uid"] not in self.objects[resource]
        if is_new:
            self.created.append((resource, meta["name"], meta["uid"], commit.rv))
        seen = observation(resource, commit.rv, value, "ADDED" if is_new else "MODIFIED")
        self.objects[resource][meta["uid"]] = seen
        return seen

    def _object(self, claim: _Claim, rv: int) -> dict[str, Any]:
        status: dict[str, Any] = {}
        if claim.takes:
            results = [self._result(take) for take in claim.takes.values()]
            status["allocation"] = {"devices": {"results": results}}
        if claim.pods:
            status["reservedFor"] = [
                {"resource": PODS, "name": self._named(pod), "uid": uid}
                for uid, pod in claim.pods.items()
            ]
        meta = self._meta(claim.name, claim.uid, rv) | self._more(claim)
        return {"metadata": meta, "status": status}

    def _more(self, claim: _Claim) -> dict[str, Any]:
        """The metadata that not every claim has."""
        more: dict[str, Any] = {}
        if claim.takes and not claim.is_bare:
            more["finalizers"] = [FINALIZER]
        if claim.is_deleting:
            more["deletionTimestamp"] = "2026-01-31T00:00:00Z"
        if claim.owner is not None:
            name, uid, entry = claim.owner
            owner = {"kind": "Pod", "name": self._named(name), "uid": uid, "controller": True}
            more["ownerReferences"] = [owner]
            more["annotations"] = {GENERATED: entry}
        return more

    def _result(self, take: Take) -> dict[str, Any]:
        result: dict[str, Any] = {
            "request": "device",
            "driver": DRIVER,
            "pool": POOL,
            "device": self._named(take.device),
        }
        if take.admin:
            result["adminAccess"] = True
        if take.share:
            result["shareID"] = "share"
        return result

    def _meta(self, name: str, uid: str, rv: int) -> dict[str, Any]:
        named = self._named(name)
        return {"name": named, "namespace": NAMESPACE, "uid": uid, "resourceVersion": str(rv)}

    def _named(self, name: str) -> str:
        return self._names.get(name, name)


def observation(
    resource: str,
    rv: int,
    value: Mapping[str, Any],
    kind: Any = "MODIFIED",
    ts_ns: int | None = None,
) -> records.Observation:
    """The record of a version of an object, which gets its resourceVersion unless it has one."""
    meta = {
        **value["metadata"],
        "resourceVersion": value["metadata"].get("resourceVersion", str(rv)),
    }
    return records.Observation(
        resource=resource,
        type=kind,
        resource_version=rv,
        ts_ns=at(rv) if ts_ns is None else ts_ns,
        object=msgspec.Raw(json.dumps({**value, "metadata": meta}).encode()),
    )


def listed(
    resource: str, purpose: Any, rv: int, count: int = 0, ts_ns: int | None = None
) -> records.Listed:
    """The record of a list: `first`, `relist` or `final`."""
    return records.Listed(
        resource=resource,
        purpose=purpose,
        resource_version=rv,
        count=count,
        ts_ns=at(rv) if ts_ns is None else ts_ns,
    )


def gap(resource: str, after_rv: int, ts_ns: int | None = None) -> records.Gap:
    """The record of a gap in a watch."""
    return records.Gap(
        resource=resource,
        after_resource_version=after_rv,
        reason="410 Expired: too old",
        ts_ns=at(after_rv) if ts_ns is None else ts_ns,
    )


def edited(item: records.Body, change: Callable[[Any], object]) -> records.Observation:
    """The record of an object that was changed."""
    assert isinstance(item, records.Observation)
    value = json.loads(bytes(item.object))
    change(value)
    return msgspec.structs.replace(item, object=msgspec.Raw(json.dumps(value).encode()))


def replaced(
    body: Iterable[records.Body], old: str, new: str, *, resource: str = ""
) -> list[records.Body]:
    """The records with another text in the objects, or only in those of a resource."""
    return [
        msgspec.structs.replace(
            item, object=msgspec.Raw(bytes(item.object).replace(old.encode(), new.encode()))
        )
        if isinstance(item, records.Observation) and resource in ("", item.resource)
        else item
        for item in body
    ]


def created(text: str, *, names: Names | None = None) -> list[tuple[str, str, str, int]]:
    """Every claim and pod that was created: resource, name, uid, resourceVersion."""
    world = World(names or {})
    for commit in commits(text):
        world.commit(commit)
    return world.created


# ------------------------------------------------------------------------- what the recorder sees


def observe(
    text: str, *, names: Names | None = None, resources: Iterable[str] = (CLAIMS, PODS)
) -> list[records.Body]:
    """Return the records of a history, from the first lists to the final ones.

    `names` renames. With EVENTS among the resources, each `.` is an event.
    """
    return list(_Recorder(World(names or {}, resources)).record(parse(text)))


class _Recorder:
    """Sees the commits of a world, but not the claims' ones in a gap."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rv = 0
        self._blind = False

    def record(self, items: list[Item]) -> Iterator[records.Body]:
        """The records in order."""
        for resource in self._world.objects:
            yield from self._list(resource, "first")
        for item in items:
            if isinstance(item, Edge):
                yield from self._gap() if item.opens else self._relist()
            elif isinstance(item, Commit):
                yield from self._see(item)
        for resource in self._world.objects:
            yield from self._list(resource, "final")

    def _see(self, commit: Commit) -> Iterator[records.Body]:
        self._rv = commit.rv
        seen = self._world.commit(commit)
        if seen is not None and not (self._blind and seen.resource == CLAIMS):
            yield seen

    def _gap(self) -> Iterator[records.Body]:
        self._blind = True
        yield gap(CLAIMS, self._rv)

    def _relist(self) -> Iterator[records.Body]:
        self._blind = False
        yield from self._list(CLAIMS, "relist")

    def _list(self, resource: str, purpose: str) -> Iterator[records.Body]:
        objects = list(self._world.objects[resource].values())
        yield listed(resource, purpose, self._rv, len(objects))
        for item in objects:
            yield msgspec.structs.replace(
                item, type="FINAL" if purpose == "final" else "LISTED", ts_ns=at(self._rv)
            )
