"""The templates of a run, and the claims that were made from them, in documents to be compared.

The API says (resource.k8s.io/v1, ResourceClaimTemplateSpec): "The entire content is copied
unchanged into the ResourceClaim that gets created from this template" (spec), and "labels and
annotations that will be copied into the ResourceClaim when creating it" (metadata). The controller
adds one annotation of its own. A field that is empty or has its default is as good as missing.
"""

import collections
import dataclasses
from typing import Any

import msgspec

from harness.checks.claims import claim_lives
from harness.checks.observed import (
    folders,
    observations,
    observed_cluster,
    observed_metadata,
)
from harness.history import records

Labels = dict[str, str]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The copied parts of a template, or of a claim when it was created."""

    spec: bytes
    """JSON, with defaults and without empty fields."""
    labels: Labels
    annotations: Labels
    """All but the controller's."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A claim that was created for an entry of a pod."""

    claim: claim_lives.ClaimName
    version: int
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
        self._templates: dict[tuple[str, str], list[tuple[int, Content]]] = collections.defaultdict(
            list
        )
        """Templates by namespace and name, each version with its resourceVersion."""
        self._plain: dict[bytes, bytes] = {}
        """The specs of claims so far, by their JSON."""

    def see_template(self, seen: observations.SeenTemplate) -> None:
        if seen.is_gone:
            return
        meta, spec = seen.object.metadata, seen.object.spec
        content = Content(
            spec=_encoded(spec.spec),
            labels=spec.metadata.labels or {},
            annotations=spec.metadata.annotations or {},
        )
        self._templates[meta.namespace, meta.name].append((seen.version, content))

    def see_claim(self, seen: observations.SeenClaim) -> None:
        """Note a claim that was created for an entry of a pod.

        Raises ObjectError if it is none of the API.
        """
        if seen.type != "ADDED":
            return
        name = claim_lives.name_of(seen.object)
        if name.owner is None or name.entry is None:
            return
        try:
            content = self._content(_decode(seen.content))
        except observed_metadata.NO_OBJECTS as error:
            raise observed_metadata.ObjectError(str(error)) from error
        self.made.append(Made(claim=name, version=seen.version, content=content))

    def _content(self, created: _Created) -> Content:
        annotations = dict(created.metadata.annotations or {})
        annotations.pop(claim_lives.ENTRY, None)
        return Content(
            spec=self._plain_spec(bytes(created.spec)),
            labels=created.metadata.labels or {},
            annotations=annotations,
        )

    def see_gap(self, gap: records.Gap) -> None:
        """Note that versions of templates may be missing."""
        self.has_gap |= gap.resource == observations.TEMPLATES

    def until(self, namespace: str, name: str, version: int) -> list[Content]:
        """Return the versions of a template before this one; empty: none was observed."""
        known = self._templates.get((namespace, name), ())
        return [content for since, content in known if since < version]

    def _plain_spec(self, raw: bytes) -> bytes:
        if raw not in self._plain:
            self._plain[raw] = _encoded(msgspec.json.decode(raw))
        return self._plain[raw]


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
