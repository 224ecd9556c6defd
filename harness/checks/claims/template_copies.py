"""The templates of a run, and the claims that were made from them, in documents to be compared.

The API says (resource.k8s.io/v1, ResourceClaimTemplateSpec): "The entire content is copied
unchanged into the ResourceClaim that gets created from this template" (spec), and "labels and
annotations that will be copied into the ResourceClaim when creating it" (metadata). The controller
adds one annotation of its own. A field that is empty or has its default is as good as missing.
"""

import collections
from typing import Any, NamedTuple

import msgspec

from harness.checks.observed import (
    claim_versions,
    folders,
    observations,
    observed_cluster,
    observed_metadata,
)
from harness.history import records

Labels = dict[str, str]


class Content(NamedTuple):
    """The copied parts of a template, or of a claim when it was created."""

    spec: bytes
    """JSON, with defaults and without empty fields."""
    labels: Labels
    annotations: Labels
    """All but the controller's."""


class Made(NamedTuple):
    """The content of a claim when it was created for an entry of a pod."""

    uid: str
    rv: int
    content: Content


class _Created(msgspec.Struct):
    """A claim, with its spec as JSON."""

    metadata: observed_cluster.TemplateMeta
    spec: msgspec.Raw = msgspec.Raw(b"null")


_decode = msgspec.json.Decoder(_Created).decode


class TemplateCopies(folders.Folder):
    """Folds the observations of templates, and of generated claims as they were created."""

    def __init__(self) -> None:
        self.made: list[Made] = []
        self.has_gap = False
        """Versions of templates may be missing."""
        self._templates = collections.defaultdict[tuple[str, str], list[tuple[int, Content]]](list)
        """Templates by namespace and name, each version with its resourceVersion."""
        self._plain: dict[bytes, bytes] = {}
        """The specs of claims so far, as in `Content`, by their JSON."""

    def see_template(self, seen: observations.SeenTemplate) -> None:
        if seen.is_gone:
            return
        meta, spec = seen.object.metadata, seen.object.spec
        labels, annotations = spec.metadata.labels or {}, spec.metadata.annotations or {}
        content = Content(_encoded(spec.spec), labels, annotations)
        self._templates[meta.namespace, meta.name].append((seen.version, content))

    def see_new_claim(self, seen: observations.SeenClaim) -> None:
        """Note a claim that was created for an entry of a pod.

        Raises ObjectError if it is none of the API.
        """
        if seen.type != "ADDED":
            return
        meta = seen.object.metadata
        if meta.owner is None or claim_versions.ENTRY not in (meta.annotations or {}):
            return
        try:
            content = self._content(_decode(seen.content))
        except observed_metadata.NO_OBJECTS as error:
            raise observed_metadata.ObjectError(str(error)) from error
        self.made.append(Made(meta.uid, seen.version, content))

    def _content(self, created: _Created) -> Content:
        annotations = dict(created.metadata.annotations or {})
        annotations.pop(claim_versions.ENTRY, None)
        raw = bytes(created.spec)
        if raw not in self._plain:
            self._plain[raw] = _encoded(msgspec.json.decode(raw))
        return Content(self._plain[raw], created.metadata.labels or {}, annotations)

    def see_gap(self, gap: records.Gap) -> None:
        """Note that versions of templates may be missing."""
        self.has_gap |= gap.resource == observations.TEMPLATES

    def until(self, namespace: str, name: str, version: int) -> list[Content]:
        """Return the versions of a template before this one; empty: none was observed."""
        known = self._templates.get((namespace, name), ())
        return [content for since, content in known if since < version]


def _encoded(spec: Any) -> bytes:
    return msgspec.json.encode(_filled(spec, ""), order="sorted")


def _filled(value: Any, key: str) -> Any:
    """Return a part of a spec with the defaults of the API, and without what is empty.

    `key` is the name of the field that it is the value of, or is listed in. Parameters of drivers
    have no defaults.
    """
    if key == "parameters":
        return value
    if isinstance(value, list):
        return [_filled(item, key) for item in value]
    if not isinstance(value, dict):
        return value
    filled = {name: _filled(item, name) for name, item in value.items()}
    kept = {name: item for name, item in filled.items() if not _is_empty(item)}
    match key:
        case "exactly" | "firstAvailable":
            kept.setdefault("allocationMode", "ExactCount")
            if kept["allocationMode"] == "ExactCount":
                kept.setdefault("count", 1)
        case "tolerations":
            kept.setdefault("operator", "Equal")
        case _:
            pass
    return kept


def _is_empty(value: Any) -> bool:
    return value is False or value in (None, "", [], {})
