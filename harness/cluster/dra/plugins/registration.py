"""One registration of a driver: who it is, which service it has, and what it is told.

After `GenerateRegisterPluginFunc` in the kubelet's plugin manager.
"""

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

from harness import errors
from harness.cluster.kubelet_api import calls, channels, services, socket_paths

INFO_S, NOTIFY_S = 1.0, 5.0
"""The kubelet's time limits, in seconds."""
ANSWER_BYTES_MAX = 4 << 20
"""gRPC's own limit, which the kubelet does not change."""


class RefusedError(Exception):
    """A plugin cannot be registered."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A driver that has told how it is called."""

    driver: str
    endpoint: pathlib.Path
    service: services.DraService


def ask(socket: pathlib.Path) -> Registered:
    """Ask a plugin on its registration socket; one that cannot be used is told so.

    Raises RefusedError if it does not answer, or cannot be used.
    """
    with _channel(socket) as channel:
        info = _info(channel, socket)
        try:
            return _checked(info, socket)
        except RefusedError as error:
            _notify(channel, error=f"RegisterPlugin error -- {error}")
            raise


def confirm(socket: pathlib.Path) -> None:
    """Tell a plugin that it is registered. Raises RefusedError if it does not want to be."""
    with _channel(socket) as channel:
        failure = _notify(channel, error="")
    if failure is not None:
        raise RefusedError(f"failed to send registration status at socket {socket}: {failure}")


def reject(socket: pathlib.Path, error: RefusedError) -> None:
    """Tell a plugin that it is not registered after all."""
    with _channel(socket) as channel:
        _notify(
            channel, error=f"RegisterPlugin error -- plugin registration failed with err: {error}"
        )


def _channel(socket: pathlib.Path) -> channels.Channel:
    try:
        return channels.Channel(socket, message_bytes_max=ANSWER_BYTES_MAX)
    except errors.UsageError as error:
        raise RefusedError(str(error)) from error


def _info(channel: channels.Channel, socket: pathlib.Path) -> Any:
    try:
        return channel.call(services.GET_INFO, services.GET_INFO.request(), timeout_s=INFO_S)
    except calls.CallError as error:
        raise RefusedError(
            f"failed to get plugin info using RPC GetInfo at socket {socket}: {error}"
        ) from error


def _checked(info: Any, socket: pathlib.Path) -> Registered:
    if info.type != services.PLUGIN_TYPE:
        raise RefusedError(f"no handler registered for plugin type: {info.type} at socket {socket}")
    if not info.name:
        raise RefusedError(f"expected the name of a driver at socket {socket}, got none")
    endpoint = pathlib.Path(info.endpoint or socket)
    try:
        service = _chosen(info.supported_versions)
        socket_paths.require_short(endpoint)
    except (RefusedError, errors.UsageError) as error:
        raise RefusedError(
            "plugin validation failed with err: invalid supported gRPC versions of DRA driver "
            f"plugin {info.name} at endpoint {endpoint}: {error}"
        ) from error
    return Registered(driver=info.name, endpoint=endpoint, service=service)


def _chosen(supported: Sequence[str]) -> services.DraService:
    """Return the first of the services in the driver's list that kubelets know."""
    if not supported:
        raise RefusedError("empty list of supported gRPC services (aka supported versions)")
    for name in supported:
        if (service := services.DRA.get(name)) is not None:
            return service
    raise RefusedError(
        f"none of services supported by the plugin ({_quoted(supported)}) are supported by the "
        f"kubelet ({_quoted(list(services.DRA))})"
    )


def _quoted(names: Sequence[str]) -> str:
    return "[" + " ".join(f'"{name}"' for name in names) + "]"


def _notify(channel: channels.Channel, *, error: str) -> calls.CallError | None:
    """Tell how the registration ended; return why that could not be told."""
    status = services.NOTIFY.request(plugin_registered=not error, error=error)
    try:
        channel.call(services.NOTIFY, status, timeout_s=NOTIFY_S)
    except calls.CallError as failure:
        return failure
    return None
