"""Replaces names in documents of a run: everywhere but in words of the API and of Flake Hunt."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from harness.report.redaction import documents, names, texts, values

_FIXED = (
    # records
    *("record", "verb", "resource", "outcome", "purpose", "process", "client", "carrier", "call"),
    *("subresource", "event_type", "goal", "run_id", "boot_id", "digest", "thread", "fault"),
    *("informer", "handler", "drawn_by", "resource_version", "version", "user"),
    "environment_name",
    # objects
    *("kind", "apiVersion", "apiGroup", "apiVersionGroup", "type", "uid", "claim_uid", "pod_uid"),
    *("auditID", "resourceVersion", "fieldsType", "operation", "operator", "effect", "phase"),
    *("level", "stage", "restartPolicy", "dnsPolicy", "imagePullPolicy", "protocol", "time"),
    *("terminationMessagePolicy", "terminationMessagePath", "allocationMode", "timestamp"),
)
"""Keys of texts that are words of ours or of the API, or that tell nothing."""
_PROGRAMS = (
    *("manager", "userAgent", "reportingController", "reportingComponent", "component"),
    "finalizers",
)
"""Keys of texts that are replaced as a whole or not at all: programs, and finalizers."""
_SILENCED = ("env", "command", "args")
"""Keys of containers whose values nothing needs."""
_OF_PLANS = frozenset(
    {
        *("resources", "expected_operations", "expected_steps", "expected_writes", "clients"),
        *("expected_processes", "expected_preparations", "expected_pool_changes", "examined"),
        *("controls", "defects", "remedies", "subject", "provider"),
        *("cluster", "profile", "start", "carrier", "published_by", "compression", "reserve_by"),
        *("claim_controller", "packages", "known_to_fail", "known_to_fail_theirs", "versions"),
        *("overrides", "resource_kinds", "allocation_mode", "verbs", "verb", "fault"),
    }
)
"""Keys of a plan whose texts are chosen from a few, or are programs."""
_OF_STEPS = ("step", "phase")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_VERSION = re.compile(r"v\d+(?:(?:alpha|beta)\d+)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_KEYED = ("labels", "annotations", "matchLabels", "nodeSelector")
_LARGE = 10**8
"""Numbers in opaque parameters from which on they may be those of an account."""


class Records(documents.Documents):
    """Replaces names in decoded JSON."""

    def __init__(self, found: names.Names, replaced: texts.Texts) -> None:
        self._names, self._texts = found, replaced
        self.rules = {
            **{(key, str): str for key in _FIXED},
            **{(key, str): self._program for key in _PROGRAMS},
            ("requestURI", str): self._uri,
            ("expression", str): self.expression,
            ("fieldsV1", dict): self._fields,
            **documents.under("parameters", self._parameters),
        }
        for key in _SILENCED:
            self.rules |= documents.under(key, values.blank)

    def text(self, text: str) -> str:
        return text if _TIME.fullmatch(text) else self._texts.of(text)

    def quoted(self, text: str) -> str:
        return self._names.within(text)

    def plan(self, value: Any, key: str = "") -> Any:
        """Return a plan, or a scenario, without names; its own words are not taken for names."""
        match value:
            case dict() if key != "versions":
                return {name: self.plan(item, name) for name, item in value.items()}
            case list():
                return [self.plan(item, key) for item in value]
            case str() if key in ("name", "scenario"):
                return self._names.of(value)
            case str() if key in _SILENCED:
                return self.text(value)
        is_word = key in _OF_PLANS and not isinstance(value, dict)
        return value if is_word else self.of(value, key)

    def within(self, value: Any, key: str = "") -> Any:
        made = super().within(value, key)
        if isinstance(value, dict) and value.get("record") in _OF_STEPS and "name" in value:
            made["name"] = value["name"]
        return made

    def key(self, name: str, parent: str) -> str:
        """Return a key; one that is a plain word is a name only where users choose the keys."""
        if parent == "environment":
            return self._names.variable(name)
        if not _PLAIN.fullmatch(name):
            return self._names.within(name)
        return self._names.of(name) if parent in _KEYED else name

    def _program(self, text: str) -> str:
        return self._texts.paths(self._names.of(text))

    def _uri(self, uri: str) -> str:
        """Return a request's path without the names in it, but with its resources."""
        path, mark, query = uri.partition("?")
        parts = path.split("/")
        at = next(
            (place for place, part in enumerate(parts, 1) if _VERSION.fullmatch(part)), len(parts)
        )
        names_at = (at + 1, at + 3) if parts[at : at + 1] == ["namespaces"] else (at + 1,)
        found = [
            self._names.of(part) if place in names_at else part for place, part in enumerate(parts)
        ]
        return "/".join(found) + mark + self._texts.of(query)

    def _fields(self, fields: Mapping[str, Any]) -> Any:
        return {
            self._field(name): self._fields(item) if isinstance(item, dict) else item
            for name, item in fields.items()
        }

    def _field(self, name: str) -> str:
        """Return a key of managed fields: `f:labels`, `k:{"name":"x"}`, `v:"x"`."""
        kind, _, rest = name.partition(":")
        if kind == "f":
            return f"f:{self.key(rest, '')}"
        if kind in ("k", "v"):
            try:
                decoded = self.of(msgspec.json.decode(rest))
            except msgspec.DecodeError:
                return self._names.within(name)
            return f"{kind}:{msgspec.json.encode(decoded).decode()}"
        return name

    def _parameters(self, value: Any, key: str = "") -> Any:
        match value:
            case str():
                return value if key == "kind" else self._texts.of(value)
            case list():
                return [self._parameters(item) for item in value]
            case dict():
                return {name: self._parameters(item, name) for name, item in value.items()}
            case int() | float() if not isinstance(value, bool) and abs(value) >= _LARGE:
                return 0
        return value
