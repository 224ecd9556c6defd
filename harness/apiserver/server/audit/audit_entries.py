"""The audit events of single requests.

They have no tokens: the Authorization header is not part of a request here, and the value of a
`token` or `access_token` in a URL is replaced. (kube-apiserver logs URLs unchanged. Neither server
accepts a token from a URL.)
"""

import re
from typing import Any

import msgspec

from harness import clocks
from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import authentication, negotiation, request_info, responses
from harness.apiserver.serializer import protobuf
from harness.apiserver.server.audit import audit_log
from harness.faults import object_metadata

_HEADER = "audit-id"
_token = re.compile(r"([?&](?:access_)?token=)[^&#]+", re.IGNORECASE)
_ID_LENGTH_MAX = 64
"""Maximum length of a client's Audit-ID in characters; longer ones are cut, as in Kubernetes."""


class AuditEntry:
    """The audit events of one request."""

    def __init__(
        self, log: audit_log.AuditLog, request: request_info.Request, *, uri: str, source: str
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
            "userAgent": request.user_agent,
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
        self._write("ResponseStarted", {"responseStatus": {"metadata": {}, "code": status}})

    def sent(self, version: int) -> None:
        """Log that all that a client reads, up to a version, is handed to its connection."""
        self._notes[audit_log.SENT] = str(version)
        self._write("ResponseStarted", {})

    def completed(self, status: int, answer: responses.Response | None = None) -> None:
        """Log `ResponseComplete`, before the response, or the end of a watch, is sent."""
        if not self._log.wants_status(status):
            return
        rest: dict[str, Any] = {"responseStatus": {"metadata": {}, "code": status}}
        known = object_metadata.of_body(self._request.body)
        if (sent := _logged(self._request.body, is_object=known is not None)) is not None:
            rest["requestObject"] = sent
        if answer is not None and answer.body and answer.content_type == negotiation.JSON:
            rest["responseObject"] = msgspec.Raw(answer.body)
            if status >= 400:
                rest["responseStatus"] = rest["responseObject"]
        self._write("ResponseComplete", rest, known)

    def _write(
        self, stage: str, rest: dict[str, Any], known: object_metadata.Metadata | None = None
    ) -> None:
        if self._log.is_of_writes:
            self._notes[audit_log.MOMENTS] = f"{self._received_ns} {clocks.monotonic_ns()}"
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
