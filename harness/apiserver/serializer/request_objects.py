"""Decode objects from request bodies, with field validation.

`fieldValidation=Strict` rejects unknown and duplicate fields, `Warn` (the default) returns them as
warnings, `Ignore` drops them silently. Values of the wrong type are always rejected. Messages are
those of kube-apiserver.
"""

import functools

import msgspec

from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import json_bodies, strict_decoding

DIRECTIVES = ("", "Ignore", "Strict", "Warn")
SUMMARY_CHARACTERS_MAX = 30
"""Number of bytes of an unrecognizable body that an error message quotes."""
_TYPE_META = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
_SCHEME = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"


class Validation(msgspec.Struct, frozen=True):
    """The treatment of unknown and duplicate fields in one request."""

    directive: str = ""
    """The value of `fieldValidation`."""
    warnings: list[str] = msgspec.field(default_factory=list)
    """Texts of `Warning` headers; `rejection` adds to them."""

    @property
    def is_on(self) -> bool:
        """True unless such fields are ignored."""
        return self.directive != "Ignore"

    def rejection(self, problems: list[str]) -> str:
        """Return the error message for problems, "" if they only become warnings."""
        if problems and self.directive == "Strict":
            return f"strict decoding error: {', '.join(problems)}"
        self.warnings.extend(problems)
        return ""


def read(body: bytes, resource: resources.ResourceType, validation: Validation) -> Document:
    """Return the normalized object in a body. Raises 400 if it is not one of this resource."""
    raw = _parse_object(body, resource)
    try:
        group, version, kind = kind_of(raw, resource)
    except ValueError as error:
        raise _without_kind(resource, str(error), body) from error
    body_type = _type_of(group, version, kind)
    if body_type is None:
        raise unfit(kind, version, resource.kind, unregistered(group, version, kind))
    document, problems = strict_decoding.normalize(
        body_type, raw, body, with_problems=validation.is_on
    )
    if isinstance(document, str):
        raise unfit(kind, version, resource.kind, document)
    _require_kind(group, version, kind, resource)
    if rejection := validation.rejection(problems):
        raise unfit(kind, version, resource.kind, rejection)
    return document


# ------------------------------------------------------------------ parsing


def _parse_object(body: bytes, resource: resources.ResourceType) -> Document:
    try:
        raw = json_bodies.decode_as_go(body)
    except ValueError as error:
        raise _without_kind(resource, f"json parse error: {error}", body) from error
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        what = (
            f"json: cannot unmarshal {strict_decoding.JSON_NAMES[type(raw)]} into Go value of type"
        )
        raise _without_kind(resource, f"json parse error: {what} {_TYPE_META}", body)
    return raw


def kind_of(raw: Document, resource: resources.ResourceType) -> tuple[str, str, str]:
    """Return the group, version and kind of a document, by default those of the resource.

    Raises ValueError with Go's message if `kind` or `apiVersion` is malformed.
    """
    for key in ("kind", "apiVersion"):
        value = raw.get(key)
        if value is not None and not isinstance(value, str):
            what = strict_decoding.JSON_NAMES[type(value)]
            why = f"json: cannot unmarshal {what} into Go struct field .{key} of type string"
            raise ValueError(f"json parse error: {why}")
    api_version = raw.get("apiVersion") or resource.api_version
    if api_version.count("/") > 1:
        raise ValueError(f"unexpected GroupVersion string: {api_version}")
    group, _, version = api_version.rpartition("/")
    return group, version, raw.get("kind") or resource.kind


def type_in(document: Document, resource: resources.ResourceType) -> api_types.Type:
    """Return the type that a document names, by default that of the resource.

    Raises ValueError with Go's message if `kind` or `apiVersion` is malformed or unknown.
    """
    group, version, kind = kind_of(document, resource)
    found = _type_of(group, version, kind)
    if found is None:
        raise ValueError(unregistered(group, version, kind))
    return found


@functools.lru_cache(256)
def _type_of(group: str, version: str, kind: str) -> api_types.Type | None:
    try:
        return api_types.of_kind(group, version, kind)
    except KeyError:
        return None


# ------------------------------------------------------------------ messages


def _require_kind(group: str, version: str, kind: str, resource: resources.ResourceType) -> None:
    if kind != resource.kind or _internal(group) != _internal(resource.group):
        why = unconvertible(version, kind, resource)
        raise unfit(kind, version, resource.kind, why)
    if (group, version) != (resource.group, resource.version):
        raise status_errors.bad_request(
            f"the API version in the data ({_joined(group, version)}) does not match the expected "
            f"API version ({resource.api_version})"
        )


def unregistered(group: str, version: str, kind: str) -> str:
    """Return the message for a kind that is not registered."""
    known = f'no kind "{kind}" is registered for version "{_joined(group, version)}"'
    return f'{known} in scheme "{_SCHEME}"'


def unconvertible(version: str, kind: str, resource: resources.ResourceType) -> str:
    """Return the message for a kind that is not that of the resource."""
    source, target = f"{version}.{kind}", f"{_internal(resource.group)}.{resource.kind}"
    return f"converting ({source}) to ({target}): unknown conversion"


def _internal(group: str) -> str:
    """Return the Go package of a group's internal types; both event groups share one."""
    return "core" if group in ("", "events.k8s.io") else group.partition(".")[0]


def _joined(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


def unfit(kind: str, version: str, expected: str, why: str) -> status_errors.StatusError:
    return status_errors.bad_request(
        f'{kind} in version "{version}" cannot be handled as a {expected}: {why}'
    )


def unrecognized(expected: str, why: str, body: bytes) -> status_errors.StatusError:
    """Return 400 for a body whose kind cannot be read."""
    return status_errors.bad_request(
        f"the object provided is unrecognized (must be of type {expected}): "
        f"{why} ({_summary(body)})"
    )


def _without_kind(
    resource: resources.ResourceType, why: str, body: bytes
) -> status_errors.StatusError:
    return unrecognized(resource.kind, f"couldn't get version/kind; {why}", body)


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    start = body[:SUMMARY_CHARACTERS_MAX]
    text = start.decode(errors="replace") if body.startswith(b"{") else start.hex()
    return text if len(body) <= SUMMARY_CHARACTERS_MAX else f"{text} ..."
