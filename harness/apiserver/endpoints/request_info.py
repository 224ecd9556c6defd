"""Parsed requests: the resource that a path names, its verb, the query, and the headers."""

import dataclasses
import functools
import re
import urllib.parse
from collections.abc import Mapping

import msgspec

from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.storage import field_selectors, label_selectors, watch_cache

_FALSE = ("0", "false")
_CACHE_SIZE = 4096
"""Number of paths, and of queries, whose parsed form is cached."""
_OBJECT_SUBRESOURCES = ("approval", "finalize", "status")
_NAMESPACE_SUBRESOURCES = ("status", "finalize")
"""Subresources of namespaces; any other segment after the name is a namespaced resource."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The resource, object or subresource that a path names."""

    resource: resources.ResourceType
    namespace: str
    name: str
    subresource: str
    is_watch: bool
    """True if the path has the deprecated `watch/` prefix."""
    is_object: bool
    """True if bodies carry the whole object, with a subresource (`status`) or without."""
    body_type: resources.ResourceType
    """The resource, with the group, version and kind of the target's bodies."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Header values by lower-case name."""
    body: bytes

    def flag(self, name: str) -> bool:
        """Return a boolean of the query: true if it is present and neither `0` nor `false`."""
        text = self.query.get(name)
        return text is not None and text.lower() not in _FALSE

    def integer(self, name: str) -> int | None:
        """Return an integer of the query, None if it is absent. Raises 400 if it is malformed."""
        text = self.query.get(name, "")
        if not text:
            return None
        return parse_integer(text)

    def selection(self, target: Target) -> watch_cache.Selection:
        """Return the selection of a list or watch. Raises 400 if a selector is malformed."""
        label, field = self.query.get("labelSelector", ""), self.query.get("fieldSelector", "")
        if target.name:
            field = ",".join(part for part in (field, f"metadata.name={target.name}") if part)
        return watch_cache.Selection(
            resource=target.resource,
            namespace=target.namespace,
            label=label_selectors.label_selector(label) if label.strip() else None,
            field=field_selectors.field_selector(target.resource, field) if field else None,
        )


def of_target(url: str, *, method: str, content_type: str, body: bytes | None = None) -> Request:
    """Return a request for a URL's path and query, with no header but `Content-Type`."""
    path, _, query = url.partition("?")
    return Request(
        method=method,
        path=path,
        query=parse_query(query),
        headers={"content-type": content_type},
        body=body or b"",
    )


def parse_integer(text: str) -> int:
    """Return an integer of at most 18 digits. Raises 400 for anything else."""
    if not re.fullmatch(r"[-+]?[0-9]{1,18}", text):
        raise status_errors.bad_request(f"expected an integer, got {text!r}")
    return int(text)


@functools.lru_cache(_CACHE_SIZE)
def parse_query(text: str) -> Mapping[str, str]:
    """Return a query's parameters; the first value of a repeated key wins, as in Go."""
    if not text:
        return {}
    pairs = urllib.parse.parse_qsl(text, keep_blank_values=True)
    return dict(reversed(pairs))


def parse_target(path: str) -> Target | None:
    """Return the target that a path names, None for non-resource paths."""
    try:
        return _parse_target(path)
    except LookupError:
        return None


def require_target(path: str) -> Target:
    """Return the target that a path names. Raises 404 if it names none."""
    target = parse_target(path)
    if target is None:
        raise status_errors.unknown_path()
    return target


def watched(request: Request) -> Target | None:
    """Return the target of a watch request, None if the request is not a watch."""
    target = parse_target(request.path)
    return target if target is not None and is_watch(request, target) else None


def is_watch(request: Request, target: Target) -> bool:
    """Return whether a request for a target is a watch."""
    if request.method != "GET" or "watch" not in target.resource.verbs:
        return False
    return target.is_watch or (not target.name and request.flag("watch"))


@functools.lru_cache(_CACHE_SIZE)
def _parse_target(path: str) -> Target:
    """Return the target that a path names. Raises LookupError if it names none.

    An error is not cached, so a version that `resources.enable` adds later is found.
    """
    if path.startswith("//"):
        raise LookupError(path)
    parts = [urllib.parse.unquote(part) for part in path.strip("/").split("/")]
    match parts:
        case ["api", version, *rest] if rest:
            return _target("", version, rest)
        case ["apis", group, version, *rest] if rest:
            return _target(group, version, rest)
    raise LookupError(path)


def _target(group: str, version: str, rest: list[str]) -> Target:
    is_watch = rest[0] == "watch" and len(rest) > 1
    if is_watch:
        rest = rest[1:]
    namespace, is_below = "", False
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest, is_below = rest[1], rest[2:], True
    plural, name, subresource = (*rest, "", "")[:3]
    resource = resources.find(group, version, plural)
    if resource is None or len(rest) > 3 or (is_below and not resource.namespaced):
        raise LookupError(plural)
    if subresource and subresource not in resource.subresources:
        raise LookupError(subresource)
    if name and resource.namespaced and not namespace:
        raise LookupError(name)
    is_object = not subresource or subresource in _OBJECT_SUBRESOURCES
    return Target(
        resource=resource,
        namespace=namespace,
        name=name,
        subresource=subresource,
        is_watch=is_watch,
        is_object=is_object,
        body_type=resource if is_object else resources.carried_by(resource, subresource),
    )


COLLECTION_VERBS_BY_METHOD = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
"""Verbs of requests for a collection, by HTTP method."""
OBJECT_VERBS_BY_METHOD = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
"""Verbs of requests for one object, by HTTP method."""
_SUBRESOURCE_VERBS_BY_METHOD = {**OBJECT_VERBS_BY_METHOD, "POST": "create"}

READING_VERBS = frozenset({"get", "list", "watch", "head", "options"})
_OBJECT_VERBS = {**OBJECT_VERBS_BY_METHOD, "HEAD": "get"}
_COLLECTION_VERBS = {**COLLECTION_VERBS_BY_METHOD, "HEAD": "list"}


class Attributes(msgspec.Struct, frozen=True):
    """The attributes of a request. After k8s.io/apiserver/pkg/authorization/authorizer."""

    verb: str
    path: str
    target: Target | None
    """None for a non-resource path."""

    @property
    def is_read(self) -> bool:
        """True if the verb changes nothing."""
        return self.verb in READING_VERBS

    @property
    def name(self) -> str:
        """The object's name in the path, "" if there is none."""
        return self.target.name if self.target else ""


def of(request: Request) -> Attributes:
    """Return the attributes of a request; the verb of a non-resource path is its method."""
    target = parse_target(request.path)
    if target is None:
        return Attributes(request.method.lower(), request.path, None)
    if request.method == "POST":
        verb = "create"
    elif is_watch(request, target):
        verb = "watch"
    else:
        known = _OBJECT_VERBS if target.name else _COLLECTION_VERBS
        verb = known.get(request.method, request.method.lower())
    return Attributes(verb, request.path, target)


def verb_of(method: str, target: Target) -> str:
    """Return the verb of a method on a target. Raises 405 if the resource does not support it."""
    resource = target.resource
    supported = resource.verbs
    if target.subresource:
        verb = _SUBRESOURCE_VERBS_BY_METHOD.get(method)
        supported = resource.subresource(target.subresource).verbs
    elif target.name:
        verb = OBJECT_VERBS_BY_METHOD.get(method)
    else:
        verb = COLLECTION_VERBS_BY_METHOD.get(method)
        if resource.namespaced and not target.namespace and verb != "list":
            supported = ()  # across namespaces, objects can only be listed
    if verb is None or verb not in supported:
        raise status_errors.method_not_allowed()
    return verb
