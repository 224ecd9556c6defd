"""The calls that the DRA manager of a kubelet makes of drivers, what an answer may lack, and the
journal of what was prepared: a witness of the use of devices at node level.

`in_process_drivers` and `plugins.socket_drivers` are implementations.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from harness import clocks
from harness.cluster.dra import claim_infos
from harness.cluster.kubelet_api import preparations
from harness.history import records
from harness.model.objects import Object

Write = Callable[[records.Body], None]
"""Writes a record to the journal of preparations."""
PrepareAnswers = Mapping[str, preparations.Prepared | preparations.PreparationError]
"""uid of a claim -> its devices, or why they could not be prepared."""
UnprepareAnswers = Mapping[str, preparations.PreparationError | None]
"""uid of a claim -> why it could not be unprepared; None: it is."""


class Plugin(Protocol):
    """One driver on one node. An answer should have an entry for each claim, and no others."""

    def prepare(self, claims: Sequence[Object]) -> PrepareAnswers:
        """Prepare claims, given as the API server has them; one that is prepared stays so.

        Raises CallFailedError if there is no answer.
        """

    def unprepare(self, claims: Sequence[claim_infos.ClaimInfo]) -> UnprepareAnswers:
        """Unprepare claims; one that is not prepared stays so.

        Raises CallFailedError if there is no answer.
        """


class Drivers(Protocol):
    """The drivers that kubelets can call. Thread-safe."""

    def plugin(self, driver: str, node: str) -> Plugin:
        """Return a driver, by its name, on a node.

        Raises PreparationError if it is not registered.
        """

    def is_prepared(self, info: claim_infos.ClaimInfo, node: str) -> bool:
        """Return whether a claim may still be prepared that an earlier kubelet has noted."""

    @property
    def keeps_endings(self) -> bool:
        """True if it has to be known that drivers were called to unprepare a claim: another
        kubelet cannot know how far they came."""

    def stop(self) -> None:
        """End the waits of all calls."""


class CallFailedError(preparations.PreparationError):
    """A call of a driver had no answer: whether it took effect is unknown."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__("CallFailed", message)
        self.code = code
        """Status code of gRPC: `Unavailable`, `DeadlineExceeded`, …"""


def not_registered(driver: str) -> preparations.PreparationError:
    return preparations.PreparationError("NotRegistered", f"DRA driver {driver} is not registered")


_METHODS: Mapping[records.PreparationCall, str] = {
    "prepare": "NodePrepareResources",
    "unprepare": "NodeUnprepareResources",
}
_SKIPPED = preparations.PreparationError("SkippedClaims", "the driver's answer lacks the claim")


def batches(infos: Sequence[claim_infos.ClaimInfo]) -> dict[str, list[claim_infos.ClaimInfo]]:
    """Return driver -> the claims with devices of it: one call of each driver has all of them."""
    found: dict[str, list[claim_infos.ClaimInfo]] = {}
    for info in infos:
        for driver in info.drivers:
            found.setdefault(driver, []).append(info)
    return found


class Attempt:
    """One attempt to prepare, or to unprepare, the claims of a pod by all their drivers.

    A claim is prepared when all its drivers have prepared it. The first driver that unprepares it
    gives its devices free. So may one that does not answer, as when it is killed at the end of the
    call: it can prepare the devices for another claim before it is asked again.
    """

    def __init__(
        self,
        call: records.PreparationCall,
        infos: Sequence[claim_infos.ClaimInfo],
        *,
        node: str,
        pod: tuple[str, str],
        write: Write,
    ) -> None:
        """`pod`: its uid and name."""
        self._call, self._node, self._pod, self._write = call, node, pod, write
        self._method = _METHODS[call]
        self._begun_ns = clocks.monotonic_ns()
        self._infos, most = infos, None if call == "prepare" else 1
        self._left = {info.uid: len(info.drivers[:most]) for info in infos}
        """uid of a claim -> number of drivers that have to handle it before it is journaled."""

    def ask(
        self,
        part: Sequence[claim_infos.ClaimInfo],
        call: Callable[[], Mapping[str, Any]],
        note: Callable[[claim_infos.ClaimInfo, Any], None] = lambda *_: None,
    ) -> None:
        """Call a driver for some of its claims; `note` gets each claim that it has handled.

        Raises PreparationError if one was not handled, or for an answer about an unknown claim.
        """
        try:
            answers = call()
        except CallFailedError as error:
            self.refused(part, error)
            for info in part if self._call == "unprepare" else ():
                self._handled(info)
            raise CallFailedError(error.code, f"{self._method}: {error}") from error
        for info in part:
            answer = answers.get(info.uid, _SKIPPED)
            if isinstance(answer, preparations.PreparationError):
                self.refused([info], answer)
            else:
                note(info, answer)
                self._handled(info)
        problem = _problem(self._method, part, answers)
        if problem is not None:
            raise problem

    def finish(self) -> None:
        """Journal the claims that have no driver, after all drivers have succeeded."""
        for info in self._infos:
            if not info.drivers:
                self.end(info)

    def refused(
        self, part: Sequence[claim_infos.ClaimInfo], error: preparations.PreparationError
    ) -> None:
        for info in part:
            self._write(
                records.PrepareFailed(
                    **self._about(info), call=self._call, reason=error.reason, message=str(error)
                )
            )

    def end(self, info: claim_infos.ClaimInfo) -> None:
        about = self._about(info)
        if self._call == "prepare":
            self._write(records.Prepared(**about, shared=info.shared))
        else:
            self._write(records.Unprepared(**about))

    def _handled(self, info: claim_infos.ClaimInfo) -> None:
        self._left[info.uid] -= 1
        if not self._left[info.uid]:
            self.end(info)

    def _about(self, info: claim_infos.ClaimInfo) -> dict[str, Any]:
        return {
            "node": self._node,
            "namespace": info.namespace,
            "claim": info.name,
            "claim_uid": info.uid,
            "devices": info.devices,
            "pod_uid": self._pod[0],
            "pod": self._pod[1],
            "begun_ns": self._begun_ns,
            "ts_ns": clocks.monotonic_ns(),
        }


def _problem(
    method: str, part: Sequence[claim_infos.ClaimInfo], answers: Mapping[str, object]
) -> preparations.PreparationError | None:
    """Return what a kubelet says of an answer, in its words; None: nothing is wrong."""
    names = {info.uid: info.name for info in part}
    for uid, answer in answers.items():
        if uid not in names:
            text = f"{method} returned result for unknown claim UID {uid}"
            return preparations.PreparationError("UnknownClaim", text)
        if isinstance(answer, preparations.PreparationError):
            given = f"{answer.reason}: " if answer.reason != preparations.DRIVER_ERROR else ""
            text = f"{method} failed for ResourceClaim {names[uid]}: {given}{answer}"
            return preparations.PreparationError(answer.reason, text)
    skipped = len(part) - len(answers)
    if skipped:
        text = f"{method} skipped {skipped} ResourceClaims"
        return preparations.PreparationError("SkippedClaims", text)
    return None
