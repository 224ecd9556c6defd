"""Drivers behind sockets: how one registers, and how it is called.

After `GenerateRegisterPluginFunc` in the kubelet's plugin manager, in its words.
"""

import pathlib
from collections.abc import Callable, Sequence
from typing import Any

from harness import errors
from harness.cluster.dra import claim_infos, driver_calls
from harness.cluster.kubelet_api import (
    calls,
    channels,
    messages,
    preparations,
    services,
    socket_paths,
)
from harness.model.objects import Object

INFO_S, NOTIFY_S, CALL_S = 1.0, 5.0, 45.0
"""The kubelet's time limits, in seconds."""
ANSWER_BYTES_MAX = 4 << 20
"""gRPC's own limit, which the kubelet does not change."""


class RefusedError(Exception):
    """A plugin cannot be registered."""


class SocketPlugin:
    """One instance of a driver. Thread-safe; it connects when it is called."""

    def __init__(
        self,
        driver: str,
        endpoint: pathlib.Path,
        service: services.DraService,
        *,
        call_s: float = CALL_S,
    ) -> None:
        """`call_s`: the time limit of a call, in seconds. Raises UsageError for a long path."""
        self.driver, self.endpoint, self.service, self._call_s = driver, endpoint, service, call_s
        self._channel = channels.Channel(endpoint, message_bytes_max=ANSWER_BYTES_MAX)

    def prepare(self, claims: Sequence[Object]) -> driver_calls.PrepareAnswers:
        found = [claim["metadata"] for claim in claims]
        asked = [
            preparations.ClaimReference(one["namespace"], one["name"], one["uid"]) for one in found
        ]
        return messages.prepared(self._call(self.service.prepare, asked))

    def unprepare(self, claims: Sequence[claim_infos.ClaimInfo]) -> driver_calls.UnprepareAnswers:
        asked = [claim.reference for claim in claims]
        return messages.unprepared(self._call(self.service.unprepare, asked))

    def is_served(self) -> bool:
        try:
            return socket_paths.is_served(self.endpoint)
        except OSError:
            return False

    def close(self) -> None:
        self._channel.close()

    def _call(
        self, method: services.Method, asked: Sequence[preparations.ClaimReference]
    ) -> object:
        try:
            return self._channel.call(
                method, messages.request(method, asked), timeout_s=self._call_s
            )
        except calls.CallError as error:
            code = "".join(part.title() for part in error.code.split("_"))
            text = f"rpc error: code = {code} desc = {error.message}"
            raise driver_calls.CallFailedError(code, text) from error
        except ValueError as error:  # gRPC's error for a channel that was closed meanwhile
            text = "rpc error: code = Canceled desc = grpc: the client connection is closing"
            raise driver_calls.CallFailedError("Canceled", text) from error


def register(socket: pathlib.Path, add: Callable[[SocketPlugin], None]) -> None:
    """Ask a plugin on its registration socket what it is, `add` it, and tell it how that ended.

    Raises RefusedError if it does not answer or cannot be used, and what `add` raises of it.
    """
    try:
        with channels.Channel(socket, message_bytes_max=ANSWER_BYTES_MAX) as channel:
            info = channel.call(services.GET_INFO, services.GET_INFO.request(), timeout_s=INFO_S)
            try:
                add(_checked(info, socket))
            except RefusedError as error:
                _notify(channel, error=f"RegisterPlugin error -- {error}")
                raise
            _notify(channel, error="")
    except (calls.CallError, errors.UsageError) as error:
        raise RefusedError(f"failed to register at socket {socket}: {error}") from error


def _notify(channel: channels.Channel, *, error: str) -> None:
    status = services.NOTIFY.request(plugin_registered=not error, error=error)
    channel.call(services.NOTIFY, status, timeout_s=NOTIFY_S)


def _checked(info: Any, socket: pathlib.Path) -> SocketPlugin:
    if info.type != services.PLUGIN_TYPE:
        raise RefusedError(f"no handler registered for plugin type: {info.type} at socket {socket}")
    if not info.name:
        raise RefusedError(f"expected the name of a driver at socket {socket}, got none")
    endpoint, known = pathlib.Path(info.endpoint or socket), services.DRA
    service = next((known[name] for name in info.supported_versions if name in known), None)
    try:
        if service is not None:
            return SocketPlugin(info.name, endpoint, service)
        why = (
            f"none of services supported by the plugin ({_quoted(info.supported_versions)}) are "
            f"supported by the kubelet ({_quoted(known)})"
        )
        if not info.supported_versions:
            why = "empty list of supported gRPC services (aka supported versions)"
    except errors.UsageError as error:
        why = str(error)
    raise RefusedError(
        f"plugin validation failed with err: invalid supported gRPC versions of DRA driver plugin "
        f"{info.name} at endpoint {endpoint}: {why}"
    )


def _quoted(names: Sequence[str] | dict[str, Any]) -> str:
    return "[" + " ".join(f'"{name}"' for name in names) + "]"
