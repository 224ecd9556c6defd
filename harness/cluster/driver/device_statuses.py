"""Reports on prepared devices, in `status.devices` of their claim (KEP-4817).

Other drivers and controllers write to that list, too. Server-side apply by the list's keys leaves
their entries alone. The API server removes the reports when the claim is deallocated.
"""

from typing import Any

from harness.client import apis
from harness.cluster.driver import program_settings
from harness.model.objects import Object

_KEYS = ("driver", "pool", "device", "shareID")


class DeviceStatuses:
    """Writes the reports. Thread-safe."""

    def __init__(self, api: apis.Api, settings: program_settings.LiveSettings) -> None:
        self._api, self._settings = api, settings

    def report(self, claim: Object, driver: str, node: str) -> None:
        """Report on the driver's devices of a claim, if the settings say so.

        Raises ApiError and TransportError.
        """
        if not self._settings.now().device_status:
            return
        meta = claim["metadata"]
        document = {
            "apiVersion": apis.CLAIMS.api_version,
            "kind": "ResourceClaim",
            "metadata": {key: meta[key] for key in ("namespace", "name", "uid")},
            "status": {"devices": entries(claim, driver, node)},
        }
        self.write(
            claim, document, kind=apis.PatchKind.APPLY, field_manager=f"{driver}-{node}", force=True
        )

    def write(self, claim: Object, patch: Any, **options: Any) -> None:
        """Patch the status of a claim; `options` are those of `Api.patch`."""
        name, namespace = claim["metadata"]["name"], claim["metadata"]["namespace"]
        self._api.patch(
            apis.CLAIMS, name, patch, namespace=namespace, subresource="status", **options
        )


def entries(claim: Object, driver: str, node: str) -> list[Object]:
    """Return the entries of `status.devices` for a driver's devices: that a node has prepared them.

    They are the same each time, so that a second report changes nothing.
    """
    results = claim["status"]["allocation"]["devices"]["results"]
    keys = [{key: row[key] for key in _KEYS if key in row} for row in results]
    own = {tuple(key.items()): key for key in keys if key["driver"] == driver}
    return [{**key, "data": {"preparedOn": node}} for key in own.values()]
