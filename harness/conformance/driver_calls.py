"""Calls of a driver's DRA service through a socket: they can be cancelled, and overlap."""

import os
from collections.abc import Callable, Mapping, Sequence

from harness.cluster.kubelet_api import calls, messages, preparations, services

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")  # read at import: children only exec
from harness.cluster.kubelet_api import channels

DEADLINE, UNIMPLEMENTED = "DEADLINE_EXCEEDED", "UNIMPLEMENTED"
_NO_REFUSAL = ("UNAVAILABLE", DEADLINE, "CANCELLED", UNIMPLEMENTED)
Claim = preparations.ClaimReference
Entry = preparations.Prepared | preparations.PreparationError | None
"""The devices of a claim, or its error; None: it is unprepared."""
Answer = Mapping[str, Entry]
"""uid -> entry."""
Pending = channels.Pending
"""A call whose answer is an Answer."""


def is_refusal(error: calls.CallError) -> bool:
    return error.code not in _NO_REFUSAL


class Driver:
    """The two calls of the DRA service in one version."""

    def __init__(self, channel: channels.Channel, version: str, deadline_s: float) -> None:
        self._channel, self._service = channel, services.DRA[version]
        self._deadline_s = deadline_s

    def start_prepare(self, claims: Sequence[Claim], *, deadline_s: float | None = None) -> Pending:
        return self._start(self._service.prepare, claims, messages.prepared, deadline_s)

    def start_unprepare(self, claims: Sequence[Claim]) -> Pending:
        return self._start(self._service.unprepare, claims, messages.unprepared, None)

    def _start(
        self,
        method: services.Method,
        claims: Sequence[Claim],
        read: Callable[[object], Answer],
        deadline_s: float | None,
    ) -> Pending:
        timeout_s = self._deadline_s if deadline_s is None else deadline_s
        request = messages.request(method, claims)
        return self._channel.start(method, request, read, timeout_s=timeout_s)
