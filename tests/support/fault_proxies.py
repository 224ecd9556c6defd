"""A fault proxy without faults, in a process of its own."""

import contextlib
import json
import pathlib
from collections.abc import Iterator

from harness import processes


def settings_file(folder: pathlib.Path, upstream: pathlib.Path | str, *names: str) -> pathlib.Path:
    """Write the settings of a proxy for clients before the server of a kubeconfig."""
    clients = [
        {
            "name": name,
            "kubeconfig": str(upstream),
            "proxied_kubeconfig": str(folder / f"{name}.kubeconfig"),
        }
        for name in names
    ]
    path, admin = folder / "settings.json", {"kubeconfig": str(folder / "admin.kubeconfig")}
    path.write_text(json.dumps({"clients": clients, "admin": admin}))
    return path


def start(settings: pathlib.Path, *, timeout_s: float) -> processes.Process:
    ready = settings.with_name("proxy-ready")
    ready.unlink(missing_ok=True)
    return processes.start_ready(
        "fault-proxy",
        processes.command("part", "fault-proxy", str(settings)),
        log=settings.with_name("proxy.log"),
        ready=ready,
        timeout_s=timeout_s,
    )


@contextlib.contextmanager
def running(
    folder: pathlib.Path, kubeconfig: pathlib.Path | str, *, client: str, timeout_s: float
) -> Iterator[tuple[pathlib.Path, processes.Process]]:
    """Give the kubeconfig of a proxy before the server of another kubeconfig, and its process.

    The proxy must end in order.
    """
    process = start(settings_file(folder, kubeconfig, client), timeout_s=timeout_s)
    try:
        yield folder / f"{client}.kubeconfig", process
    finally:
        exit_code = process.stop(timeout_s=timeout_s)
    assert exit_code == 0
