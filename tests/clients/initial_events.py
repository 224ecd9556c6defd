"""A watch that begins with what is there and says where that ends, for clients of every kind."""

from collections.abc import Sequence
from typing import Any

OPTIONS: dict[str, Any] = {
    "allow_watch_bookmarks": True,
    "send_initial_events": True,
    "resource_version_match": "NotOlderThan",
}


def require_marked(seen: Sequence[dict[str, Any]]) -> None:
    """One object, and the bookmark after the last one that was there."""
    assert [event["type"] for event in seen] == ["ADDED", "BOOKMARK"]
    annotations = seen[1]["raw_object"]["metadata"]["annotations"]
    assert annotations == {"k8s.io/initial-events-end": "true"}
