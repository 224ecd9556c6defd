"""The audit log: one audit.k8s.io/v1 event per line, at level RequestResponse.

Events are written before their response is sent. Lines are in the order of the responses, not of
the commits: sort successful writes by the resourceVersion in `responseObject`, which is the store's
own counter.

A log of the writes of some resources has their successful requests only, and in addition what the
garbage collector and the namespace controller do, which are requests in Kubernetes, too, and which
versions of claims other programs than ours were sent.

Events have no tokens: the Authorization header is not part of a request here, and the value of a
`token` or `access_token` in a URL is replaced. (kube-apiserver logs URLs unchanged. Neither server
accepts a token from a URL.) The order of events and responses does not belong here (see
`servers.GroupCommit`).
"""

import itertools
import os
import pathlib
import re
import uuid
from collections.abc import Callable, Collection
from typing import Any

import msgspec

from harness import clocks, errors, writing
from harness.apiserver import json_codec
from harness.apiserver.endpoints import authentication, request_info, responses
from harness.apiserver.registry import object_deletion
from harness.apiserver.serializer import protobuf
from harness.apiserver.storage import watch_cache
from harness.faults import object_metadata

COMMON = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse"}
"""Keys that all events have with the same values."""
RESTORED = "flake-hunt/restored-to"
"""Annotation of the event of a restart: the version that was restored."""
MOMENTS = "flake-hunt/monotonic-ns"
"""Annotation in a log of writes: when a request was received, and when its event was logged."""
SENT = "flake-hunt/sent"
"""Annotation of a list or watch: the version up to which the client has been sent what it reads."""
_READS_OF = "resourceclaims"
_OWN_AGENT = "flake-hunt"
"""How the User-Agents of our own programs begin, which record themselves what they receive."""
_CONTROLLER = "system:serviceaccount:kube-system:generic-garbage-collector"
_ID_PREFIX = str(uuid.uuid4())[:24]
"""The part of the UUIDs of this process that does not change."""
_token = re.compile(r"([?&](?:access_)?token=)[^&#]+", re.IGNORECASE)


class AuditLog(writing.BufferedFile):
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
        self._writes_of, self.is_of_writes = frozenset(writes_of), bool(writes_of)
        self.next_id = (f"{_ID_PREFIX}{number:012x}" for number in itertools.count()).__next__
        """Returns a new Audit-ID: a UUID whose last part alone differs, which is cheap."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            raise errors.UsageError(
                f"cannot write the audit log {path}: {error.strerror}"
            ) from error
        super().__init__(descriptor, path)
        self.now = now

    def wants(self, asked: request_info.Request) -> bool:
        """Return whether a request is logged if it succeeds."""
        if not self._writes_of:
            return True
        target = asked.target
        return (
            target is not None
            and target.resource.plural in self._writes_of
            and asked.verb not in request_info.READING_VERBS
        )

    def wants_reads(self, asked: request_info.Request) -> bool:
        """Return whether it is logged which versions a list or watch sends to its client.

        It is asked about requests that are not logged themselves.
        """
        target = asked.target
        if target is None or asked.user_agent.startswith(_OWN_AGENT):
            return False
        return asked.verb in ("list", "watch") and target.resource.plural == _READS_OF

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
            COMMON
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
        **COMMON,
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


class AuditEntry:
    """The audit events of one request."""

    def __init__(
        self, log: AuditLog, request: request_info.Request, *, uri: str, source: str
    ) -> None:
        self._log, self._request = log, request
        self.audit_id = request.headers.get("audit-id") or log.next_id()
        self._received, self._received_ns = log.now(), clocks.monotonic_ns()
        self._common: dict[str, Any] = {**COMMON, "auditID": self.audit_id}
        self._notes = {"authorization.k8s.io/decision": "forbid"}
        self._subject: dict[str, Any] = {
            "requestURI": _token.sub(r"\1REDACTED", uri),
            "verb": request.verb,
            "user": {},
            "sourceIPs": [source],
            "userAgent": request.user_agent,
        }

    def allow(self) -> None:
        """Record the user, who is allowed to do this, and whom the client impersonates.

        The rights stay those of the user.
        """
        self._notes["authorization.k8s.io/decision"] = "allow"
        self._subject["user"] = {"username": authentication.USER, "groups": authentication.GROUPS}
        if impersonated := self._request.headers.get("impersonate-user", ""):
            groups = ["system:authenticated"]  # as Kubernetes adds when no group is named
            self._subject["impersonatedUser"] = {"username": impersonated, "groups": groups}

    def started(self, status: int) -> None:
        """Log `ResponseStarted`, before the head of a watch is sent."""
        self._write("ResponseStarted", {"responseStatus": {"metadata": {}, "code": status}})

    def sent(self, version: int) -> None:
        """Log that all that a client reads, up to a version, is handed to its connection."""
        self._notes[SENT] = str(version)
        self._write("ResponseStarted", {})

    def completed(self, status: int, answer: responses.Response | None = None) -> None:
        """Log `ResponseComplete`, before the response, or the end of a watch, is sent."""
        if status >= 400 and self._log.is_of_writes:
            return
        rest: dict[str, Any] = {"responseStatus": {"metadata": {}, "code": status}}
        known = object_metadata.of_body(self._request.body)
        if (sent := _logged(self._request.body, is_object=known is not None)) is not None:
            rest["requestObject"] = sent
        if answer is not None and answer.body and answer.content_type == responses.JSON:
            rest["responseObject"] = msgspec.Raw(answer.body)
            if status >= 400:
                rest["responseStatus"] = rest["responseObject"]
        self._write("ResponseComplete", rest, known)

    def _write(
        self, stage: str, rest: dict[str, Any], known: object_metadata.Metadata | None = None
    ) -> None:
        if self._log.is_of_writes:
            self._notes[MOMENTS] = f"{self._received_ns} {clocks.monotonic_ns()}"
        self._log.append(
            {
                **self._common,
                "stage": stage,
                **self._subject,
                **self._reference(known or object_metadata.UNKNOWN),
                **rest,
                "requestReceivedTimestamp": self._received,
                "stageTimestamp": self._log.now(),
                "annotations": self._notes,
            }
        )

    def _reference(self, known: object_metadata.Metadata) -> dict[str, Any]:
        target = self._request.target
        if target is None:
            return {}
        reference = {
            "resource": target.resource.plural,
            "namespace": target.namespace,
            "name": target.name or known.name,
            "uid": known.uid,
            "apiGroup": target.resource.group,
            "apiVersion": target.resource.version,
            "resourceVersion": known.resource_version,
            "subresource": target.subresource,
        }
        return {"objectRef": {key: value for key, value in reference.items() if value}}


def _logged(body: bytes, *, is_object: bool) -> Any:
    """Return a body as it is logged, the bytes if they are a line of JSON; None if it is none."""
    is_protobuf = body.startswith(protobuf.MAGIC)
    if is_object and b"\n" not in body and not is_protobuf:
        return msgspec.Raw(body)
    try:
        return protobuf.document(body) if is_protobuf else json_codec.decode(body)
    except (ValueError, RecursionError):
        return None
