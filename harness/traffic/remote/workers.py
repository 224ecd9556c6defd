"""`flake-hunt traffic-worker`: a worker of the load that needs a master's address and a kubeconfig.

Importing this module imports Locust, whose monkey patching changes the whole process.
"""

import pathlib
import signal
from collections.abc import Callable

import gevent

from harness import errors
from harness.cluster import cluster_records
from harness.traffic.remote import reaching, sessions


def serve(
    master: str,
    kubeconfig: pathlib.Path,
    *,
    connect_timeout_s: float,
    note: Callable[[str], None],
) -> int:
    """Take part in one run; return 0 when it has ended.

    `master` is `HOST:PORT`; `connect_timeout_s`: seconds in which it has to answer; `note` prints
    what the worker does. Raises UsageError if the worker cannot take part, ProcessError if it is
    lost, and InterruptionError after SIGINT or SIGTERM.
    """
    host, port = reaching.master_address(master)
    reaching.require_api_server(kubeconfig)
    reaching.wait_for_name(host, timeout_s=connect_timeout_s)
    with cluster_records.temporary_folder() as folder:
        session = sessions.Session(
            sessions.SessionOptions(
                host=host,
                port=port,
                kubeconfig=kubeconfig,
                connect_timeout_s=connect_timeout_s,
                folder=folder,
                note=note,
            )
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            name = signal.Signals(number).name
            error = errors.InterruptionError(f"interrupted ({name}); the run is told so")
            gevent.signal_handler(number, session.interrupt, error)
        session.run()
    return 0
