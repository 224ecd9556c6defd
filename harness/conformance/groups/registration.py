"""Rules about the registration of the driver with a kubelet."""

import pathlib
import re
import socket

from harness.cluster.kubelet_api import calls, services
from harness.conformance import benches, driver_instances, results

_DNS = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_NAME_CHARACTERS_MAX = 63


def registers(bench: benches.Bench) -> None:
    """The bench has started the driver: it has registered, or that is the failure."""
    results.require(not bench.instance.problem, bench.instance.problem)


def socket_name(bench: benches.Bench) -> None:
    for path in driver_instances.sockets(bench.folders.registry):
        results.require(
            not path.name.startswith("."),
            f"the registration socket {path.name} begins with a dot",
        )
    _ = bench.instance.info


def type(bench: benches.Bench) -> None:  # noqa: A001 - the name of the rule
    found = bench.instance.info.type
    results.require(
        found == services.PLUGIN_TYPE,
        f"GetInfo gives the type {found!r}, not {services.PLUGIN_TYPE}",
    )


def name(bench: benches.Bench) -> None:
    found = bench.instance.info.name
    results.require(
        _DNS.fullmatch(found) and ".." not in found and len(found) <= _NAME_CHARACTERS_MAX,
        f"GetInfo gives the name {found[:80]!r}, which is no DNS subdomain of at most 63 characters",
    )


def endpoint(bench: benches.Bench) -> None:
    """An empty endpoint means the registration socket."""
    info = bench.instance.info
    path = pathlib.Path(info.endpoint or info.socket)
    results.require(
        path.is_absolute(), f"GetInfo gives the endpoint {info.endpoint!r}, not an absolute path"
    )
    results.require(path.is_socket(), f"GetInfo gives the endpoint {path}, and there is no socket")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(bench.options.deadline_s)
        try:
            client.connect(str(path))
        except OSError as error:
            raise results.Failed(f"the endpoint {path} accepts no connection: {error}") from None


def known_version(bench: benches.Bench) -> None:
    listed = bench.instance.info.versions
    results.require(
        set(listed) & set(services.DRA),
        f"GetInfo lists {', '.join(listed) or 'no version'}, not {' or '.join(services.DRA)}",
    )


def versions_are_served(bench: benches.Bench) -> None:
    listed = [version for version in bench.instance.info.versions if version in services.DRA]
    results.skip_unless(listed, "GetInfo lists no version that is known here")
    for version in listed:
        try:
            bench.instance.in_version(version).start_unprepare([]).answer()
        except calls.CallError as error:
            if error.code == driver_instances.UNIMPLEMENTED:
                raise results.Failed(f"{version} is listed and not served: {error}") from None


def accepts_status(bench: benches.Bench) -> None:
    error = bench.instance.notify(is_registered=True)
    results.require(not error, f"NotifyRegistrationStatus of a success is answered by {error}")


def survives_refusal(bench: benches.Bench) -> None:
    before = bench.instance.info
    bench.instance.notify(is_registered=False, error="refused to see what the driver does")
    bench.require_alive("after a refused registration")
    _require_same_again(bench, before, "after a refused registration")


def same_info(bench: benches.Bench) -> None:
    _require_same_again(bench, bench.instance.info, "to a second kubelet")


def replaces_old_sockets(bench: benches.Bench) -> None:
    bench.restart()
    bench.prepared(bench.claim(), "after kill -9, beside the old sockets,")


def removes_sockets(bench: benches.Bench) -> None:
    bench.require_restarts()
    info = bench.instance.info
    complaint = bench.instance.stop()
    left = [str(path) for path in (info.socket, pathlib.Path(info.endpoint)) if path.is_socket()]
    bench.instance.start()
    for path in left:
        more = f"; {complaint}" if complaint else ""
        raise results.Failed(f"after SIGTERM {path} is still there{more}")


def _require_same_again(bench: benches.Bench, before: driver_instances.Info, when: str) -> None:
    bench.instance.register()
    after = bench.instance.info
    results.require(before == after, f"GetInfo gives {after} {when}, and before that {before}")
