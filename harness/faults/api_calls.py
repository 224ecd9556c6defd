"""API calls as faults see them: client, verb, and the resource and object that a path names."""

import dataclasses
import urllib.parse

_CLIENT_PREFIX = "flake-hunt:"
"""Prefix of the users that the kubeconfigs of a run's clients impersonate."""
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    """One call, in the words of Kubernetes' RequestInfo."""

    verb: str
    """`get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`; the
    method in lower case for paths that name no resource."""
    resource: str = ""
    """Plural name; empty for paths that name no resource."""
    subresource: str = ""
    namespace: str = ""
    """Empty for cluster-scoped objects and for calls across all namespaces."""
    name: str = ""
    """Empty if the path names no object, as in a create."""


def user_of(client: str) -> str:
    """Return the user that the client of this name impersonates: `flake-hunt:scheduler`."""
    return f"{_CLIENT_PREFIX}{client}"


def client_of(user: str) -> str:
    """Return the name of the client that impersonates this user; empty if none does."""
    return user.removeprefix(_CLIENT_PREFIX) if user.startswith(_CLIENT_PREFIX) else ""


def parse(method: str, path: str, query: str = "") -> ApiCall:
    """Return the call that a request makes; `path` and `query` as sent, without the `?`."""
    segments = _resource_segments(path)
    if segments is None:
        return ApiCall(verb=method.lower())
    is_watch = _is_watch(query)
    if len(segments) > 1 and segments[0] == "watch":
        segments, is_watch = segments[1:], True
    namespace, rest = _split_namespace(segments)
    resource, name, subresource = (*rest, "", "", "")[:3]
    return ApiCall(
        verb=_verb(method, has_name=bool(name), is_watch=is_watch),
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
    )


def _resource_segments(path: str) -> list[str] | None:
    segments = [urllib.parse.unquote(part) for part in path.strip("/").split("/")]
    match segments:
        case ["api", _, *rest] if rest:
            return rest
        case ["apis", _, _, *rest] if rest:
            return rest
    return None


def _split_namespace(segments: list[str]) -> tuple[str, list[str]]:
    """Return the namespace and the segments after it.

    A namespace itself, and its subresources `status` and `finalize`, are cluster-scoped.
    """
    match segments:
        case ["namespaces", _, "status" | "finalize"]:
            return "", segments
        case ["namespaces", namespace, *rest] if rest:
            return namespace, rest
    return "", segments


def _verb(method: str, *, has_name: bool, is_watch: bool) -> str:
    match method:
        case "GET" | "HEAD" if is_watch:
            return "watch"
        case "GET" | "HEAD":
            return "get" if has_name else "list"
        case "DELETE":
            return "delete" if has_name else "deletecollection"
    return _VERBS.get(method, method.lower())


def _is_watch(query: str) -> bool:
    if "watch=" not in query:
        return False
    flags = urllib.parse.parse_qs(query).get("watch", [])
    return bool(flags) and flags[0].lower() not in ("", "0", "false")
