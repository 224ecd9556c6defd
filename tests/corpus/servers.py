"""A fresh embedded server as a process of its own."""

import contextlib
import pathlib
import tempfile
from collections.abc import Iterator

from harness import processes
from harness.client import kubeconfigs

TIMEOUT_S = 60


@contextlib.contextmanager
def running() -> Iterator[kubeconfigs.Endpoint]:
    with tempfile.TemporaryDirectory() as folder:
        directory = pathlib.Path(folder)
        plain = directory / "plain"
        argv = ["--kubeconfig", str(directory / "tls"), "--set", f"plain_kubeconfig={plain}"]
        process = processes.start_ready(
            "apiserver",
            processes.command("part", "apiserver", *argv),
            log=directory / "log",
            ready=directory / "ready",
            timeout_s=TIMEOUT_S,
        )
        try:
            yield kubeconfigs.load(plain)
        finally:
            process.kill()
