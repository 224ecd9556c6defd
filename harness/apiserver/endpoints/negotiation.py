"""Content negotiation: responses are JSON, of the object or of a view of it.

A view is a Table or PartialObjectMetadata in place of the object, or aggregated discovery.
"""

import dataclasses
import functools
from collections.abc import Iterator

from harness.apiserver import printers
from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import status_errors

JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
DISCOVERY = "APIGroupDiscoveryList"
_RANGES = (JSON, "*/*")
_META_VIEWS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
_VIEWS = frozenset(
    {(view, "meta.k8s.io", "v1") for view in _META_VIEWS}
    | {(DISCOVERY, "apidiscovery.k8s.io", "v2")}
)


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """A form of response that a client accepts."""

    view: str = ""
    """`Table`, `PartialObjectMetadata`, `PartialObjectMetadataList` or `APIGroupDiscoveryList`.

    "" for the object itself.
    """
    include_object: str = "Metadata"
    """The part of each object that a row of a Table has: `None`, `Metadata` or `Object`."""


PLAIN = Form()
"""The object itself: the form of a response to a request without an Accept header."""


def of(request: request_info.Request) -> Form:
    """Return the form of the response to a request for a resource.

    Raises 400 for an unknown option, 406 if the client accepts no form that the server has.
    """
    chosen = form(request.headers.get("accept", ""))
    if "includeObject" not in request.query:
        return chosen
    include = printers.include(request.query["includeObject"])
    return dataclasses.replace(chosen, include_object=include)


@functools.lru_cache(512)
def form(accept: str, *, is_discovery: bool = False) -> Form:
    """Return the form that the client prefers. Raises 406 if it accepts none."""
    if not accept.strip():
        return PLAIN
    clauses = sorted(_clauses(accept), key=lambda clause: (-clause[0], "*" in clause[1]))
    for _, media, parameters in clauses:
        view = parameters.get("as", "")
        named = (view, parameters.get("g", ""), parameters.get("v", ""))
        is_known = not view or (named in _VIEWS and (view == DISCOVERY) is is_discovery)
        if media in _RANGES and is_known:
            return Form(view)
    why = f"only the following media types are accepted: {JSON}"
    is_about_view = any(media in _RANGES for _, media, _ in clauses)
    raise status_errors.StatusError(406, "NotAcceptable", why, None if is_about_view else {})


def not_acceptable(message: str) -> status_errors.StatusError:
    """Return 406, reason `NotAcceptable`."""
    return status_errors.StatusError(406, "NotAcceptable", message)


def _clauses(accept: str) -> Iterator[tuple[float, str, dict[str, str]]]:
    """Yield the quality, the media range and the parameters of each clause."""
    for clause in accept.split(","):
        media, *rest = (part.strip() for part in clause.split(";"))
        parameters = dict(part.partition("=")[::2] for part in rest)
        try:
            quality = float(parameters.get("q", "1"))
        except ValueError:
            quality = 0.0
        yield quality, media.lower(), parameters
