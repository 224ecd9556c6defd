"""Rules about the registration of the driver with a kubelet."""

import pathlib
import re
import socket

from harness.cluster.kubelet_api import calls, services
from harness.conformance import results
from harness.conformance.drivers import benches, driver_calls, driver_instances

_DNS = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_NAME_CHARACTERS_MAX = 63


def registers(bench: benches.Bench) -> None:
    """The bench has started the driver: it has registered, or that is the failure."""
    if bench.instance.problem:
        raise results.Failed(bench.instance.problem)


def socket_name(bench: benches.Bench) -> None:
    """A kubelet ignores names that begin with a dot."""
    hidden = [
        path.name
        for path in driver_instances.sockets(bench.folders.registry)
        if path.name.startswith(".")
    ]
    if hidden:
        raise results.Failed(f"the registration socket {hidden[0]} begins with a dot")
    _ = bench.instance.info


def type(bench: benches.Bench) -> None:  # noqa: A001 - the name of the rule
    """The kubelet chooses the handler of a plug-in by its type."""
    if bench.instance.info.type != services.PLUGIN_TYPE:
        raise results.Failed(
            f"GetInfo gives the type {bench.instance.info.type!r}, not {services.PLUGIN_TYPE}"
        )


def name(bench: benches.Bench) -> None:
    """Slices and claims name the driver."""
    found = bench.instance.info.name
    if not _DNS.fullmatch(found) or ".." in found or len(found) > _NAME_CHARACTERS_MAX:
        raise results.Failed(
            f"GetInfo gives the name {found[:80]!r}, which is no DNS subdomain of at most 63 characters"
        )


def endpoint(bench: benches.Bench) -> None:
    """An empty endpoint means the registration socket."""
    info = bench.instance.info
    path = pathlib.Path(info.endpoint or info.socket)
    if not path.is_absolute():
        raise results.Failed(f"GetInfo gives the endpoint {info.endpoint!r}, not an absolute path")
    if not path.is_socket():
        raise results.Failed(f"GetInfo gives the endpoint {path}, and there is no socket")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(bench.options.limits.call_s)
        try:
            client.connect(str(path))
        except OSError as error:
            raise results.Failed(f"the endpoint {path} accepts no connection: {error}") from None


def known_version(bench: benches.Bench) -> None:
    """A kubelet from 1.34 on knows these two."""
    listed = bench.instance.info.versions
    if not set(listed) & set(services.DRA):
        raise results.Failed(
            f"GetInfo lists {', '.join(listed) or 'no version'}, not {' or '.join(services.DRA)}"
        )


def versions_are_served(bench: benches.Bench) -> None:
    """Each listed version answers a call without claims."""
    listed = [version for version in bench.instance.info.versions if version in services.DRA]
    if not listed:
        raise results.Skipped("GetInfo lists no version that is known here")
    for version in listed:
        try:
            bench.instance.in_version(version).unprepare([])
        except calls.CallError as error:
            if error.code == driver_calls.UNIMPLEMENTED:
                raise results.Failed(f"{version} is listed and not served: {error}") from None


def accepts_status(bench: benches.Bench) -> None:
    """A kubelet that gets an error takes the driver out again."""
    if error := bench.instance.notify(is_registered=True):
        raise results.Failed(f"NotifyRegistrationStatus of a success is answered by {error}")


def survives_refusal(bench: benches.Bench) -> None:
    """The kubelet refuses, and tries again from the beginning."""
    before = bench.instance.info
    bench.instance.notify(is_registered=False, error="refused to see what the driver does")
    bench.require_alive("after a refused registration")
    bench.kubelet_restarts()
    _require_same(before, bench.instance.info, "after a refused registration")


def same_info(bench: benches.Bench) -> None:
    """A kubelet that was started again asks again."""
    before = bench.instance.info
    bench.kubelet_restarts()
    _require_same(before, bench.instance.info, "to a second kubelet")


def replaces_old_sockets(bench: benches.Bench) -> None:
    """Sockets of a killed process are files that nothing listens to."""
    bench.restart()
    bench.prepared(bench.claim(), "after kill -9, beside the old sockets,")


def removes_sockets(bench: benches.Bench) -> None:
    """The kubelet takes a driver out when its registration socket goes."""
    bench.require_restarts()
    info = bench.instance.info
    complaint = bench.instance.stop()
    left = [str(path) for path in (info.socket, pathlib.Path(info.endpoint)) if path.is_socket()]
    bench.instance.start()
    if left:
        raise results.Failed(
            f"after SIGTERM {left[0]} is still there{(complaint and '; ' + complaint) or ''}"
        )


def _require_same(before: driver_instances.Info, after: driver_instances.Info, when: str) -> None:
    if before != after:
        raise results.Failed(f"GetInfo gives {after} {when}, and before that {before}")
