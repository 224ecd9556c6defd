"""Parsed requests: the resource that a path names, its verb, the query, and the headers."""

import dataclasses
import functools
import re
import urllib.parse
from collections.abc import Mapping

import msgspec

from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.storage import selectors, watch_cache

READING_VERBS = frozenset({"get", "list", "watch", "head", "options"})
_COLLECTION_VERBS = {"GET": "list", "HEAD": "list", "POST": "create", "DELETE": "deletecollection"}
_OBJECT_VERBS = {"GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
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
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def is_object(self) -> bool:
        """True if bodies carry the whole object, with a subresource (`status`) or without."""
        return not self.subresource or self.subresource in _OBJECT_SUBRESOURCES

    @property
    def body_type(self) -> resources.ResourceType:
        """The resource, with the group, version and kind of the target's bodies."""
        if self.is_object:
            return self.resource
        return resources.carried_by(self.resource, self.subresource)


class Request(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One HTTP request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Header values by lower-case name."""
    body: bytes

    @functools.cached_property
    def target(self) -> Target | None:
        """The resource, object or subresource that the path names, None if it names none."""
        try:
            return _parse_target(self.path)
        except LookupError:
            return None

    @functools.cached_property
    def verb(self) -> str:
        """The verb of a request for a resource; of one for another path its method."""
        target = self.target
        return self.verb_on(target) if target is not None else self.method.lower()

    def verb_on(self, target: Target) -> str:
        """Return the verb of a request for a target, "" for a method that no target has."""
        asks_to_watch = not target.name and self.flag("watch")
        if asks_to_watch and self.method == "GET" and target.resource.is_stored:
            return "watch"
        if self.method == "POST" and target.subresource:
            return "create"
        verbs = _OBJECT_VERBS if target.name else _COLLECTION_VERBS
        return verbs.get(self.method, "")

    @property
    def content_type(self) -> str:
        """The media type of the body in lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def user_agent(self) -> str:
        return self.headers.get("user-agent", "")

    def flag(self, name: str) -> bool:
        """Return a boolean of the query: true if it is present and neither `0` nor `false`."""
        text = self.query.get(name)
        return text is not None and text.lower() not in _FALSE

    def integer(self, name: str) -> int | None:
        """Return an integer of the query, None if it is absent. Raises 400 if it is malformed."""
        text = self.query.get(name, "")
        if not text:
            return None
        if not re.fullmatch(r"[-+]?[0-9]{1,18}", text):
            raise status_errors.bad_request(f"expected an integer for {name}, got {text!r}")
        return int(text)

    @property
    def version(self) -> int:
        """The `resourceVersion` of the query, 0 for any. Raises 400 if it is no version."""
        return max(self.integer("resourceVersion") or 0, 0)

    def selection(self, target: Target) -> watch_cache.Selection:
        """Return the selection of a list or watch. Raises 400 if a selector is malformed."""
        label, field = self.query.get("labelSelector", ""), self.query.get("fieldSelector", "")
        if target.name:
            field = ",".join(part for part in (field, f"metadata.name={target.name}") if part)
        return watch_cache.Selection(
            resource=target.resource,
            namespace=target.namespace,
            label=selectors.label_selector(label) if label.strip() else None,
            field=selectors.field_selector(target.resource, field) if field else None,
        )


def of_url(url: str, *, method: str, content_type: str, body: bytes | None = None) -> Request:
    """Return a request for a URL's path and query, with no header but `Content-Type`."""
    path, _, query = url.partition("?")
    return Request(
        method=method,
        path=path,
        query=parse_query(query),
        headers={"content-type": content_type},
        body=body or b"",
    )


@functools.lru_cache(_CACHE_SIZE)
def parse_query(text: str) -> Mapping[str, str]:
    """Return a query's parameters; the first value of a repeated key wins, as in Go."""
    if not text:
        return {}
    pairs = urllib.parse.parse_qsl(text, keep_blank_values=True)
    return dict(reversed(pairs))


@functools.lru_cache(_CACHE_SIZE)
def _parse_target(path: str) -> Target:
    """Return the target that a path names. Raises LookupError if it names none.

    An error is not cached, so a version that `resources.enable` adds later is found.
    """
    parts = [urllib.parse.unquote(part) for part in path.strip("/").split("/")]
    match parts:
        case ["api", version, *rest] if rest:
            return _target("", version, rest)
        case ["apis", group, version, *rest] if rest:
            return _target(group, version, rest)
    raise LookupError(path)


def _target(group: str, version: str, rest: list[str]) -> Target:
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
    return Target(resource=resource, namespace=namespace, name=name, subresource=subresource)


def require_verb(request: Request, target: Target) -> str:
    """Return the verb of a request. Raises 405 if the resource does not support it."""
    verb, resource = request.verb_on(target), target.resource
    supported = resource.verbs
    if target.subresource:
        supported = resource.subresource(target.subresource).verbs
    elif resource.namespaced and not target.namespace and verb not in ("list", "watch"):
        supported = ()  # across namespaces, objects can only be listed
    if verb not in supported:
        raise status_errors.method_not_allowed()
    return verb
