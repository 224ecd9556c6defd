"""The embedded API server as a process of its own."""

import pathlib
import shutil

from harness import processes

TIMEOUT_S = 60


def start(folder: pathlib.Path, *options: str | pathlib.Path) -> processes.Process:
    """Start it, or start it again.

    It writes `kubeconfig` with TLS, and `plain`, into the folder.
    """
    ready = folder / "ready"
    ready.unlink(missing_ok=True)
    plain = f"plain_kubeconfig={folder / 'plain'}"
    words = ("part", "apiserver", "--kubeconfig", folder / "kubeconfig", "--set", plain, *options)
    return processes.start_ready(
        "apiserver",
        processes.command(*map(str, words)),
        log=folder / "log",
        ready=ready,
        timeout_s=TIMEOUT_S,
    )


class KeptServer:
    """A server with a data directory; clients keep the kubeconfigs of its first start."""

    def __init__(self, folder: pathlib.Path, *options: str) -> None:
        self._folder, self._options = folder, options
        self.kubeconfig, self.plain = folder / "kept", folder / "kept-plain"

    def start(self) -> None:
        data = ("--data-dir", self._folder / "data")
        self._process = start(self._folder, *data, *self._options)
        if not self.plain.exists():
            shutil.copy(self._folder / "kubeconfig", self.kubeconfig)
            shutil.copy(self._folder / "plain", self.plain)

    def kill(self) -> None:
        self._process.kill()
