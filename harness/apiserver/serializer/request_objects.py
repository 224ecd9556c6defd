"""Decode objects and patches from request bodies, with field validation.

`fieldValidation=Strict` rejects unknown and duplicate fields, `Warn` (the default) returns them as
warnings, `Ignore` drops them silently. Values of the wrong type are always rejected. Messages are
those of kube-apiserver.
"""

import dataclasses
import functools
import json
from typing import Any

import msgspec

from harness.apiserver.codec import go_json_errors
from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import decoding, json_bodies, strict_decoding

DIRECTIVES = ("", "Ignore", "Strict", "Warn")
SUMMARY_CHARACTERS_MAX = 30
"""Number of bytes of an unrecognizable body that an error message quotes."""
_OPERATION_FIELDS = ("op", "path", "from", "value")
_TYPE_META = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
_SCHEME = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"


@dataclasses.dataclass(frozen=True, slots=True)
class Validation:
    """The treatment of unknown and duplicate fields in one request."""

    directive: str = ""
    """The value of `fieldValidation`."""
    warnings: list[str] = dataclasses.field(default_factory=list)
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
        group, version, kind = _kind_of(raw, resource)
    except ValueError as error:
        raise _without_kind(resource, str(error), body) from error
    body_type = _type_of(group, version, kind)
    if body_type is None:
        raise unfit(kind, version, resource.kind, unregistered(group, version, kind))
    document, problems = _decode(body_type, raw, body, with_problems=validation.is_on)
    if isinstance(document, str):
        raise unfit(kind, version, resource.kind, document)
    _require_kind(group, version, kind, resource)
    if rejection := validation.rejection(problems):
        raise unfit(kind, version, resource.kind, rejection)
    return document


def patched(
    document: Document,
    resource: resources.ResourceType,
    validation: Validation,
    problems: list[str],
    *,
    is_text: bool = False,
) -> Document:
    """Return the normalized result of a patch. Raises 422 if it is not an object of the resource.

    `problems` are those that strict decoding found in the patch. `is_text` marks JSON and merge
    patches: they change the object's JSON, and so may change its kind.
    """
    kind = _patched_type(document, resource) if is_text else api_types.of(resource)
    tally = decoding.Tally()
    try:
        normalized: Document = decoding.read(kind, document, tally)
    except decoding.MismatchError:
        raise _bad_patch(document, strict_decoding.mismatch(kind, document)) from None
    if kind is not api_types.of(resource):
        _, version, name = _kind_of(document, resource)
        raise _bad_patch(document, _unconvertible(version, name, resource))
    if tally.unknown and validation.is_on:
        problems = problems + strict_decoding.problems(kind, document)
    if rejection := validation.rejection(problems):
        raise _bad_patch(document, rejection)
    return normalized


def _patched_type(document: Document, resource: resources.ResourceType) -> api_types.Type:
    try:
        group, version, kind = _kind_of(document, resource)
    except ValueError as error:
        raise _bad_patch(document, str(error)) from error
    patched_type = _type_of(group, version, kind)
    if patched_type is None:
        raise _bad_patch(document, unregistered(group, version, kind))
    return patched_type


def decode_patch(
    body: bytes, validation: Validation, *, is_text: bool = False
) -> tuple[Any, list[str]]:
    """Return a decoded patch and the problems that strict decoding finds in it. Raises 400.

    A list is a JSON patch.
    """
    prefix = "error decoding patch: " if is_text else ""
    try:
        limit = json_bodies.VALUES_MAX if is_text else json_bodies.MERGED_VALUES_MAX
        patch = _parse(body, limit)
        return _strict_patch(patch, body) if validation.is_on else (patch, [])
    except RecursionError as error:
        raise status_errors.bad_request(f"{prefix}{go_json_errors.TOO_DEEP}") from error
    except ValueError as error:
        raise status_errors.bad_request(f"{prefix}{error}") from error


def _strict_patch(patch: Any, body: bytes) -> tuple[Any, list[str]]:
    if isinstance(patch, list):
        return patch, [f"json patch {problem}" for problem in _operation_problems(body)]
    if _has_unique_keys(body, decoding.count_keys(patch)):
        return patch, []
    reparsed = strict_decoding.parse(body)
    return reparsed, strict_decoding.duplicates(reparsed)


def _operation_problems(body: bytes) -> list[str]:
    operations = strict_decoding.parse(body)
    unknown = [
        f'unknown field "[{index}].{name}"'
        for index, operation in enumerate(operations)
        if isinstance(operation, dict)
        for name in operation
        if name not in _OPERATION_FIELDS
    ]
    return strict_decoding.duplicates(operations) + unknown


# ------------------------------------------------------------------ parsing


def _parse(body: bytes, values_max: int = json_bodies.VALUES_MAX) -> Any:
    """Return the JSON in a body. Raises ValueError with Go's message if it is malformed."""
    try:
        return json_bodies.decode(body, values_max=values_max)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if message := go_json_errors.error(body):
            raise ValueError(message) from error
        return strict_decoding.parse(body)  # accepts lone surrogates, which Go replaces


def _parse_object(body: bytes, resource: resources.ResourceType) -> Document:
    try:
        raw = _parse(body)
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


def _kind_of(raw: Document, resource: resources.ResourceType) -> tuple[str, str, str]:
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


@functools.lru_cache(256)
def _type_of(group: str, version: str, kind: str) -> api_types.Type | None:
    try:
        return api_types.of_kind(group, version, kind)
    except KeyError:
        return None


def _decode(
    kind: api_types.Type, raw: Document, body: bytes, *, with_problems: bool
) -> tuple[Document | str, list[str]]:
    """Return the normalized document, or an error message if it is not of the type.

    Its problems are returned as well if `with_problems` is set.
    """
    tally = decoding.Tally()
    try:
        document: Document = decoding.read(kind, raw, tally)
    except decoding.MismatchError:
        return strict_decoding.mismatch(kind, raw), []
    is_clean = not tally.unknown and _has_unique_keys(body, tally.keys)
    if is_clean or not with_problems:
        return document, []
    reparsed = strict_decoding.parse(body)
    problems = strict_decoding.problems(kind, reparsed)
    return decoding.read(kind, reparsed, tally), problems


def _has_unique_keys(body: bytes, keys: int) -> bool:
    """Return True only if no object in a body repeats a key; `keys` is the number of decoded keys.

    A colon follows every key in the text, so the text has at most as many keys as colons; without
    white space, at most as many as colons after a quote. Strings may contain more of both, in
    which case False is returned although no key is repeated.
    """
    if body.count(b":") == keys:
        return True
    return body.translate(None, b" \t\r\n").count(b'":') == keys


# ------------------------------------------------------------------ messages


def _require_kind(group: str, version: str, kind: str, resource: resources.ResourceType) -> None:
    if kind != resource.kind or _internal(group) != _internal(resource.group):
        why = _unconvertible(version, kind, resource)
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


def _unconvertible(version: str, kind: str, resource: resources.ResourceType) -> str:
    source, target = f"{version}.{kind}", f"{_internal(resource.group)}.{resource.kind}"
    return f"converting ({source}) to ({target}): unknown conversion"


def _internal(group: str) -> str:
    """Return the Go package of a group's internal types; both event groups share one."""
    return "core" if group in ("", "events.k8s.io") else group.partition(".")[0]


def _joined(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


def unfit(kind: str, version: str, expected: str, why: str) -> status_errors.StatusError:
    """Return 400 for an object that is not of the expected kind."""
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


def _bad_patch(document: Any, why: str) -> status_errors.StatusError:
    text = json.dumps(json.dumps(document, separators=(",", ":"), sort_keys=True))
    cause = field_errors.invalid_value("patch", text, why)
    return status_errors.unprocessable(' ""', [cause])
