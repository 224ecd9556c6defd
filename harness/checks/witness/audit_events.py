"""Audit events (audit.k8s.io), and what each says about the writes of claims and pods.

Only the stages ResponseComplete and Panic end a request. The order of events is not the order of
commits: the object in a response has the revision. Some answers have none: see `Hidden`.
"""

import urllib.parse
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import msgspec

from harness.checks.witness import witnessed_writes

_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_ATTEMPTS = ("create", "update", "patch")
_BINDINGS = ("", "bindings")
"""The old path of a pod's binding."""
RESTORED = "flake-hunt/restored-to"
"""Annotation of the event with which our API server begins again after its end: the newest revision
on disk. Later revisions that were logged before it were never committed."""
MOMENTS = "flake-hunt/monotonic-ns"
"""Annotation of our API server: when a request was received and answered, on the run's clock."""
_TRUNCATED = "audit.k8s.io/truncated"
_NOTHING = msgspec.Raw(b"")
_EMPTY = (b"", b"null")


class NoEventError(ValueError):
    """A line that is no audit event."""


class _Reference(msgspec.Struct, gc=False):
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    apiGroup: str = ""  # noqa: N815 - the API's spelling


class _Status(msgspec.Struct, gc=False):
    code: int = 0


class _User(msgspec.Struct, gc=False):
    username: str = ""


class Event(msgspec.Struct, kw_only=True):
    """The fields of an audit event that matter here."""

    kind: str
    apiVersion: str  # noqa: N815
    stage: str
    verb: str = ""
    level: str = ""
    requestURI: str = ""  # noqa: N815
    objectRef: _Reference | None = None  # noqa: N815
    responseStatus: _Status | None = None  # noqa: N815
    user: _User | None = None
    impersonatedUser: _User | None = None  # noqa: N815
    userAgent: str = ""  # noqa: N815
    requestObject: msgspec.Raw = _NOTHING  # noqa: N815
    responseObject: msgspec.Raw = _NOTHING  # noqa: N815
    requestReceivedTimestamp: str = ""  # noqa: N815
    stageTimestamp: str = ""  # noqa: N815
    annotations: dict[str, str] | None = None


_decoder = msgspec.json.Decoder(Event)


HiddenKind: TypeAlias = Literal["bound", "gone", "collected", "evicted"]


class Hidden(msgspec.Struct, frozen=True, kw_only=True):
    """A write whose answer lacks its revision."""

    kind: HiddenKind
    """A binding; the end of an object by its last update, or by an answer without the object; an
    object of a deleted collection; an eviction."""
    resource: str
    namespace: str
    name: str
    uid: str = ""
    """Empty if the event lacks it."""
    node: str = ""
    """The node of a binding."""
    after: int = 0
    """A revision before it; 0: not known."""
    is_certain: bool = True
    """False if the answer does not show whether it was committed."""


class Unclear(msgspec.Struct, kw_only=True):
    """A request that may have written something that the event does not show."""

    resource: str
    namespace: str
    name: str
    """Empty: any object of the namespace."""
    reason: str
    verb: str = ""
    """That of a create, update or patch without an answer; empty: it is none."""
    held: tuple[str, ...] | None = None
    """The devices that such a request gives its claim; None: it leaves them as they are."""
    is_spent: bool = False
    """True if it explains an observation already."""

    def explains(
        self,
        before: witnessed_writes.State | None,
        seen: witnessed_writes.State,
        *,
        is_deletion: bool,
    ) -> bool:
        """Return whether it may lead from one version of its object, if any, to the next one.

        The end of an object may come with the last finalizer.
        """
        if self.verb == "create" or before is None:
            return self.verb == "create" and before is None and not is_deletion
        if is_deletion:
            return bool(self.verb) and before.is_marked
        held = before.held if self.held is None else self.held
        return bool(self.verb) and (seen.held, seen.node) == (held, before.node)


Fact: TypeAlias = witnessed_writes.Write | Hidden | Unclear


def decode(line: bytes) -> Event:
    try:
        event = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NoEventError(f"expected an audit event, got {line[:60]!r} ({error})") from error
    if event.kind != "Event" or not event.apiVersion.startswith("audit.k8s.io/"):
        raise NoEventError(f"expected an audit event, got {event.kind} of {event.apiVersion}")
    return event


def facts(event: Event) -> Iterator[Fact]:
    reference = event.objectRef
    if reference is None or event.verb not in _WRITES or event.stage not in _ENDS:
        return
    resource = (reference.apiGroup, reference.resource)
    if resource == _BINDINGS:
        reference.resource, reference.subresource = "pods", "binding"
    elif resource not in witnessed_writes.RESOURCES:
        return
    if _is_dry_run(event, reference):
        return
    try:
        yield from _told(event, reference)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        yield _unclear(reference, "has an answer that is no object of the API")


_ENDS = frozenset({"ResponseComplete", "Panic"})
_NO_ANSWERS = (408, 499)
"""Status codes of requests that were given up, and may have been committed."""


def _told(event: Event, reference: _Reference) -> Iterator[Fact]:
    code = event.responseStatus.code if event.responseStatus else 0
    if event.stage == "Panic":
        yield _unclear(reference, "ended in a panic of the API server")
    elif 400 <= code < 500 and code not in _NO_ANSWERS:
        return
    elif not 200 <= code < 300:
        yield from _attempted(event, reference, code)
    elif reference.subresource == "binding":
        yield from _bound(event, reference)
    elif reference.subresource == "eviction":
        yield _hidden("evicted", reference)
    elif bytes(event.responseObject) in _EMPTY:
        yield _unclear(reference, _why_empty(event))
    else:
        yield from _answered(event, reference, msgspec.json.decode(event.responseObject))


def _attempted(event: Event, reference: _Reference, code: int) -> Iterator[Fact]:
    unclear = _unclear(reference, f"was answered with status {code}")
    if event.verb in _ATTEMPTS and reference.subresource in ("", "status"):
        unclear.verb = event.verb
        status = _document(event.requestObject).get("status") or {}
        if reference.subresource and (event.verb == "update" or "allocation" in status):
            unclear.held = witnessed_writes.held(status)
    yield unclear
    if reference.subresource == "binding":
        for fact in _bound(event, reference):
            if isinstance(fact, Hidden):
                yield msgspec.structs.replace(fact, is_certain=False)
    elif reference.subresource == "eviction":
        yield _hidden("evicted", reference, is_certain=False)
    elif event.verb == "delete":
        sent = _document(event.requestObject).get("preconditions") or {}
        yield _hidden("collected", reference, uid=str(sent.get("uid") or ""), is_certain=False)


def _bound(event: Event, reference: _Reference) -> Iterator[Fact]:
    sent = _document(event.requestObject)
    target, meta = sent.get("target") or {}, sent.get("metadata") or {}
    if not target.get("name"):
        yield _unclear(reference, _why_empty(event))
        return
    name, uid = reference.name or str(meta.get("name", "")), reference.uid or meta.get("uid")
    yield _hidden("bound", reference, name=name, uid=str(uid or ""), node=str(target["name"]))


def _answered(event: Event, reference: _Reference, answer: Any) -> Iterator[Fact]:
    if event.verb == "deletecollection":
        yield from _collected(reference, answer)
    elif answer.get("kind") == "Status":
        details = answer.get("details") or {}
        if event.verb == "delete":
            yield _hidden("gone", reference, uid=str(details.get("uid") or ""))
        else:
            yield _unclear(reference, "was answered with a Status instead of the object")
    elif event.verb == "delete" and not answer["metadata"].get("resourceVersion"):
        # Another request removed the object meanwhile.
        yield _hidden("gone", reference, uid=str(answer["metadata"]["uid"]))
    else:
        yield _written(event, reference, witnessed_writes.state_of(answer))


def _written(event: Event, reference: _Reference, state: witnessed_writes.State) -> Fact:
    write = witnessed_writes.Write(
        reference.resource,
        state,
        content=witnessed_writes.digest(event.responseObject),
        received=event.requestReceivedTimestamp,
        answered=event.stageTimestamp,
        is_creation=event.verb == "create",
    )
    if event.verb == "delete":
        is_deletion = state.is_over or not state.is_marked
        return msgspec.structs.replace(write, is_deletion=is_deletion, is_marking=not is_deletion)
    if event.verb != "create" and state.is_over:
        # The update that removes the last finalizer removes the object. It is answered with the
        # object as it was sent, which is never stored.
        return _ended("gone", reference, state)
    return write


def _collected(reference: _Reference, answer: Any) -> Iterator[Fact]:
    items = answer.get("items")
    if not isinstance(items, list):
        yield _unclear(reference, "was answered without the deleted objects")
        return
    yield from (_ended("collected", reference, witnessed_writes.state_of(item)) for item in items)


def _ended(kind: HiddenKind, reference: _Reference, state: witnessed_writes.State) -> Hidden:
    named = {"namespace": state.namespace, "name": state.name, "uid": state.uid}
    return _hidden(kind, reference, **named, after=state.version)


def _hidden(kind: HiddenKind, reference: _Reference, **known: Any) -> Hidden:
    """Return a write of the object of an event, with what else is known of it."""
    found = {key: value for key, value in known.items() if value != ""}
    named = {"namespace": reference.namespace, "name": reference.name, "uid": reference.uid}
    return Hidden(kind=kind, resource=reference.resource, **(named | found))


def _unclear(reference: _Reference, reason: str) -> Unclear:
    return Unclear(
        resource=reference.resource,
        namespace=reference.namespace,
        name=reference.name,
        reason=reason,
    )


def _why_empty(event: Event) -> str:
    if (event.annotations or {}).get(_TRUNCATED) == "true":
        return "was too large for the audit log, which has it without its objects"
    return f"is there without its objects (level {event.level or 'unknown'})"


def _is_dry_run(event: Event, reference: _Reference) -> bool:
    _, _, query = event.requestURI.partition("?")
    if "dryRun" in query and urllib.parse.parse_qs(query).get("dryRun"):
        return True
    is_eviction = reference.subresource == "eviction"
    has_options = is_eviction or event.verb in ("delete", "deletecollection")
    options = _document(event.requestObject) if has_options else {}
    if options.get("kind") == "Eviction":
        options = options.get("deleteOptions") or {}
    return isinstance(options, dict) and bool(options.get("dryRun"))


def _document(content: msgspec.Raw) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(content) if bytes(content) else {}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
