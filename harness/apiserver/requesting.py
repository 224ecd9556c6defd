"""What a request asks for: its path, its query and its headers, understood once."""

import dataclasses
import urllib.parse
from collections.abc import Mapping

from harness.apiserver import field_selectors, resources, selectors, statuses, watching

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})  # Go's ParseBool
_FALSE = frozenset({"", "0", "f", "F", "false", "FALSE", "False"})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The resource part of a path."""

    resource: resources.ResourceType
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Lower-case names."""
    body: bytes

    def flag(self, name: str) -> bool:
        """A boolean of the query, as Go parses it; 400 for anything else."""
        text = self.query.get(name, "")
        if text in _TRUE:
            return True
        if text in _FALSE:
            return False
        raise statuses.bad_request(f'strconv.ParseBool: parsing "{text}": invalid syntax')

    def integer(self, name: str) -> int | None:
        """A non-negative integer of the query, None when it is absent; 400 for anything else."""
        text = self.query.get(name, "")
        if not text:
            return None
        if not text.isdecimal():
            raise statuses.bad_request(f"invalid value {text!r} for the query parameter {name}")
        return int(text)

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to be stored."""
        return self.query.get("dryRun") == "All"

    def wants_table(self) -> bool:
        """Whether kubectl would like a Table."""
        return "as=Table" in self.headers.get("accept", "")

    def selection(self, target: Target) -> watching.Selection:
        """What a list or watch of the target is about."""
        label, field = self.query.get("labelSelector", ""), self.query.get("fieldSelector", "")
        if target.name:
            field = ",".join(part for part in (field, f"metadata.name={target.name}") if part)
        return watching.Selection(
            resource=target.resource,
            namespace=target.namespace,
            label=selectors.label_selector(label) if label else None,
            field=field_selectors.field_selector(target.resource, field) if field else None,
        )


def parse_query(text: str) -> dict[str, str]:
    """The query; of a repeated key the first value counts, as in Go."""
    if not text:
        return {}
    pairs = urllib.parse.parse_qsl(text, keep_blank_values=True)
    return dict(reversed(pairs))


def parse_target(path: str) -> Target | None:
    """The resource that a path names, None for paths of another kind."""
    parts = [urllib.parse.unquote(part) for part in path.strip("/").split("/")]
    match parts:
        case ["api", version, *rest] if rest:
            return _target("", version, rest)
        case ["apis", group, version, *rest] if rest:
            return _target(group, version, rest)
    return None


def _target(group: str, version: str, rest: list[str]) -> Target | None:
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "")[:3]
    resource = resources.find(group, version, plural)
    if resource is None or len(rest) > 3 or (namespace and not resource.namespaced):
        return None
    if subresource and subresource not in resource.subresources:
        return None
    if name and resource.namespaced and not namespace:
        return None
    return Target(resource=resource, namespace=namespace, name=name, subresource=subresource)
