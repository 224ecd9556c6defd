"""The claims that a kubelet prepares, and the checkpoint file that keeps them.

After the kubelet's `claiminfo.go` and `state_checkpoint.go`. The checkpoint is written before a
driver is called, so that a kubelet that is killed knows which claims it may have prepared.
"""

import pathlib
from collections.abc import Callable, Iterable

import msgspec

from harness import errors, regular_files, writing
from harness.cluster.driver import prepared_claims
from harness.cluster.kubelet_api import preparations
from harness.model.objects import Object


class ClaimInfo(msgspec.Struct, kw_only=True):
    """A claim that one or more pods of a node use."""

    namespace: str
    name: str
    uid: str
    devices: list[str]
    """`driver/pool/device` of all devices of its allocation."""
    shared: list[str] = []
    """Devices that other claims may use, too: by admin access, or as a share."""
    pods: dict[str, str] = {}
    """uid -> name of the pods that use it."""
    prepared: dict[str, preparations.Prepared] = {}
    """Driver -> the devices of its last answer, with the CDI ids by which containers get them."""
    is_ending: bool = False
    """Its drivers may have unprepared it: a kubelet that is started again cannot know."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def reference(self) -> preparations.ClaimReference:
        return preparations.ClaimReference(self.namespace, self.name, self.uid)

    @property
    def drivers(self) -> list[str]:
        return list(dict.fromkeys(device.partition("/")[0] for device in self.devices))

    def cdi_ids(self, request: str = "") -> list[str]:
        """Return the CDI ids of the devices for a request; empty: of all of them."""
        return [
            found
            for driver in self.drivers
            for device in self.prepared.get(driver, ())
            if not request or not device.request_names or request in device.request_names
            for found in device.cdi_device_ids
        ]

    @property
    def exclusive(self) -> set[str]:
        return set(self.devices) - set(self.shared)


_lines = msgspec.json.Decoder(ClaimInfo)
LINES_MIN = 100
"""A file with fewer lines than this, or than some for each claim, is not written again."""


def of(claim: Object) -> ClaimInfo:
    """Return what to remember of an allocated claim, without pods."""
    meta = claim["metadata"]
    results = claim["status"]["allocation"].get("devices", {}).get("results") or []
    return ClaimInfo(
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        devices=[prepared_claims.named(result) for result in results],
        shared=[prepared_claims.named(item) for item in results if prepared_claims.is_shared(item)],
    )


class Checkpoint:
    """The checkpoint file of one node; without a path nothing is kept. Not thread-safe.

    Each line is a claim as it was then, and the last one of a claim counts: a change costs the same
    however many claims the node has.
    """

    def __init__(self, path: pathlib.Path | None) -> None:
        self._path = path
        self._last: dict[str, bytes] = {}
        """Key of each claim that is used -> its last line."""
        self._written = 0
        """Lines of the file."""

    def load(self) -> list[ClaimInfo]:
        """Return the claims that were used when the last process ended.

        Raises UsageError if the file cannot be read or decoded.
        """
        try:
            infos = list(map(_lines.decode, (self._content() or b"").splitlines()))
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise errors.UsageError(
                f"{self._path}: expected the checkpoint of a kubelet ({error}): "
                "remove the file, or name another folder"
            ) from error
        self._note(infos)
        newest = {info.key: info for info in infos}
        return [newest[key] for key in self._last]

    def save(self, changed: Iterable[ClaimInfo]) -> None:
        """Note claims as they are now; one without pods is not used any longer.

        Raises StorageError or UnwritableError if it cannot be written.
        """
        lines = self._note(changed)
        if self._written > LINES_MIN + 4 * len(self._last):
            lines, self._written = list(self._last.values()), len(self._last)
            self._keep(writing.replace, lines)
        elif lines:
            self._keep(writing.append, lines)

    def _note(self, infos: Iterable[ClaimInfo]) -> list[bytes]:
        lines = []
        for info in infos:
            lines.append(msgspec.json.encode(info) + b"\n")
            if info.pods:
                self._last[info.key] = lines[-1]
            else:
                self._last.pop(info.key, None)
        self._written += len(lines)
        return lines

    def _content(self) -> bytes | None:
        is_there = self._path is not None and self._path.exists()
        return regular_files.content(self._path) if self._path is not None and is_there else None

    def _keep(self, write: Callable[[pathlib.Path, bytes], None], lines: list[bytes]) -> None:
        if self._path is not None:
            write(self._path, b"".join(lines))
