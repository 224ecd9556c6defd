"""The claims that a driver has prepared, and the files by which it knows them after a restart.

There is a file for each claim, so that a change never rewrites what is known of others, and two
instances of a driver can share the folder.
"""

import glob
import pathlib

import msgspec

from harness import regular_files, writing
from harness.cluster.driver import cdi_files
from harness.cluster.kubelet_api import node_folders, preparations
from harness.model import devices
from harness.model.objects import Object


class PreparedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim that is prepared on a node, with all that its CDI files need."""

    node: str
    namespace: str
    name: str
    uid: str
    devices: preparations.Prepared
    exclusive: frozenset[str] = frozenset()
    """`driver/pool/device` of those that no other claim may use."""
    environments: dict[str, dict[str, str]] = {}
    """Request -> the environment of a container that uses it."""

    @property
    def taken(self) -> frozenset[str]:
        """The devices, and the shares of devices, that no other claim may use."""
        return self.exclusive | {
            f"{device.pool}/{device.device}/{device.share_id}"
            for device in self.devices
            if device.share_id is not None
        }


_files = msgspec.json.Decoder(PreparedClaim)


def of(claim: Object, *, driver: str, node: str) -> PreparedClaim:
    """Return what a driver remembers of an allocated claim: nothing of other drivers' devices.

    Raises PreparationError if its parameters cannot be variables.
    """
    meta = claim["metadata"]
    allocated = claim["status"]["allocation"].get("devices") or {}
    own = [result for result in allocated.get("results") or [] if result["driver"] == driver]
    environments = cdi_files.environments(claim)
    return PreparedClaim(
        node=node,
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        devices=tuple(_device(meta["uid"], result) for result in own),
        exclusive=frozenset(named(result) for result in own if not is_shared(result)),
        environments={
            request: found for (name, request), found in environments.items() if name == driver
        },
    )


class PreparedClaims:
    """The prepared claims of one driver on all nodes. Not thread-safe.

    `template` is the folder, with `{node}` in it for one folder a node; empty: in memory only.
    """

    def __init__(self, driver: str, template: str = "") -> None:
        self._driver, self._template = driver, template
        self._claims: dict[tuple[str, str], PreparedClaim] = {}
        """Node and uid -> the claim."""
        self.damaged: dict[pathlib.Path, str] = {}
        """Files of claims whose devices are not known -> why they cannot be read."""
        self._seen: dict[pathlib.Path, tuple[tuple[int, int], PreparedClaim]] = {}
        """Files as they were read: inode and time of the last change in ns, and the claim."""

    def load(self) -> list[PreparedClaim]:
        """Read all files, see `damaged` for those that cannot be read; return the claims."""
        self.damaged, self._claims = {}, {}
        pattern = f"{node_folders.pattern(self._template)}/{glob.escape(self._driver)}/*.json"
        found = sorted(glob.glob(pattern)) if self._template else ()  # noqa: PTH207 - absolute
        for path in map(pathlib.Path, found):
            try:
                claim = self._read(path)
            except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
                self.damaged[path] = str(error)
            else:
                self._claims[claim.node, claim.uid] = claim
        return list(self._claims.values())

    def find(self, node: str, uid: str) -> PreparedClaim | None:
        return self._claims.get((node, uid))

    def add(self, claim: PreparedClaim) -> None:
        """Remember a claim, instead of what was known of it.

        Raises StorageError or UnwritableError if its file cannot be written.
        """
        if self._template:
            path = self.path(claim.node, claim.uid)
            with writing.explained(path):
                path.parent.mkdir(parents=True, exist_ok=True)
            writing.replace(path, msgspec.json.encode(claim))
            self.damaged.pop(path, None)
        self._claims[claim.node, claim.uid] = claim

    def remove(self, node: str, uid: str) -> None:
        """Forget a claim. Raises StorageError or UnwritableError if its file stays."""
        if self._template:
            path = self.path(node, uid)
            with writing.explained(path):
                path.unlink(missing_ok=True)
            self._seen.pop(path, None)
            self.damaged.pop(path, None)
        self._claims.pop((node, uid), None)

    def _read(self, path: pathlib.Path) -> PreparedClaim:
        """Return the claim of a file, which is never changed but only replaced."""
        found = path.stat()
        changed = found.st_ino, found.st_mtime_ns
        seen = self._seen.get(path)
        if seen is None or seen[0] != changed:
            seen = changed, _files.decode(regular_files.content(path))
            self._seen[path] = seen
        return seen[1]

    def path(self, node: str, uid: str) -> pathlib.Path:
        folder = node_folders.of_node(self._template, node)
        return folder / self._driver / f"{uid}.json"


def _device(uid: str, result: Object) -> preparations.PreparedDevice:
    request = cdi_files.base(result["request"])
    return preparations.PreparedDevice(
        request_names=(request,),
        pool=result["pool"],
        device=result["device"],
        cdi_device_ids=(cdi_files.device_id(result["driver"], uid, request),),
        share_id=result.get("shareID"),
    )


def named(result: Object) -> str:
    return str(devices.DeviceID(result["driver"], result["pool"], result["device"]))


def is_shared(result: Object) -> bool:
    """Return whether other claims may use the device, too: by admin access, or as a share."""
    return bool(result.get("adminAccess") or result.get("shareID"))
