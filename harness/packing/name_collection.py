"""Finds names in objects of the API, records, plans and logs, by the keys where they stand."""

import functools
import re
from collections.abc import Mapping
from typing import Any

from harness.report.redaction import documents, keys, names, values
from harness.scenario import loading

PLANS = ("plan.json", "scenario.toml")
"""Files whose words are chosen from a few: names in them stand as a whole."""
_KEYED = ("attributes", "capacity", "labels", "matchLabels", "annotations", "nodeSelector")
_KEPT_LABELS = re.compile(
    r"^(?:(?:beta\.)?kubernetes\.io/(?:os|arch)|node-role\.kubernetes\.io/.*|flake-hunt/.*)$"
)
_PLACES = re.compile(r"(?:hostname|zone|region)$")
_HOME = re.compile(r"/(?:home|Users)/([\w.-]+)")
_HOST = re.compile(r"\] (\S+?)/(?:INFO|WARNING|ERROR|DEBUG)/")
"""The host in a line of Locust's log."""
_LEAST = 2
"""Characters of a text in opaque parameters that may be a name."""


class Collector(documents.Documents):
    """Collects names; call `of` for every document, `line` for every other line."""

    def __init__(self, found: names.Names) -> None:
        self._found = found
        named = documents.named(
            keys.ALL_REFERENCES, keys.ALL_ITEMS, name=self._identified, each=self._items
        )
        self.rules = {
            **named,
            **{(key, dict): functools.partial(self._keyed, key) for key in _KEYED},
            **documents.under("parameters", self._parameters),
            ("key", str): self._domain,
            ("extendedResourceName", str): self._domain,
            ("request", dict): self._domains,
            ("limits", dict): self._domains,
            ("managedFields", list): _unread,
            ("fieldsV1", dict): _unread,
        }

    def file(self, name: str, document: Any) -> None:
        """Collect the names in a file of the run; of plans, those that a scenario chooses."""
        if name not in PLANS:
            self.of(document)
        elif isinstance(document, Mapping):
            self._plan(document)

    def _plan(self, plan: Mapping[str, Any]) -> None:
        scenario = plan.get("settings", plan)
        self._found.add("namespace", plan.get("namespace"))
        if scenario.get("name") not in loading.SHELF.names():
            self._found.add("scenario", scenario.get("name"))
        pools = scenario.get("pools") or {}
        for part in (pools, *(pools.get("more") or [])):
            self._found.add("driver", part.get("driver"))
            self._prefix(part.get("node_prefix"))
            self._prefix(part.get("owner"))
            self._keyed("attributes", part.get("attributes") or {})
            self._leaves((part.get("device_class") or {}).get("parameters"))
        self.line(str(plan))

    def _prefix(self, prefix: object) -> None:
        """Collect what the names of nodes begin with, unless it is Flake Hunt's own `worker-`."""
        if isinstance(prefix, str) and prefix.strip("-") != "worker":
            self._found.add("prefix", prefix.strip("-"))

    # ------------------------------------------------------------------- what to collect

    def line(self, text: str) -> None:
        """Collect the users whose homes a text names, and the host of a line of Locust's log."""
        for user in _HOME.findall(text):
            self._found.add("user", user)
        for host in _HOST.findall(text):
            self._found.add("host", host)

    def text(self, text: str) -> str:
        if "/home/" in text or "/Users/" in text:
            self.line(text)
        return text

    def within(self, value: Any, key: str = "") -> Any:
        """Collect the names in a value, and that of the object if it is one."""
        if isinstance(value, dict):
            self._object(value)
        return super().within(value, key)

    def _object(self, table: Mapping[str, Any]) -> None:
        kind, metadata = table.get("kind"), table.get("metadata")
        if table.get("record") == "observation" and isinstance(table.get("object"), Mapping):
            found = table["object"].get("metadata") or {}
            self._found.add(_kind(table.get("resource")), found.get("name"))
        if isinstance(metadata, Mapping):
            self._found.keep(metadata.get("uid"))
            self._found.add(_kind(kind), metadata.get("name"))
        elif isinstance(kind, str) and "name" in table and "uid" in table:
            self._found.add(_kind(kind), table["name"])
        if isinstance(pool := table.get("pool"), Mapping):
            self._found.add("pool", pool.get("name"))
        if "resource" in table and "verb" in table:
            self._found.add(_kind(str(table["resource"])), table.get("name"))

    def _items(self, kind: str, items: list[Any]) -> Any:
        for item in items:
            if isinstance(item, Mapping):
                self._found.add(kind, item.get("name"))
            elif isinstance(item, str):
                self._identified(kind, item)
        return self.within(items)

    def _identified(self, kind: str, text: str) -> str:
        """Collect the names in `name`, `namespace/name` or `driver/pool/device`."""
        parts = text.split("/")
        kinds = {1: (kind,), 2: ("namespace", kind), 3: ("driver", "pool", "device")}
        if kind == "image" or len(parts) not in kinds:
            self._found.add(kind, text)
            return self.text(text)
        for part_kind, part in zip(kinds[len(parts)], parts, strict=True):
            self._found.add(part_kind, part)
        return self.text(text)

    def _keyed(self, key: str, table: Mapping[str, Any]) -> Any:
        for name, value in table.items():
            text = value.get("string") if isinstance(value, Mapping) else value
            if not isinstance(text, str) or _KEPT_LABELS.match(name) or _is_word(name, text):
                continue
            if key not in ("attributes", "capacity") or values.tells_identity(text, name):
                self._found.add("value", text)
        return self._domains(table)

    def _domains(self, table: Mapping[str, Any]) -> Any:
        for name in table:
            self._domain(name)
        return self.within(table)

    def _domain(self, qualified: str) -> str:
        domain, slash, _ = qualified.partition("/")
        if slash:
            self._found.add("domain", domain)
        return qualified

    def _parameters(self, value: Any) -> Any:
        self._leaves(value)
        return self.within(value)

    def _leaves(self, value: Any) -> None:
        match value:
            case str() if len(value) >= _LEAST:
                self._found.add("parameter", value)
            case list():
                for item in value:
                    self._leaves(item)
            case dict():
                for key, item in value.items():
                    if key == "apiVersion" and isinstance(item, str):
                        self._domain(item)
                    elif key != "kind":
                        self._leaves(item)


def _unread(value: Any) -> Any:
    return value


def _is_word(name: str, value: str) -> bool:
    """Return whether the value of a label of Kubernetes is one of its words, such as `allow`."""
    is_own = bool(_PLACES.search(name)) or not names.is_public(name.partition("/")[0])
    return not is_own and value.isalpha() and value.islower()


def _kind(kind: object) -> str:
    """Return the kind of a name: `pod` for `Pod` and for `pods/status`."""
    if not isinstance(kind, str):
        return "object"
    plural = {f"{full.lower()}s": short for full, short in keys.KINDS.items()}
    word = kind.partition("/")[0].lower()
    known = keys.KINDS.get(kind) or plural.get(word)
    return known or word.removesuffix("es" if word.endswith("sses") else "s")
