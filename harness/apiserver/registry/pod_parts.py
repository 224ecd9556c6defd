"""Subresources of pods that write a part of the spec only: everything else is taken over from the old pod."""

from collections.abc import Callable, Mapping

from harness.apiserver.scheme.json_document import Document

_RESIZED = ("resources", "resizePolicy")


def _ephemeral_containers(spec: Document, before: Document) -> Document:
    kept = {key: value for key, value in before.items() if key != "ephemeralContainers"}
    if added := spec.get("ephemeralContainers"):
        kept["ephemeralContainers"] = added
    return kept


def _resources(spec: Document, before: Document) -> Document:
    kept = dict(before)
    for key in ("containers", "initContainers"):
        if key in before:
            wanted = {item.get("name"): item for item in spec.get(key) or ()}
            kept[key] = [_resized(item, wanted.get(item.get("name"))) for item in before[key]]
    kept.pop("resources", None)
    return kept | {"resources": spec["resources"]} if spec.get("resources") else kept


def _resized(container: Document, wanted: Document | None) -> Document:
    if wanted is None:
        return container
    kept = {key: value for key, value in container.items() if key not in _RESIZED}
    return kept | {key: wanted[key] for key in _RESIZED if key in wanted}


SPECS: Mapping[str, Callable[[Document, Document], Document]] = {
    "ephemeralcontainers": _ephemeral_containers,
    "resize": _resources,
}
"""By the name of the subresource: the spec that is stored, of the one that was sent and the old one."""
