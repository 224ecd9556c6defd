"""The audit log: one audit.k8s.io/v1 event per line, at level RequestResponse.

Events are written before their response is sent. Lines are in the order of the responses, not of
the commits: sort successful writes by the resourceVersion in `responseObject`, which is the store's
own counter. The log has no tokens: the Authorization header is not part of a request here, and the
value of a `token` or `access_token` in a URL is replaced. (kube-apiserver logs URLs unchanged.
Neither server accepts a token from a URL.)

A log of the writes of some resources has their successful requests only, and in addition what the
garbage collector and the namespace controller do, which are requests in Kubernetes, too.
"""

import itertools
import os
import pathlib
import re
import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from harness import errors
from harness.apiserver.codec import json_codec, protobuf_wire
from harness.apiserver.endpoints import (
    authentication,
    content_types,
    negotiation,
    request_attributes,
    request_info,
    responses,
)
from harness.apiserver.errors import status_errors
from harness.apiserver.persistence import commit_log
from harness.apiserver.registry import object_deletion
from harness.apiserver.serializer import decoding, protobuf, yaml_bodies
from harness.apiserver.storage import watch_cache

_HEADER = "audit-id"
_token = re.compile(r"([?&](?:access_)?token=)[^&#]+", re.IGNORECASE)
_COMMON = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse"}
RESTORED = "flake-hunt/restored-to"
"""Annotation of the event of a restart: the version that was restored."""
_CONTROLLER = "system:serviceaccount:kube-system:generic-garbage-collector"
_ID_PREFIX = str(uuid.uuid4())[:24]
"""The part of the UUIDs of this process that does not change."""
_ID_LENGTH_MAX = 64
"""Maximum length of a client's Audit-ID in characters; longer ones are cut, as in Kubernetes."""


class AuditLog:
    """Appends to one file; it is written just before the journal, by the group commit.

    The event of every commit that a client can see is therefore in the log, even after a kill; but
    a kill may leave events of commits that never were (see `begin_again`).
    """

    def __init__(
        self, path: pathlib.Path, *, now: Callable[[], str], writes_of: Collection[str] = ()
    ) -> None:
        """`now` returns RFC 3339 with microseconds.

        `writes_of` are the plural names of resources: log their writes only; empty: log every
        request. Raises UsageError for an unwritable path.
        """
        self._writes_of = frozenset(writes_of)
        self._ids = (f"{_ID_PREFIX}{number:012x}" for number in itertools.count())
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            raise errors.UsageError(
                f"cannot write the audit log {path}: {error.strerror}"
            ) from error
        self._path = path
        self._lines: list[bytes] = []
        self.now = now

    def next_id(self) -> str:
        """Return a new Audit-ID: a UUID of which only the last part differs, which is cheap."""
        return next(self._ids)

    def wants(self, asked: request_attributes.Attributes) -> bool:
        """Return whether a request is logged if it succeeds."""
        if not self._writes_of:
            return True
        target = asked.target
        return (
            target is not None and target.resource.plural in self._writes_of and not asked.is_read
        )

    def wants_status(self, status: int) -> bool:
        """Return whether requests with this response are logged."""
        return status < 400 or not self._writes_of

    def append(self, event: dict[str, Any]) -> None:
        """Buffer an event."""
        self._lines.append(json_codec.encode(event) + b"\n")

    def begin_again(self, version: int) -> None:
        """Note in a log with events that the server has restored this version from its disk.

        Later versions that the log has were never committed, and are given again.
        """
        size = os.fstat(self._descriptor).st_size
        if not size:
            return
        if os.pread(self._descriptor, 1, size - 1) != b"\n":
            self._lines.append(b"\n")
        self.append(
            _COMMON
            | {
                "auditID": self.next_id(),
                "stage": "ResponseComplete",
                "verb": "restore",
                "stageTimestamp": self.now(),
                "annotations": {RESTORED: str(version)},
            }
        )

    def note_controller(self, commit: watch_cache.Commit) -> None:
        """Log a commit of the garbage collector or namespace controller as their request.

        A pod is written with a grace period of zero before it is removed, as one request.
        """
        if commit.resource.plural in self._writes_of and not _is_first_half(commit):
            self.append(_controllers_event(commit, self.next_id(), self.now()))

    def settle(self) -> None:
        """Write the buffered events. Raises OSError."""
        if self._lines:
            data = b"".join(self._lines)
            self._lines.clear()
            commit_log.write_all(self._descriptor, data, path=self._path)

    def close(self) -> None:
        """Write the buffered events and close the file."""
        self.settle()
        os.close(self._descriptor)


class AuditEntry:
    """The audit events of one request."""

    def __init__(
        self,
        log: AuditLog,
        request: request_info.Request,
        asked: request_attributes.Attributes,
        *,
        uri: str,
        source: str,
    ) -> None:
        self._log, self._request, self._asked = log, request, asked
        self.audit_id = request.headers.get(_HEADER, "")[:_ID_LENGTH_MAX] or log.next_id()
        self._received = log.now()
        self._common: dict[str, Any] = {**_COMMON, "auditID": self.audit_id}
        self._decision = "forbid"
        self._subject: dict[str, Any] = {
            "requestURI": _token.sub(r"\1REDACTED", uri),
            "verb": self._asked.verb,
            "user": {},
            "sourceIPs": [source],
            "userAgent": request.headers.get("user-agent", ""),
        }

    def allow(self, user: authentication.User) -> None:
        """Record the user, who is allowed to do this, and whom the client impersonates.

        The rights stay those of the user.
        """
        self._decision = "allow"
        self._subject["user"] = {"username": user.name, "groups": user.groups}
        if impersonated := self._request.headers.get("impersonate-user", ""):
            groups = ["system:authenticated"]  # as Kubernetes adds when no group is named
            self._subject["impersonatedUser"] = {"username": impersonated, "groups": groups}

    def started(self, status: int) -> None:
        """Log `ResponseStarted`, before the head of a watch is sent."""
        self._write(
            "ResponseStarted",
            self._reference({}) | {"responseStatus": {"metadata": {}, "code": status}},
        )

    def completed(self, status: int, answer: responses.Response | None = None) -> None:
        """Log `ResponseComplete`, before the response, or the end of a watch, is sent."""
        if not self._log.wants_status(status):
            return
        rest: dict[str, Any] = {"responseStatus": {"metadata": {}, "code": status}}
        known, sent = _sent(self._request)
        if sent is not None:
            rest["requestObject"] = sent
        if answer is not None and (shown := _in_json(answer)):
            rest["responseObject"] = msgspec.Raw(shown)
            if status >= 400:
                rest["responseStatus"] = msgspec.Raw(shown)
        self._write("ResponseComplete", self._reference(known) | rest)

    def _reference(self, known: Mapping[str, Any]) -> dict[str, Any]:
        target = self._asked.target
        if target is None:
            return {}
        resource = target.resource
        reference = {
            "resource": resource.plural,
            "namespace": target.namespace,
            "name": target.name or known.get("name"),
            "uid": known.get("uid"),
            "apiGroup": resource.group,
            "apiVersion": resource.version,
            "resourceVersion": known.get("resourceVersion"),
            "subresource": target.subresource,
        }
        return {"objectRef": {key: value for key, value in reference.items() if value}}

    def _write(self, stage: str, rest: dict[str, Any]) -> None:
        self._log.append(
            {
                **self._common,
                "stage": stage,
                **self._subject,
                **rest,
                "requestReceivedTimestamp": self._received,
                "stageTimestamp": self._log.now(),
                "annotations": {"authorization.k8s.io/decision": self._decision},
            }
        )


def _is_first_half(commit: watch_cache.Commit) -> bool:
    """Return whether a commit shortens a grace period to zero, before the removal."""
    if commit.type == "DELETED" or not commit.object.deleting:
        return False
    return object_deletion.is_done(commit.resource, commit.object.document())


def _controllers_event(commit: watch_cache.Commit, audit_id: str, now: str) -> dict[str, Any]:
    stored, resource = commit.object, commit.resource
    is_gone = commit.type == "DELETED"
    details = {"name": stored.name, "kind": resource.plural, "uid": stored.uid}
    status = {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": details}
    return {
        **_COMMON,
        "auditID": audit_id,
        "stage": "ResponseComplete",
        "verb": "delete" if is_gone else "patch",
        "user": {"username": _CONTROLLER},
        "objectRef": {
            "resource": resource.plural,
            "namespace": stored.namespace,
            "name": stored.name,
            "uid": stored.uid,
            "apiGroup": resource.group,
            "apiVersion": resource.version,
        },
        "responseStatus": {"metadata": {}, "code": 200},
        "responseObject": status if is_gone else msgspec.Raw(stored.data),
        "stageTimestamp": now,
        "annotations": {"authorization.k8s.io/decision": "allow"},
    }


class _Known(msgspec.Struct, gc=False):
    name: Any = None
    uid: Any = None
    resourceVersion: Any = None  # noqa: N815 - the API's spelling


class _Sent(msgspec.Struct, gc=False):
    metadata: _Known = msgspec.field(default_factory=_Known)


_sent_decoder = msgspec.json.Decoder(_Sent)


def _sent(request: request_info.Request) -> tuple[dict[str, Any], Any]:
    """Return name, uid and version in a body, and the object to log: the bytes if they can be."""
    body = request.body
    if body and b"\n" not in body and content_types.content_type(request).endswith("json"):
        try:
            return msgspec.structs.asdict(_sent_decoder.decode(body).metadata), msgspec.Raw(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # no object, or no JSON
    sent = _decoded(request)
    meta = sent.get("metadata") if isinstance(sent, dict) else None
    return meta if isinstance(meta, dict) else {}, sent


def _decoded(request: request_info.Request) -> Any:
    """Return a JSON, YAML or protobuf body, decoded; None if it is empty or cannot be decoded."""
    if not request.body:
        return None
    if content_types.content_type(request) == negotiation.PROTOBUF:
        return _from_protobuf(request.body)
    try:
        return json_codec.decode(request.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    if "yaml" not in request.headers.get("content-type", ""):
        return None
    try:
        return yaml_bodies.read(request.body)
    except status_errors.StatusError:
        return None


def _in_json(answer: responses.Response) -> bytes:
    """Return the object in a response as JSON, b"" if there is none."""
    if answer.content_type == negotiation.JSON:
        return answer.body
    if answer.content_type != negotiation.PROTOBUF:
        return b""
    found = _from_protobuf(answer.body)
    return b"" if found is None else json_codec.encode(found)


def _from_protobuf(body: bytes) -> Any:
    try:
        return protobuf.document(body)
    except (protobuf_wire.MalformedError, decoding.MismatchError):
        return None
