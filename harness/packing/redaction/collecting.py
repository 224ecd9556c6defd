"""Finds names in objects of the API, records, plans and logs, by the keys where they stand."""

import re
from collections.abc import Mapping
from typing import Any

from harness.importing import redaction as imported
from harness.packing.redaction import names
from harness.scenario import loading

_KINDS = {
    "ResourceClaim": "claim",
    "ResourceClaimTemplate": "template",
    "ResourceSlice": "slice",
    "DeviceClass": "class",
    "DeviceTaintRule": "rule",
}
_BY_KEY = {
    "namespace": "namespace",
    "nodeName": "node",
    "node": "node",
    "driver": "driver",
    "pool": "pool",
    "device": "device",
    "image": "image",
    "imageID": "image",
    "schedulerName": "scheduler",
    "deviceClassName": "class",
    "resourceClaimName": "claim",
    "resourceClaimTemplateName": "template",
    "serviceAccountName": "account",
    "serviceAccount": "account",
    "hostname": "host",
    "host": "host",
    "hostIP": "address",
    "podIP": "address",
    "address": "address",
    "networkData": "network",
    "username": "user",
    "claim": "claim",
    "pod": "pod",
    "container": "container",
}
"""Key of a text -> kind of name, in objects and in records."""
_LISTS = {
    "containers": "container",
    "initContainers": "container",
    "devices": "device",
    "resourceClaims": "entry",
    "requests": "request",
    "reservedFor": "pod",
    "volumes": "volume",
    "sharedCounters": "counters",
}
"""Key of a list of objects -> kind of the name of each."""
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


class Collector:
    """Collects names; call `walk` for every document, `text` for every other line."""

    def __init__(self, found: names.Names) -> None:
        self._found = found

    def text(self, text: str) -> None:
        """Collect the users whose homes a text names, and the host of a line of Locust's log."""
        for user in _HOME.findall(text):
            self._found.add("user", user)
        for host in _HOST.findall(text):
            self._found.add("host", host)

    def file(self, name: str, document: Any) -> None:
        """Collect the names in a file of the run; of plans, those that a scenario chooses."""
        if name not in ("plan.json", "scenario.toml"):
            self.walk(document)
        elif isinstance(document, Mapping):
            self._of_plan(document)

    def _of_plan(self, plan: Mapping[str, Any]) -> None:
        scenario = plan.get("settings", plan)
        self._found.add("namespace", plan.get("namespace"))
        self._found.add("scenario", _own_scenario(scenario.get("name")))
        pools = scenario.get("pools") or {}
        for part in (pools, *(pools.get("more") or [])):
            self._found.add("driver", part.get("driver"))
            self._prefix(part.get("node_prefix"))
            self._prefix(part.get("owner"))
            self._of_keyed("attributes", part.get("attributes") or {})
            self._leaves((part.get("device_class") or {}).get("parameters"))
        self.text(str(plan))

    def _prefix(self, prefix: object) -> None:
        """Collect what the names of nodes begin with, unless it is Flake Hunt's own `worker-`."""
        if isinstance(prefix, str) and prefix.strip("-") != "worker":
            self._found.add("prefix", prefix.strip("-"))

    def walk(self, value: Any) -> None:
        """Collect the names in a document of JSON."""
        match value:
            case str():
                if "/home/" in value or "/Users/" in value:
                    self.text(value)
            case list():
                for item in value:
                    self.walk(item)
            case Mapping():
                self._of_table(value)

    def _of_table(self, table: Mapping[str, Any]) -> None:
        self._of_object(table)
        for key, value in table.items():
            if isinstance(value, str) and key in _BY_KEY:
                self._identified(_BY_KEY[key], value)
            elif isinstance(value, list) and key in _LISTS:
                self._of_list(_LISTS[key], value)
            elif isinstance(value, Mapping) and key in _KEYED:
                self._of_keyed(key, value)
            elif key == "parameters":
                self._leaves(value)
            if key not in ("managedFields", "fieldsV1"):
                self.walk(value)

    def _of_object(self, table: Mapping[str, Any]) -> None:
        """Collect the name of an object, of a reference to one, and of a record about one."""
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
        for key in ("key", "extendedResourceName"):
            if isinstance(table.get(key), str):
                self._domain(table[key])
        for key in ("request", "limits"):
            self._domains(table.get(key))

    def _of_list(self, kind: str, items: list[Any]) -> None:
        for item in items:
            if isinstance(item, Mapping):
                self._found.add(kind, item.get("name"))
            elif isinstance(item, str):
                self._identified(kind, item)

    def _identified(self, kind: str, text: str) -> None:
        """Collect the names in `name`, `namespace/name` or `driver/pool/device`."""
        parts = text.split("/")
        kinds = {1: (kind,), 2: ("namespace", kind), 3: ("driver", "pool", "device")}
        if kind in ("image", "parameter") or len(parts) not in kinds:
            self._found.add(kind, text)
            return
        for part_kind, part in zip(kinds[len(parts)], parts, strict=True):
            self._found.add(part_kind, part)

    def _of_keyed(self, key: str, table: Mapping[str, Any]) -> None:
        self._domains(table)
        for name, value in table.items():
            text = value.get("string") if isinstance(value, Mapping) else value
            if not isinstance(text, str) or _KEPT_LABELS.match(name) or _is_word(name, text):
                continue
            if key not in ("attributes", "capacity") or imported.tells_identity(name, text):
                self._found.add("value", text)

    def _domains(self, table: object) -> None:
        for name in table if isinstance(table, Mapping) else ():
            self._domain(str(name))

    def _domain(self, qualified: str) -> None:
        domain, slash, _ = qualified.partition("/")
        if slash:
            self._found.add("domain", domain)

    def _leaves(self, value: Any) -> None:
        """Collect the texts in opaque parameters, but for what a driver knows them by."""
        match value:
            case str() if len(value) >= _LEAST:
                self._found.add("parameter", value)
            case list():
                for item in value:
                    self._leaves(item)
            case Mapping():
                for key, item in value.items():
                    if key == "apiVersion" and isinstance(item, str):
                        self._domain(item)
                    elif key != "kind":
                        self._leaves(item)


def _is_word(name: str, value: str) -> bool:
    """Return whether the value of a label of Kubernetes is one of its words, such as `allow`."""
    is_own = bool(_PLACES.search(name)) or not names.is_public(name.partition("/")[0])
    return not is_own and value.isalpha() and value.islower()


def _own_scenario(name: object) -> object:
    """Return the name of a scenario unless Flake Hunt has one of that name."""
    return None if name in loading.shipped_names() else name


def _kind(kind: object) -> str:
    """Return the kind of a name: `pod` for `Pod` and for `pods/status`."""
    if not isinstance(kind, str):
        return "object"
    known = _KINDS.get(kind)
    plural = {f"{full.lower()}s": short for full, short in _KINDS.items()}
    word = kind.partition("/")[0].lower()
    return known or plural.get(word) or word.removesuffix("es" if word.endswith("sses") else "s")
