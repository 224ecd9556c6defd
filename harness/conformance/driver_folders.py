"""The folders of a driver that is tested: short, because a socket's path has at most 107 bytes."""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

from harness import writing
from harness.conformance import options, results

_PREFIX = "fh-"
"""With it, paths are as long as those below /var/lib/kubelet."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """The folders of one run."""

    root: pathlib.Path
    cdi: pathlib.Path
    registry: pathlib.Path
    """For the sockets that register; it may be one itself."""
    socket: pathlib.Path | None
    """The socket to call of a driver that runs already; None: the one that it names."""
    plugins: pathlib.Path
    """For the sockets that are called."""
    state: pathlib.Path
    """For what the driver keeps over a restart."""
    boot_id: pathlib.Path
    log: pathlib.Path

    @property
    def _has_own_cdi(self) -> bool:
        return self.cdi.parent == self.root

    def keep_log(self, file: pathlib.Path) -> None:
        """Add what the driver has printed to a file. Raises UnwritableError if it cannot be."""
        with writing.explained(file), file.open("ab") as kept:
            kept.write(self.log.read_bytes() if self.log.exists() else b"")

    def require_own_cdi(self) -> None:
        """Raise Skipped for the CDI folder of the node, which is only read."""
        if not self._has_own_cdi:
            raise results.Skipped("the CDI folder is the node's own, and is not emptied")

    def empty_cdi(self) -> None:
        """Remove the CDI files, as a reboot does; does nothing to a folder of the node."""
        if self._has_own_cdi:
            _empty(self.cdi)

    @contextlib.contextmanager
    def without_cdi(self) -> Iterator[None]:
        """Have a file in the place of the CDI folder. Raises Skipped for a folder of the node."""
        self.require_own_cdi()
        away = self.cdi.rename(self.root / "away")
        self.cdi.touch()
        try:
            yield
        finally:
            _remove(self.cdi)  # whatever the driver has made of it
            away.rename(self.cdi)

    def empty(self) -> None:
        for path in (self.plugins, self.registry, self.state):
            _empty(path)
        self.empty_cdi()

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)


def make(chosen: options.Options) -> Folders:
    usual = tempfile.gettempdir()
    short = "/tmp" if len(usual) > 4 and os.access("/tmp", os.W_OK) else usual  # noqa: S108
    root = pathlib.Path(tempfile.mkdtemp(prefix=_PREFIX, dir=short))
    folders = Folders(
        root=root,
        cdi=chosen.cdi_dir or root / "c",
        registry=chosen.registry or root / "plugins_registry",
        socket=chosen.socket,
        plugins=root / "plugins",
        state=root / "s",
        boot_id=root / "boot_id",
        log=root / "driver.log",
    )
    for path in (root / "plugins_registry", folders.plugins, folders.state, folders.cdi):
        path.mkdir(exist_ok=True, parents=True)
    return folders


def _empty(folder: pathlib.Path) -> None:
    for path in folder.iterdir():
        _remove(path)


def _remove(path: pathlib.Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
