"""The audit events of single requests.

They have no tokens: the Authorization header is not part of a request here, and the value of a
`token` or `access_token` in a URL is replaced. (kube-apiserver logs URLs unchanged. Neither server
accepts a token from a URL.)
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from harness import clocks
from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import (
    authentication,
    negotiation,
    request_info,
    responses,
)
from harness.apiserver.serializer import protobuf
from harness.apiserver.server.audit import audit_log

_HEADER = "audit-id"
_token = re.compile(r"([?&](?:access_)?token=)[^&#]+", re.IGNORECASE)
_ID_LENGTH_MAX = 64
"""Maximum length of a client's Audit-ID in characters; longer ones are cut, as in Kubernetes."""


class AuditEntry:
    """The audit events of one request."""

    def __init__(
        self,
        log: audit_log.AuditLog,
        request: request_info.Request,
        *,
        uri: str,
        source: str,
    ) -> None:
        self._log, self._request = log, request
        self.audit_id = request.headers.get(_HEADER, "")[:_ID_LENGTH_MAX] or log.next_id()
        self._received, self._received_ns = log.now(), clocks.monotonic_ns()
        self._common: dict[str, Any] = {**audit_log.COMMON, "auditID": self.audit_id}
        self._notes = {"authorization.k8s.io/decision": "forbid"}
        self._subject: dict[str, Any] = {
            "requestURI": _token.sub(r"\1REDACTED", uri),
            "verb": request.verb,
            "user": {},
            "sourceIPs": [source],
            "userAgent": request.headers.get("user-agent", ""),
        }

    def allow(self, user: authentication.User) -> None:
        """Record the user, who is allowed to do this, and whom the client impersonates.

        The rights stay those of the user.
        """
        self._notes["authorization.k8s.io/decision"] = "allow"
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

    def sent(self, version: int) -> None:
        """Log that all that a client reads, up to a version, is handed to its connection."""
        self._notes[audit_log.SENT] = str(version)
        self._write("ResponseStarted", self._reference({}))

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
        target = self._request.target
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
        if self._log.is_of_writes:
            self._notes[audit_log.MOMENTS] = f"{self._received_ns} {clocks.monotonic_ns()}"
        self._log.append(
            {
                **self._common,
                "stage": stage,
                **self._subject,
                **rest,
                "requestReceivedTimestamp": self._received,
                "stageTimestamp": self._log.now(),
                "annotations": self._notes,
            }
        )


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
    if body and b"\n" not in body and request.content_type.endswith("json"):
        try:
            return msgspec.structs.asdict(_sent_decoder.decode(body).metadata), msgspec.Raw(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # no object, or no JSON
    sent = _decoded(request)
    meta = sent.get("metadata") if isinstance(sent, dict) else None
    return meta if isinstance(meta, dict) else {}, sent


def _decoded(request: request_info.Request) -> Any:
    """Return a JSON or protobuf body, decoded; None if it is empty or cannot be decoded."""
    try:
        if request.content_type == negotiation.PROTOBUF:
            return protobuf.document(request.body)
        return json_codec.decode(request.body)
    except (ValueError, RecursionError):
        return None


def _in_json(answer: responses.Response) -> bytes:
    """Return the object in a response, b"" if there is none."""
    return answer.body if answer.content_type == negotiation.JSON else b""
