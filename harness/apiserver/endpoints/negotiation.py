"""Content negotiation: the form of a response, which is its media type and its view.

A view is a Table or PartialObjectMetadata in place of the object, or aggregated discovery.
"""

import dataclasses
import functools
from collections.abc import Mapping

from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import status_errors
from harness.apiserver.printers import printed_tables

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
DISCOVERY = "APIGroupDiscoveryList"
MEDIA_TYPES = (JSON, YAML, PROTOBUF)
_STREAMS = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
_TRUE = ("1", "true")
_META_VIEWS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
_VIEWS = frozenset(
    {(view, "meta.k8s.io", version) for view in _META_VIEWS for version in ("v1", "v1beta1")}
    | {(DISCOVERY, "apidiscovery.k8s.io", "v2")}
)


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """A form of response that a client accepts."""

    media: str = JSON
    view: str = ""
    """`Table`, `PartialObjectMetadata`, `PartialObjectMetadataList` or `APIGroupDiscoveryList`.

    "" for the object itself.
    """
    version: str = "v1"
    """The API version of the view."""
    include_object: str = "Metadata"
    """The part of each object that a row of a Table has: `None`, `Metadata` or `Object`."""
    is_pretty: bool = False
    """True for indented JSON."""


PLAIN = Form()
"""The object itself in JSON: the form of a response to a request without an Accept header."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Clause:
    media: str
    parameters: dict[str, str]
    quality: float


def of(request: request_info.Request, *, is_list: bool = False) -> Form:
    """Return the form of the response to a request for a resource.

    Raises 400 for an unknown option, 406 if the client accepts no form that the server has.
    """
    accept = request.headers.get("accept", "")
    chosen = _encodable(accept, is_list=is_list) if accept else PLAIN
    return _with_options(chosen, request.query) if request.query else chosen


def _encodable(accept: str, *, is_list: bool) -> Form:
    """Return the preferred form; a Table has no protobuf encoding."""
    for candidate in forms(accept, is_list=is_list):
        if candidate.media != PROTOBUF or candidate.view != "Table":
            return candidate
    raise not_acceptable(
        "object *v1.Table does not implement the protobuf marshalling interface and cannot be "
        "encoded to a protobuf message"
    )


def _with_options(chosen: Form, query: Mapping[str, str]) -> Form:
    if "includeObject" not in query and "pretty" not in query:
        return chosen
    return dataclasses.replace(
        chosen,
        include_object=printed_tables.include(query.get("includeObject", "")),
        is_pretty=query.get("pretty", "").lower() in _TRUE,
    )


def form(accept: str, *, is_list: bool = False, is_discovery: bool = False) -> Form:
    """Return the form that the client prefers. Raises 406 if it accepts none."""
    return forms(accept, is_list=is_list, is_discovery=is_discovery)[0]


@functools.lru_cache(512)
def forms(accept: str, *, is_list: bool = False, is_discovery: bool = False) -> tuple[Form, ...]:
    """Return all forms that the client accepts, by preference. Raises 406 if it accepts none."""
    clauses = [_clause(part) for part in accept.split(",")] if accept.strip() else []
    if not clauses:
        return (PLAIN,)
    if not any(clause.media in ("*/*", *MEDIA_TYPES) for clause in clauses):
        raise _no_route((*MEDIA_TYPES, *_STREAMS) if is_list else MEDIA_TYPES)
    clauses.sort(key=lambda clause: (-clause.quality, "*" in clause.media))
    accepted = [
        candidate
        for clause in clauses
        for media in MEDIA_TYPES
        if _matches(clause.media, media)
        and (candidate := _form(clause.parameters, media, is_discovery=is_discovery))
    ]
    if not accepted:
        raise not_acceptable(
            f"only the following media types are accepted: {', '.join(MEDIA_TYPES)}"
        )
    return tuple(accepted)


def media_of_status(accept: str) -> str:
    """Return the media type for a failure's Status; JSON if the client accepts none."""
    try:
        return forms(accept)[0].media
    except status_errors.StatusError:
        return JSON


def not_acceptable(message: str) -> status_errors.StatusError:
    """Return 406, reason `NotAcceptable`."""
    return status_errors.StatusError(406, "NotAcceptable", message)


def _no_route(media_types: tuple[str, ...]) -> status_errors.StatusError:
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(media_types)}"
    return status_errors.StatusError(406, "NotAcceptable", message, {})


def _clause(text: str) -> _Clause:
    media, *rest = (part.strip() for part in text.split(";"))
    parameters = dict(part.partition("=")[::2] for part in rest)
    try:
        quality = float(parameters.get("q", "1"))
    except ValueError:
        quality = 0.0
    return _Clause(media.lower(), parameters, quality)


def _matches(media_range: str, media: str) -> bool:
    kind, _, _ = media.partition("/")
    return media_range in (media, "*/*", f"{kind}/*")


def _form(parameters: dict[str, str], media: str, *, is_discovery: bool) -> Form | None:
    """Return the form that one clause asks for; None if its view does not exist."""
    view = parameters.get("as", "")
    if not view:
        return Form(media)
    version = parameters.get("v", "")
    if (view, parameters.get("g", ""), version) not in _VIEWS:
        return None
    return Form(media, view, version) if (view == DISCOVERY) is is_discovery else None
