"""Which form an answer takes: its media type, and whether it is the object, a table, or its metadata alone."""

import dataclasses

from harness.apiserver.codec import text_memoization
from harness.apiserver.errors import status_errors

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
DISCOVERY = "APIGroupDiscoveryList"
MEDIA_TYPES = (JSON, YAML, PROTOBUF)
_STREAMS = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
_META_VIEWS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
_VIEWS = frozenset(
    {(view, "meta.k8s.io", version) for view in _META_VIEWS for version in ("v1", "v1beta1")}
    | {(DISCOVERY, "apidiscovery.k8s.io", "v2")}
)


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """One form that a client accepts."""

    media: str = JSON
    view: str = ""
    """Table, PartialObjectMetadata, PartialObjectMetadataList, APIGroupDiscoveryList; "" is the object itself."""
    version: str = "v1"
    """The version of the view."""


PLAIN = Form()


@dataclasses.dataclass(frozen=True, slots=True)
class _Clause:
    media: str
    parameters: dict[str, str]
    quality: float


CLAUSES_MAX = 100
"""Of an Accept header, and parameters of each: what follows is not looked at."""


def form(accept: str, *, is_list: bool = False, is_discovery: bool = False) -> Form:
    """The form that the client likes best of those that it accepts; 406 when there is none."""
    return forms(accept, is_list=is_list, is_discovery=is_discovery)[0]


@text_memoization.small_texts(512)
def forms(accept: str, *, is_list: bool = False, is_discovery: bool = False) -> tuple[Form, ...]:
    """Every form that the client accepts, the best one first; 406 when there is none."""
    clauses = [_clause(part) for part in accept.split(",")[:CLAUSES_MAX]] if accept.strip() else []
    if not clauses:
        return (PLAIN,)
    if not any(clause.media in ("*/*", *MEDIA_TYPES) for clause in clauses):
        raise _no_route((*MEDIA_TYPES, *_STREAMS) if is_list else MEDIA_TYPES)
    clauses.sort(key=lambda clause: (-clause.quality, "*" in clause.media))
    found = [
        made
        for clause in clauses
        for media in MEDIA_TYPES
        if _matches(clause.media, media)
        and (made := _view(clause.parameters, media, is_discovery=is_discovery))
    ]
    if not found:
        raise not_acceptable(
            f"only the following media types are accepted: {', '.join(MEDIA_TYPES)}"
        )
    return tuple(found)


def media_of_status(accept: str) -> str:
    """The media type in which a client is told what went wrong: JSON when it accepts nothing that there is."""
    try:
        return forms(accept)[0].media
    except status_errors.StatusError:
        return JSON


def not_acceptable(message: str) -> status_errors.StatusError:
    """406: there is no such form."""
    return status_errors.StatusError(406, "NotAcceptable", message)


def _no_route(media_types: tuple[str, ...]) -> status_errors.StatusError:
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(media_types)}"
    return status_errors.StatusError(406, "NotAcceptable", message, {})


def _clause(text: str) -> _Clause:
    media, *rest = (part.strip() for part in text.split(";")[:CLAUSES_MAX])
    parameters = dict(part.partition("=")[::2] for part in rest)
    try:
        quality = float(parameters.get("q", "1"))
    except ValueError:
        quality = 0.0
    return _Clause(media.lower(), parameters, quality)


def _matches(wanted: str, media: str) -> bool:
    kind, _, _ = media.partition("/")
    return wanted in (media, "*/*", f"{kind}/*")


def _view(parameters: dict[str, str], media: str, *, is_discovery: bool) -> Form | None:
    """The form of one clause, None when it asks for a view that does not exist."""
    view = parameters.get("as", "")
    if not view:
        return Form(media)
    version = parameters.get("v", "")
    if (view, parameters.get("g", ""), version) not in _VIEWS:
        return None
    return Form(media, view, version) if (view == DISCOVERY) is is_discovery else None
