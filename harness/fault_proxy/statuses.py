"""Answers of the proxy itself: `Status` objects, as responses and as the last event of a watch."""

from typing import Any

import msgspec

from harness.fault_proxy import object_metadata, watch_frames

CONTENT_TYPE = "application/json"
_ENVELOPE_TYPE_META, _ENVELOPE_RAW = 1, 2
_API_VERSION, _KIND = 1, 2
_METADATA, _STATUS, _MESSAGE, _REASON, _DETAILS, _CODE = 1, 2, 3, 4, 5, 6
"""Fields of a Status."""
_RETRY_AFTER_SECONDS = 5
"""Field of its StatusDetails."""
_EVENT_TYPE, _EVENT_OBJECT, _EVENT_RAW = 1, 2, 1
GONE = 410


def failure(
    code: int, reason: str, message: str, *, retry_after_s: int | None = None
) -> dict[str, Any]:
    """Return a Status of failure."""
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    if retry_after_s is not None:
        status["details"] = {"retryAfterSeconds": retry_after_s}
    return status


def expired(version: int) -> dict[str, Any]:
    """Return the Status that ends a watch whose versions the API server has forgotten."""
    message = f"too old resource version: {max(0, version - 1)} ({version})"
    return failure(GONE, "Expired", message)


def body(status: dict[str, Any]) -> bytes:
    """Return a Status as the body of a response. It is JSON, which every client reads."""
    return msgspec.json.encode(status)


def error_frame(status: dict[str, Any], framing: watch_frames.Framing) -> bytes:
    if not framing.is_protobuf:
        return msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n"
    event = _text(_EVENT_TYPE, "ERROR") + object_metadata.data(
        _EVENT_OBJECT, object_metadata.data(_EVENT_RAW, _envelope(status))
    )
    return watch_frames.with_length(event)


def _envelope(status: dict[str, Any]) -> bytes:
    named = _text(_API_VERSION, status["apiVersion"]) + _text(_KIND, status["kind"])
    return (
        object_metadata.MAGIC
        + object_metadata.data(_ENVELOPE_TYPE_META, named)
        + object_metadata.data(_ENVELOPE_RAW, _message(status))
    )


def _message(status: dict[str, Any]) -> bytes:
    message = (
        object_metadata.data(_METADATA, b"")
        + _text(_STATUS, status["status"])
        + _text(_MESSAGE, status["message"])
        + _text(_REASON, status["reason"])
    )
    if retry_after_s := status.get("details", {}).get("retryAfterSeconds"):
        message += object_metadata.data(
            _DETAILS, object_metadata.integer(_RETRY_AFTER_SECONDS, retry_after_s)
        )
    return message + object_metadata.integer(_CODE, status["code"])


def _text(number: int, value: str) -> bytes:
    return object_metadata.data(number, value.encode())
