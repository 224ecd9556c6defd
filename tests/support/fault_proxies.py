"""A fault proxy without faults, in a process of its own."""

import contextlib
import json
import pathlib
from collections.abc import Iterator

from harness import processes


@contextlib.contextmanager
def running(
    folder: pathlib.Path, kubeconfig: pathlib.Path | str, *, client: str, timeout_s: float
) -> Iterator[tuple[pathlib.Path, processes.Process]]:
    """Give the kubeconfig of a proxy before the server of another kubeconfig, and its process.

    The proxy must end in order.
    """
    proxied = folder / "kubeconfig"
    named = {"name": client, "kubeconfig": str(kubeconfig), "proxied_kubeconfig": str(proxied)}
    settings = folder / "settings.json"
    settings.write_text(
        json.dumps({"clients": [named], "admin": {"kubeconfig": str(folder / "admin")}})
    )
    process = processes.start_ready(
        "fault-proxy",
        processes.command("part", "fault-proxy", str(settings)),
        log=folder / "log",
        ready=folder / "ready",
        timeout_s=timeout_s,
    )
    try:
        yield proxied, process
    finally:
        exit_code = process.stop(timeout_s=timeout_s)
    assert exit_code == 0
