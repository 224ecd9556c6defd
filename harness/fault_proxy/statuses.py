"""Answers of the proxy itself: `Status` objects, as responses and as the last event of a watch."""

from typing import Any

CONTENT_TYPE = "application/json"


def failure(
    code: int, reason: str, message: str, *, retry_after_s: int | None = None
) -> dict[str, Any]:
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
    return failure(410, "Expired", message)
