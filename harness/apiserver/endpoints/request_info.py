"""What a request asks for: its path, its query and its headers, understood once."""

import dataclasses
import re
import urllib.parse
from collections.abc import Mapping

import msgspec

from harness.apiserver.codec import text_memoization
from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.storage import field_selectors, label_selectors, watch_cache

_FALSE = ("0", "false")
_CACHE_SIZE = 4096
_INT64_END = 1 << 63
_INT64_DIGITS_MAX = 100
"""Longer texts are not made numbers of, which takes Python too long: even with leading zeros nobody writes them."""
_OWN_SUBRESOURCES = ("status", "finalize")
"""Of a namespace: what follows a namespace's name is a resource otherwise."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The resource part of a path."""

    resource: resources.ResourceType
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    is_watch: bool = False
    """Whether the path begins with watch/, as it did before there was a parameter for it."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Lower-case names."""
    body: bytes

    def flag(self, name: str) -> bool:
        """A boolean of the query, as Kubernetes reads it: whatever is given and does not say no."""
        text = self.query.get(name)
        return text is not None and text.lower() not in _FALSE

    def integer(self, name: str) -> int | None:
        """An integer of the query, None when it is absent; 400 for anything else."""
        text = self.query.get(name, "")
        if not text:
            return None
        return parse_integer(text)

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to be stored."""
        return self.query.get("dryRun") == "All"

    def selection(self, target: Target) -> watch_cache.Selection:
        """What a list or watch of the target is about."""
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
    """A request to a path with its query, from somebody who says no more of himself."""
    path, _, query = url.partition("?")
    return Request(
        method=method,
        path=path,
        query=parse_query(query),
        headers={"content-type": content_type},
        body=body or b"",
    )


def parse_integer(text: str) -> int:
    """Return an integer of 64 bits; 400 in Go's words for anything else."""
    why = "invalid syntax"
    if re.fullmatch(r"[-+]?[0-9]+", text):
        why = "value out of range"
        if len(text) <= _INT64_DIGITS_MAX and -_INT64_END <= (value := int(text)) < _INT64_END:
            return value
    raise status_errors.bad_request(f'strconv.ParseInt: parsing "{text}": {why}')


@text_memoization.small_text(_CACHE_SIZE)
def parse_query(text: str) -> Mapping[str, str]:
    """The query; of a repeated key the first value counts, as in Go."""
    if not text:
        return {}
    pairs = urllib.parse.parse_qsl(text, keep_blank_values=True)
    return dict(reversed(pairs))


def parse_target(path: str) -> Target | None:
    """The resource that a path names, None for paths of another kind."""
    try:
        return _parse_target(path, len(resources.ALL))
    except LookupError:
        return None


def watched(request: Request) -> Target | None:
    """What a watch request is about; None when it is no watch."""
    target = parse_target(request.path)
    if target is None or request.method != "GET" or "watch" not in target.resource.verbs:
        return None
    if target.is_watch:
        return target
    return target if not target.name and request.flag("watch") else None


@text_memoization.small_texts(_CACHE_SIZE)
def _parse_target(path: str, served: int) -> Target:  # noqa: ARG001 - versions may be enabled later
    """The target, while so many resources are served; LookupError, which is not remembered, when there is none."""
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
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _OWN_SUBRESOURCES:
        namespace, rest, is_below = rest[1], rest[2:], True
    plural, name, subresource = (*rest, "", "")[:3]
    resource = resources.find(group, version, plural)
    if resource is None or len(rest) > 3 or (is_below and not resource.namespaced):
        raise LookupError(plural)
    if subresource and subresource not in resource.subresources:
        raise LookupError(subresource)
    if name and resource.namespaced and not namespace:
        raise LookupError(name)
    return Target(
        resource=resource,
        namespace=namespace,
        name=name,
        subresource=subresource,
        is_watch=is_watch,
    )
