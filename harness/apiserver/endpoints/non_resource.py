"""Non-resource paths: health checks, `/version`, discovery and OpenAPI; 404 for unknown paths."""

from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import (
    discovery,
    negotiation,
    openapi,
    request_info,
    responses,
)
from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources

TEXT = "text/plain; charset=utf-8"
_CHECKS = {
    "healthz": ("ping", "log", "etcd"),
    "livez": ("ping", "log", "etcd"),
    "readyz": ("ping", "log", "etcd-readiness", "informer-sync", "shutdown"),
}
_NO_PAGE = b"404 page not found\n"


def answer(request: request_info.Request) -> responses.Response:
    """Return the response for a path that names no resource.

    Raises StatusError 404, 405 or 406 for discovery.
    """
    if request.path.startswith("//"):
        return responses.Response(404, _NO_PAGE, TEXT)
    parts = request.path.strip("/").split("/")
    match parts:
        case [kind, *check] if kind in _CHECKS:
            return _health(request, kind, "/".join(check))
        case ["openapi", "v3", *rest]:
            return _openapi("/".join(rest))
        case ["version"] | ["api", *_] | ["apis", *_]:
            return _discovery(request, parts)
    return responses.Response(404, _NO_PAGE, TEXT)


def _health(request: request_info.Request, kind: str, check: str) -> responses.Response:
    if request.path.endswith("/") or (check and check not in _CHECKS[kind]):
        return responses.Response(404, _NO_PAGE, TEXT)
    if check or "verbose" not in request.query:
        return responses.Response(200, b"ok", TEXT)
    lines = [f"[+]{name} ok" for name in _CHECKS[kind]]
    return responses.Response(200, "\n".join([*lines, f"{kind} check passed\n"]).encode(), TEXT)


def _openapi(rest: str) -> responses.Response:
    body = openapi.index() if not rest else openapi.document(rest)
    if body is None:
        return responses.Response(404, b"", "")
    return responses.Response(200, body, negotiation.JSON if rest else TEXT)


def _discovery(request: request_info.Request, parts: list[str]) -> responses.Response:
    is_root = len(parts) == 1 and parts[0] != "version"
    if parts[0] == "apis" and len(parts) > 1 and parts[1] not in resources.groups():
        return responses.Response(404, _NO_PAGE, TEXT)
    form = negotiation.form(request.headers.get("accept", ""), is_discovery=is_root)
    document = discovery.answer(parts, is_aggregated=form.view == negotiation.DISCOVERY)
    if document is None:
        raise status_errors.unknown_path()
    if request.method != "GET" and not is_root:
        raise status_errors.method_not_allowed()
    if form.view:
        aggregated = f"{negotiation.JSON};g=apidiscovery.k8s.io;v=v2;as={form.view}"
        return responses.Response(200, json_codec.encode(document), aggregated)
    return responses.of_document(document)
