"""Calls of drivers for several claims at once, what an answer may lack, and their journal."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness import clocks
from harness.cluster.dra import (
    claim_infos,
    driver_contracts,
    preparation_journals,
)
from harness.cluster.kubelet_api import preparations
from harness.history import records

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
        journal: preparation_journals.PreparationJournal,
    ) -> None:
        """`pod`: its uid and name."""
        self._call, self._node, self._pod, self._journal = call, node, pod, journal
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
        answers = self._answers(part, call)
        for info in part:
            answer = answers.get(info.uid, _SKIPPED)
            if isinstance(answer, preparations.PreparationError):
                self.refused([info], answer)
            else:
                note(info, answer)
                self._handled(info)
        error = _problem(self._method, part, answers)
        if error is not None:
            raise error

    def finish(self) -> None:
        """Journal the claims that have no driver, after all drivers have succeeded."""
        for info in self._infos:
            if not info.drivers:
                self.end(info)

    def refused(
        self, part: Sequence[claim_infos.ClaimInfo], error: preparations.PreparationError
    ) -> None:
        for info in part:
            self._journal.write(
                records.PrepareFailed(
                    **self._about(info), call=self._call, reason=error.reason, message=str(error)
                )
            )

    def end(self, info: claim_infos.ClaimInfo) -> None:
        about = self._about(info)
        if self._call == "prepare":
            self._journal.write(records.Prepared(**about, shared=info.shared))
        else:
            self._journal.write(records.Unprepared(**about))

    def _answers(
        self, part: Sequence[claim_infos.ClaimInfo], call: Callable[[], Mapping[str, Any]]
    ) -> Mapping[str, Any]:
        try:
            return call()
        except driver_contracts.CallFailedError as error:
            self.refused(part, error)
            for info in part if self._call == "unprepare" else ():
                self._handled(info)
            raise driver_contracts.CallFailedError(
                error.code, f"{self._method}: {error}"
            ) from error

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
