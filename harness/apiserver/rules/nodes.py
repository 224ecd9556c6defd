"""Nodes."""

from collections.abc import Iterator
from typing import Any

from harness.apiserver.rules import causes, formats, printing
from harness.apiserver.statuses import Cause

Document = dict[str, Any]
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UNIQUE = "taints must be unique by key and effect pair"


def node(document: Document) -> Iterator[Cause]:
    """A new node."""
    # The server has it that taints are in the metadata, and so do its messages.
    taints = (document.get("spec") or {}).get("taints")
    return _taints(taints or [], "metadata.taints")


def node_change(document: Document, old: Document) -> Iterator[Cause]:
    """A changed node; its taints are looked at twice."""
    yield from node(document)
    yield from node(document)
    provider = (document.get("spec") or {}).get("providerID") or ""
    known = (old.get("spec") or {}).get("providerID") or ""
    if known and provider != known:
        why = 'node updates may not change providerID except from "" to valid'
        yield causes.forbidden("spec.providerID", why)


def _taints(taints: list[Document], at: str) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        yield from _taint(taint, f"{at}[{index}]")
        key = (taint.get("key") or "", taint.get("effect") or "")
        if key in seen:
            shown = printing.struct("Taint", taint)
            yield causes.duplicate_because(f"{at}[{index}]", shown, _UNIQUE)
            return
        seen.add(key)


def _taint(taint: Document, at: str) -> Iterator[Cause]:
    yield from formats.each(f"{at}.key", taint.get("key") or "", formats.qualified_name)
    yield from formats.each(f"{at}.value", taint.get("value") or "", formats.label_value)
    effect = taint.get("effect") or ""
    if not effect:
        yield causes.required(f"{at}.effect")
    elif effect not in _EFFECTS:
        yield causes.unsupported(f"{at}.effect", effect, _EFFECTS)
