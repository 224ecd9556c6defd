"""Judges that a pod is bound only when the binding conditions of its devices are true."""

from collections.abc import Iterator

import msgspec

from harness.apiserver.storage import watch_cache
from harness.model.objects import Object


class ReadyDevices:
    """Watches claims and pods; each pod uses claims by their names."""

    def __init__(self) -> None:
        self._claims: dict[str, Object] = {}
        self.finding: str | None = None
        """Description of the first violation; None if there is none."""

    def on_commit(self, commit: watch_cache.Commit) -> None:
        """Judge a commit."""
        if commit.resource.plural == "resourceclaims":
            self._claims[commit.object.name] = msgspec.json.decode(commit.object.data)
        elif commit.resource.plural == "pods" and b'"nodeName"' in commit.object.data:
            pod = msgspec.json.decode(commit.object.data)
            self.finding = self.finding or next(self._faults(pod), None)

    def _faults(self, pod: Object) -> Iterator[str]:
        for entry in pod["spec"].get("resourceClaims") or ():
            name = entry.get("resourceClaimName")
            for device in _not_ready(self._claims.get(name, {})):
                yield f"bound: {pod['metadata']['name']} is bound, but {device} is not ready"


def _not_ready(claim: Object) -> Iterator[str]:
    """Yield the devices of an allocated claim whose conditions are not all true."""
    status = claim.get("status", {})
    results = (status.get("allocation") or {}).get("devices", {}).get("results") or ()
    reported = {item["device"]: item.get("conditions") or () for item in status.get("devices", ())}
    for result in results:
        true = {
            item["type"] for item in reported.get(result["device"], ()) if item["status"] == "True"
        }
        if set(result.get("bindingConditions") or ()) - true:
            yield str(result["device"])
