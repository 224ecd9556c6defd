"""Objects from requests and from patches: decoded, checked as `fieldValidation` asks, in the words of the real server.

Strict refuses unknown and duplicate fields, Warn (the default) names them in Warning headers, Ignore drops them silently. Values of the
wrong type are refused always.
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
_OPERATION = ("op", "path", "from", "value")
_TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_SCHEME = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"


@dataclasses.dataclass(frozen=True, slots=True)
class Validation:
    """What to do about fields that do not exist or come twice."""

    directive: str = ""
    warnings: list[str] = dataclasses.field(default_factory=list)
    """For the writer, when the directive asks for them."""

    @property
    def wanted(self) -> bool:
        """Whether anybody wants to know."""
        return self.directive != "Ignore"

    def refusal(self, problems: list[str]) -> str:
        """The message of a refusal, "" when there is none; what is not refused is warned of."""
        if problems and self.directive == "Strict":
            return f"strict decoding error: {', '.join(problems)}"
        self.warnings.extend(problems)
        return ""


def read(body: bytes, resource: resources.ResourceType, validation: Validation) -> Document:
    """The object in a body, as Go would read it; 400 when there is none of this resource in it."""
    raw = _parse_object(body, resource)
    try:
        group, version, kind = _kind_of(raw, resource)
    except ValueError as error:
        raise _without_kind(resource, str(error), body) from error
    found = _type_of(group, version, kind)
    if found is None:
        raise unfit(kind, version, resource.kind, unregistered(group, version, kind))
    document, problems = _decode(found, raw, body, wanted=validation.wanted)
    if isinstance(document, str):
        raise unfit(kind, version, resource.kind, document)
    _require_kind(group, version, kind, resource)
    if refusal := validation.refusal(problems):
        raise unfit(kind, version, resource.kind, refusal)
    return document


def patched(
    document: Document,
    resource: resources.ResourceType,
    validation: Validation,
    problems: list[str],
    *,
    is_text: bool = False,
) -> Document:
    """A patched object, as Go would read it; 422 when it cannot be one. The problems are those of the patch itself.

    JSON and merge patches change the object's text, its kind included; what they leave must still be an object of the resource.
    """
    kind = _patched_type(document, resource) if is_text else api_types.of(resource)
    tally = decoding.Tally()
    try:
        made: Document = decoding.read(kind, document, tally)
    except decoding.MismatchError:
        raise _bad_patch(document, strict_decoding.mismatch(kind, document)) from None
    if kind is not api_types.of(resource):
        _, version, name = _kind_of(document, resource)
        raise _bad_patch(document, _unconvertible(version, name, resource))
    if tally.unknown and validation.wanted:
        problems = problems + strict_decoding.problems(kind, document)
    if refusal := validation.refusal(problems):
        raise _bad_patch(document, refusal)
    return made


def _patched_type(document: Document, resource: resources.ResourceType) -> api_types.Type:
    try:
        group, version, kind = _kind_of(document, resource)
    except ValueError as error:
        raise _bad_patch(document, str(error)) from error
    found = _type_of(group, version, kind)
    if found is None:
        raise _bad_patch(document, unregistered(group, version, kind))
    return found


def decode_patch(
    body: bytes, validation: Validation, *, is_text: bool = False
) -> tuple[Any, list[str]]:
    """A patch, and what strict decoding objects to in it; a list is one of JSON patch operations."""
    start = "error decoding patch: " if is_text else ""
    try:
        limit = json_bodies.VALUES_MAX if is_text else json_bodies.MERGED_VALUES_MAX
        patch = _parse(body, limit)
        return (patch, []) if not validation.wanted else _careful_patch(patch, body)
    except RecursionError as error:
        raise status_errors.bad_request(f"{start}{go_json_errors.TOO_DEEP}") from error
    except ValueError as error:
        raise status_errors.bad_request(f"{start}{error}") from error


def _careful_patch(patch: Any, body: bytes) -> tuple[Any, list[str]]:
    if isinstance(patch, list):
        return patch, [f"json patch {problem}" for problem in _operation_problems(body)]
    if _mentions(body, decoding.count_keys(patch)):
        return patch, []
    careful = strict_decoding.parse(body)
    return careful, strict_decoding.duplicates(careful)


def _operation_problems(body: bytes) -> list[str]:
    operations = strict_decoding.parse(body)
    unknown = [
        f'unknown field "[{index}].{name}"'
        for index, operation in enumerate(operations)
        if isinstance(operation, dict)
        for name in operation
        if name not in _OPERATION
    ]
    return strict_decoding.duplicates(operations) + unknown


# ------------------------------------------------------------------ parsing


def _parse(body: bytes, values_max: int = json_bodies.VALUES_MAX) -> Any:
    """The JSON in a body; ValueError with Go's message when there is none."""
    try:
        return json_bodies.decode(body, values_max=values_max)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if message := go_json_errors.error(body):
            raise ValueError(message) from error
        return strict_decoding.parse(body)  # halves of surrogate pairs, which Go replaces


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
    """Group, version and kind that a document says it has; what it does not say is the resource's."""
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
    kind: api_types.Type, raw: Document, body: bytes, *, wanted: bool
) -> tuple[Document | str, list[str]]:
    """The document and its problems if these are wanted; the message instead of a document that does not fit its type."""
    tally = decoding.Tally()
    try:
        document: Document = decoding.read(kind, raw, tally)
    except decoding.MismatchError:
        return strict_decoding.mismatch(kind, raw), []
    clean = not tally.unknown and _mentions(body, tally.keys)
    if clean or not wanted:
        return document, []
    careful = strict_decoding.parse(body)
    problems = strict_decoding.problems(kind, careful)
    return decoding.read(kind, careful, tally), problems


def _mentions(body: bytes, keys: int) -> bool:
    """Whether a text that has this many keys names each only once.

    Every key is followed by a colon, so there are at most as many as there are colons; and at most as many as there are quotes
    before a colon, once white space is gone. Other colons and quotes are in strings.
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
    """Why a kind that does not exist cannot be read."""
    known = f'no kind "{kind}" is registered for version "{_joined(group, version)}"'
    return f'{known} in scheme "{_SCHEME}"'


def _unconvertible(version: str, kind: str, resource: resources.ResourceType) -> str:
    source, target = f"{version}.{kind}", f"{_internal(resource.group)}.{resource.kind}"
    return f"converting ({source}) to ({target}): unknown conversion"


def _internal(group: str) -> str:
    """The Go package of a group's internal types; events of both groups are the same."""
    return "core" if group in ("", "events.k8s.io") else group.partition(".")[0]


def _joined(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


def unfit(kind: str, version: str, expected: str, why: str) -> status_errors.StatusError:
    """400: what was read is no object of the expected kind."""
    return status_errors.bad_request(
        f'{kind} in version "{version}" cannot be handled as a {expected}: {why}'
    )


def unrecognized(expected: str, why: str, body: bytes) -> status_errors.StatusError:
    """400: of what was sent not even the kind could be read."""
    return status_errors.bad_request(
        f"the object provided is unrecognized (must be of type {expected}): {why} ({_summary(body)})"
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


def _bad_patch(shown: Any, why: str) -> status_errors.StatusError:
    text = json.dumps(json.dumps(shown, separators=(",", ":"), sort_keys=True))
    cause = field_errors.invalid_value("patch", text, why)
    return status_errors.unprocessable(' ""', [cause])
