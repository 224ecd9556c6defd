"""Calls of drivers for several claims at once, what an answer may lack, and their journal."""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from harness import clocks
from harness.cluster.dra import (
    claim_infos,
    driver_contracts,
    preparation_journals,
)
from harness.cluster.kubelet_api import preparations
from harness.history import records

_A = TypeVar("_A")
"""The answer of a driver about a claim that it has handled."""


def batches(infos: Sequence[claim_infos.ClaimInfo]) -> dict[str, list[claim_infos.ClaimInfo]]:
    """Return driver -> the claims with devices of it: one call of each driver has all of them."""
    drivers = dict.fromkeys(driver for info in infos for driver in info.drivers)
    return {driver: [info for info in infos if driver in info.drivers] for driver in drivers}


class Attempt(Generic[_A]):
    """One attempt to prepare, or to unprepare, the claims of a pod by all their drivers."""

    call: records.PreparationCall
    method: str

    def __init__(
        self,
        infos: Sequence[claim_infos.ClaimInfo],
        *,
        node: str,
        pod: tuple[str, str],
        journal: preparation_journals.PreparationJournal,
    ) -> None:
        """`pod`: its uid and name."""
        self._infos, self._node, self._pod = infos, node, pod
        self._journal = journal
        self._begun_ns = clocks.monotonic_ns()
        self._answered = {info.uid: 0 for info in infos}
        """uid of a claim -> number of its drivers that have handled it."""

    def ask(
        self,
        part: Sequence[claim_infos.ClaimInfo],
        call: Callable[[], Mapping[str, _A | preparations.PreparationError]],
        note: Callable[[claim_infos.ClaimInfo, _A], None],
    ) -> None:
        """Call a driver for some of its claims; `note` gets each claim that it has handled.

        Raises PreparationError if one was not handled, or for an answer about an unknown claim.
        """
        answers = self._answers(part, call)
        for info in part:
            answer = answers[info.uid] if info.uid in answers else _skipped()
            if isinstance(answer, preparations.PreparationError):
                self._failed(info, answer)
            else:
                note(info, answer)
                self._handled(info)
        error = _problem(self.method, part, answers)
        if error is not None:
            raise error

    def finish(self) -> None:
        """Journal the claims that have no driver, after all drivers have succeeded."""
        for info in self._infos:
            if not info.drivers:
                self._write(info)

    def refused(
        self, part: Sequence[claim_infos.ClaimInfo], error: preparations.PreparationError
    ) -> None:
        """Journal that the driver of some claims cannot be called."""
        for info in part:
            self._failed(info, error)

    def _answers(
        self,
        part: Sequence[claim_infos.ClaimInfo],
        call: Callable[[], Mapping[str, _A | preparations.PreparationError]],
    ) -> Mapping[str, _A | preparations.PreparationError]:
        try:
            return call()
        except driver_contracts.CallFailedError as error:
            self.refused(part, error)
            self._unanswered(part)
            raise driver_contracts.CallFailedError(error.code, f"{self.method}: {error}") from error

    def _handled(self, info: claim_infos.ClaimInfo) -> None:
        self._answered[info.uid] += 1
        if self._answered[info.uid] == self._told_after(info):
            self._write(info)

    def _failed(self, info: claim_infos.ClaimInfo, error: preparations.PreparationError) -> None:
        self._journal.failed(self.call, self._node, info, self._pod, error, begun_ns=self._begun_ns)

    def _unanswered(self, part: Sequence[claim_infos.ClaimInfo]) -> None:
        """Journal what a call without an answer may have done."""

    def _told_after(self, info: claim_infos.ClaimInfo) -> int:
        """Return after how many of its drivers the claim is prepared, or is not any more."""
        raise NotImplementedError

    def _write(self, info: claim_infos.ClaimInfo) -> None:
        raise NotImplementedError


class Preparation(Attempt[preparations.Prepared]):
    """An attempt to prepare claims: each is prepared when all its drivers have prepared it."""

    call, method = "prepare", "NodePrepareResources"

    def _told_after(self, info: claim_infos.ClaimInfo) -> int:
        return len(info.drivers)

    def _write(self, info: claim_infos.ClaimInfo) -> None:
        self._journal.prepared(self._node, info, self._pod, begun_ns=self._begun_ns)


class Unpreparation(Attempt[None]):
    """An attempt to unprepare claims: the first driver of a claim gives its devices free.

    So may one that does not answer, as when it is killed at the end of the call: it can prepare
    the devices for another claim before it is asked again.
    """

    call, method = "unprepare", "NodeUnprepareResources"

    def _unanswered(self, part: Sequence[claim_infos.ClaimInfo]) -> None:
        for info in part:
            self._handled(info)

    def _told_after(self, info: claim_infos.ClaimInfo) -> int:
        del info
        return 1

    def _write(self, info: claim_infos.ClaimInfo) -> None:
        self._journal.unprepared(self._node, info, self._pod, begun_ns=self._begun_ns)


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
            text = f"{method} failed for ResourceClaim {names[uid]}: {_words(answer)}"
            return preparations.PreparationError(answer.reason, text)
    skipped = len(part) - len(answers)
    if skipped:
        text = f"{method} skipped {skipped} ResourceClaims"
        return preparations.PreparationError("SkippedClaims", text)
    return None


def _words(error: preparations.PreparationError) -> str:
    """Return an error of a driver with its reason, if the driver gave one."""
    given = error.reason != driver_contracts.DRIVER_ERROR
    return f"{error.reason}: {error}" if given else str(error)


def _skipped() -> preparations.PreparationError:
    return preparations.PreparationError("SkippedClaims", "the driver's answer lacks the claim")
