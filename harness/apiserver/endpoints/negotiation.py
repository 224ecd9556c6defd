"""Content negotiation: responses are JSON, of the object or of a view of it.

A view is a Table or PartialObjectMetadata in place of the object, or aggregated discovery.
"""

import functools
from collections.abc import Iterator

from harness.apiserver.errors import status_errors

JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE, METADATA, DISCOVERY = "Table", "PartialObjectMetadata", "APIGroupDiscoveryList"
_VIEWS = {
    ("", "", ""): "",
    (TABLE, "meta.k8s.io", "v1"): TABLE,
    (METADATA, "meta.k8s.io", "v1"): METADATA,
    (f"{METADATA}List", "meta.k8s.io", "v1"): METADATA,
    (DISCOVERY, "apidiscovery.k8s.io", "v2"): DISCOVERY,
}
_ANY = (JSON, "*/*", "application/*")


@functools.lru_cache(512)
def view(accept: str) -> str:
    """Return the view that a client prefers, "" for the object. Raises 406 if it accepts none."""
    clauses = sorted(_clauses(accept or JSON), key=lambda clause: -clause[0])
    for _, media, named in clauses:
        if media in _ANY and named in _VIEWS:
            return _VIEWS[named]
    why = f"only the following media types are accepted: {JSON}"
    raise status_errors.StatusError(406, "NotAcceptable", why)


def _clauses(accept: str) -> Iterator[tuple[float, str, tuple[str, str, str]]]:
    """Yield the quality, the media range and the view of each clause."""
    for clause in accept.split(","):
        media, *rest = (part.strip() for part in clause.split(";"))
        parameters = dict(part.partition("=")[::2] for part in rest)
        try:
            quality = float(parameters.get("q", "1"))
        except ValueError:
            quality = 0.0
        named = (parameters.get("as", ""), parameters.get("g", ""), parameters.get("v", ""))
        yield quality, media.lower(), named
