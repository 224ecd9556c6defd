"""Locust's command; `launching` starts it as `python -m harness.traffic.locust_process`.

As Locust is imported, gevent asks for its plug-ins some fifty times. Each time Python reads the
metadata of every package that is installed: half of the time in which Locust starts.

The port for the master and its local workers is chosen here, and kept from other programs until
Locust listens on it.
"""

import contextlib
import importlib.metadata
import sys
from collections.abc import Callable, Iterator

from harness.cluster import loopback_ports


def _main_of_locust() -> Callable[[], None]:
    entry_points = importlib.metadata.entry_points
    importlib.metadata.entry_points = entry_points().select
    try:
        from locust import main
    finally:
        importlib.metadata.entry_points = entry_points
    return main.main


@contextlib.contextmanager
def local_port() -> Iterator[list[str]]:
    """Provide the options with the master's port.

    It is kept from other programs for the `with` block, except where nothing could listen on it
    then.
    """
    with loopback_ports.keeper() as keeper:
        port = str(keeper.getsockname()[1])
        if sys.platform != "linux":
            keeper.close()
        yield ["--master-bind-port", port, "--master-port", port]


if __name__ == "__main__":
    with local_port() as options:
        sys.argv += options
        sys.exit(_main_of_locust()())
