"""The embedded API server as a process of its own."""

import pathlib

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
