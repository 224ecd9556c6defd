"""The paths that are no resources: health, version, discovery, OpenAPI; and what is said of paths that do not exist."""

from harness.apiserver import (
    answers,
    discovery,
    negotiating,
    openapi,
    openapi_protobuf,
    rendering,
    requesting,
    resources,
    statuses,
    storing,
)

TEXT = "text/plain; charset=utf-8"
_CHECKS = {
    "healthz": ("ping", "log", "etcd"),
    "livez": ("ping", "log", "etcd"),
    "readyz": ("ping", "log", "etcd-readiness", "informer-sync", "shutdown"),
}
_NO_PAGE = b"404 page not found\n"


def answer(request: requesting.Request) -> answers.Answer:
    """What is at a path that is no resource's; StatusError when nothing is."""
    if request.path.startswith("//"):
        return answers.Answer(404, _NO_PAGE, TEXT)
    parts = request.path.strip("/").split("/")
    match parts:
        case [kind, *check] if kind in _CHECKS:
            return _health(request, kind, "/".join(check))
        case ["openapi", "v2"]:
            return _openapi_2(request.headers.get("accept", ""))
        case ["openapi", "v3", *rest]:
            return _openapi("/".join(rest))
        case ["version"] | ["api", *_] | ["apis", *_]:
            return _discovery(request, parts)
    return answers.Answer(404, _NO_PAGE, TEXT)


def _health(request: requesting.Request, kind: str, check: str) -> answers.Answer:
    if request.path.endswith("/") or (check and check not in _CHECKS[kind]):
        return answers.Answer(404, _NO_PAGE, TEXT)
    if check or "verbose" not in request.query:
        return answers.Answer(200, b"ok", TEXT)
    lines = [f"[+]{name} ok" for name in _CHECKS[kind]]
    return answers.Answer(200, "\n".join([*lines, f"{kind} check passed\n"]).encode(), TEXT)


def _openapi(rest: str) -> answers.Answer:
    body = openapi.index() if not rest else openapi.document(rest)
    if body is None:
        return answers.Answer(404, b"", "")
    return answers.Answer(200, body, negotiating.JSON if rest else TEXT)


def _openapi_2(accept: str) -> answers.Answer:
    """In protobuf for who understands nothing else, as kubectl did before 1.29."""
    if accept and not any(kind in accept for kind in ("json", "*/*")):
        body = openapi.document_2(as_protobuf=True)
        return answers.Answer(200, body, openapi_protobuf.MEDIA_TYPE)
    return answers.Answer(200, openapi.document_2())


def _discovery(request: requesting.Request, parts: list[str]) -> answers.Answer:
    is_root = len(parts) == 1 and parts[0] != "version"
    if len(parts) == 3 and parts[0] == "api" and parts[2] in ("watch", "proxy"):
        why = f"unable to determine kind and namespace from url, {request.path}"
        text = f'Internal Server Error: "{request.path}": failed to create RequestInfo: {why}\n'
        return answers.Answer(500, text.encode(), TEXT)
    if parts[0] == "apis" and len(parts) > 1 and parts[1] not in resources.groups():
        return answers.Answer(404, _NO_PAGE, TEXT)
    form = negotiating.form(request.headers.get("accept", ""), is_discovery=is_root)
    document = discovery.answer(parts, is_aggregated=form.view == negotiating.DISCOVERY)
    if document is None:
        raise statuses.unknown_path()
    if request.method != "GET" and not is_root:
        raise statuses.method_not_allowed()
    if form.view:
        aggregated = f"{form.media};g=apidiscovery.k8s.io;v={form.version};as={form.view}"
        return answers.Answer(200, storing.encode(document), aggregated)
    if form.media == negotiating.YAML:
        return answers.Answer(200, rendering.to_yaml(document), form.media)
    return answers.of(document)
