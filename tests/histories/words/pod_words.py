"""The pods of a history: they name claims, get generated ones, are bound, run, end, and go."""

import collections
import dataclasses
from typing import Any

NAMESPACE = "tests"
ENTRY = "device"
"""The entry of a pod's `spec.resourceClaims` that a word means if it names none."""
VERBS = ":>*$?"
Object = dict[str, Any]


@dataclasses.dataclass(slots=True)
class Pod:
    """A pod as it is after the commits so far."""

    name: str
    uid: str
    entries: list[Object] = dataclasses.field(default_factory=list)
    node: str = ""
    phase: str = "Pending"
    recorded: dict[str, str] = dataclasses.field(default_factory=dict)

    def document(self, rv: int, name: str) -> Object:
        """The pod as the API has it; `name` is its name there."""
        meta = {"name": name, "namespace": NAMESPACE, "uid": self.uid, "resourceVersion": str(rv)}
        spec: Object = {"resourceClaims": self.entries} if self.entries else {}
        if self.node:
            spec["nodeName"] = self.node
        status: Object = {"phase": self.phase}
        if self.recorded:
            status["resourceClaimStatuses"] = [
                {"name": entry, "resourceClaimName": claim}
                for entry, claim in self.recorded.items()
            ]
        return {"metadata": meta, **({"spec": spec} if spec else {}), "status": status}


class Pods:
    """All pods that exist, by name."""

    def __init__(self) -> None:
        self._pods: dict[str, Pod] = {}
        self._lives: collections.Counter[str] = collections.Counter()

    def __contains__(self, name: object) -> bool:
        return name in self._pods

    def uid(self, name: str) -> str:
        """The UID of the pod with this name; of one that is gone, or never was, its first one."""
        return self._pods[name].uid if name in self._pods else f"uid-{name}"

    def change(self, name: str, verb: str, rest: str) -> Pod:
        """Return the pod after a word about it; the first word creates it."""
        pod = self._pods.get(name) or self._born(name)
        match verb:
            case ":":
                pod.entries += map(_entry, rest.split(","))
            case ">":
                pod.node = rest
            case "*":
                pod.phase = "Running"
            case "$":
                pod.phase = "Succeeded"
            case _:
                claim, _, entry = rest.partition(":")
                pod.recorded[entry or ENTRY] = claim
        return pod

    def remove(self, name: str) -> Pod:
        return self._pods.pop(name)

    def _born(self, name: str) -> Pod:
        self._lives[name] += 1
        life = "" if self._lives[name] == 1 else f"-{self._lives[name]}"
        return self._pods.setdefault(name, Pod(name, f"uid-{name}{life}"))


def _entry(text: str) -> Object:
    if text.startswith("?"):
        return {"name": text[1:] or ENTRY, "resourceClaimTemplateName": "template"}
    return {"name": text, "resourceClaimName": text}
