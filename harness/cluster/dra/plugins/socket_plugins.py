"""One instance of a driver behind its socket."""

from collections.abc import Sequence

from harness.cluster.dra import claim_infos, driver_contracts
from harness.cluster.dra.plugins import registration
from harness.cluster.kubelet_api import (
    calls,
    channels,
    messages,
    preparations,
    services,
    socket_paths,
)
from harness.model.objects import Object

CALL_S = 45.0
"""The kubelet's time limit for a call, in seconds."""


class SocketPlugin:
    """Calls a driver. Thread-safe; it connects when it is called."""

    def __init__(self, told: registration.Registered, *, call_s: float = CALL_S) -> None:
        """`call_s`: the time limit of a call, in seconds."""
        self.driver, self.endpoint, self._service = told.driver, told.endpoint, told.service
        self._call_s = call_s
        self._channel = channels.Channel(
            told.endpoint, message_bytes_max=registration.ANSWER_BYTES_MAX
        )

    def prepare(self, claims: Sequence[Object]) -> driver_contracts.PrepareAnswers:
        asked = [_reference(claim) for claim in claims]
        return messages.prepared(self._call(self._service.prepare, asked))

    def unprepare(
        self, claims: Sequence[claim_infos.ClaimInfo]
    ) -> driver_contracts.UnprepareAnswers:
        asked = [claim.reference for claim in claims]
        return messages.unprepared(self._call(self._service.unprepare, asked))

    def is_served(self) -> bool:
        """Return whether a process takes connections at the driver's socket."""
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
            raise driver_contracts.CallFailedError(code, text) from error
        except ValueError as error:  # gRPC's error for a channel that was closed meanwhile
            text = "rpc error: code = Canceled desc = grpc: the client connection is closing"
            raise driver_contracts.CallFailedError("Canceled", text) from error


def _reference(claim: Object) -> preparations.ClaimReference:
    meta = claim["metadata"]
    return preparations.ClaimReference(meta["namespace"], meta["name"], meta["uid"])
