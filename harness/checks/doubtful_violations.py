"""Decides which violations remain valid when observations are missing.

Doubt never becomes a violation. Violations that need nothing but holds stand if the certain part of
the holds shows them (`evidence.certain_holds`). Those of other checks rest on the order, the
completeness or the end of the observations; if these are in doubt, the check is UNKNOWN.
"""

import functools
from collections.abc import Sequence
from typing import TypeGuard

import msgspec

from harness.checks import plain_answers, protocol, verdicts
from harness.checks.certificate import certificate_items, certification
from harness.checks.consumption import declared_devices
from harness.checks.evidence import certain_holds, recorded_lists, wholeness
from harness.checks.holds import hold_history

_OBSERVED = frozenset(
    {
        "files",
        "manifest",
        "recorder",
        "first-lists",
        "no-gaps",
        "order",
        "final-lists",
        "records",
        "lives",
        "lists",
        "final-objects",
        "references",
        "revisions",
        "acknowledged",
    }
)
"""Items of the certificate without which the observations are in doubt; an audit log disputes some
of them if it has other states of the same objects, not if it lacks writes."""


def _is_violated(answer: verdicts.Answer) -> TypeGuard[verdicts.CheckResult]:
    return isinstance(answer, verdicts.CheckResult) and answer.violation_count > 0


class _AnyShareable(declared_devices.DeclaredDevices):
    """The devices of slices that are in doubt: any of them may have allowed shares."""

    def is_shareable(self, device: str) -> bool | None:
        del device
        return True


class Reviewer:
    """Reviews the results of checks with the certificate in hand."""

    def __init__(
        self, evidence: protocol.Evidence, items: Sequence[certificate_items.Item]
    ) -> None:
        self._evidence = evidence
        self._found = evidence[wholeness.Wholeness].found
        missing = [
            item
            for item in items
            if not item.ok and (item.name in _OBSERVED or self._found.count(item.name))
        ]
        self._doubt = "; ".join(f"{item.name}: {item.reason}" for item in missing[:1])

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Reviewer":
        return cls(evidence, evidence[certification.Certificate].items)

    def review(self, check: protocol.Check, answer: verdicts.CheckResult) -> verdicts.CheckResult:
        """Return an answer, without violations that do not stand."""
        if not self._doubt or answer.verdict is not verdicts.Verdict.INVALID:
            return answer
        if not check.by_holds:
            return self._unknown(answer)
        if self._found.is_empty:  # gaps are no contradiction; the holds end where they begin
            return answer
        again = plain_answers.judged(check, self._certain)
        if _is_violated(again) and self._is_so_in_order(check):
            why = f"{again.reason}; what is in doubt was left out"
            return msgspec.structs.replace(again, reason=why)
        return self._unknown(answer)

    def _is_so_in_order(self, check: protocol.Check) -> bool:
        """Return whether the journal's order shows a violation, too, if revisions go back in it.

        One record in the wrong place is no second history.
        """
        if self._found.count(recorded_lists.ORDER) <= 1:
            return True
        body = self._evidence.history.observations()
        folded = certain_holds.fold_in_order(() if body is None else body)
        return _is_violated(plain_answers.judged(check, self._with_holds(folded)))

    @functools.cached_property
    def _certain(self) -> protocol.Evidence:
        body = self._evidence.history.observations()
        return self._with_holds(certain_holds.fold(() if body is None else body, self._found))

    def _with_holds(self, folded: hold_history.HoldHistory) -> protocol.Evidence:
        """Return the input of checks with other holds; all shares of devices are allowed."""
        return self._evidence.replaced(
            {hold_history.HoldHistory: folded, declared_devices.DeclaredDevices: _AnyShareable()}
        )

    def _unknown(self, result: verdicts.CheckResult) -> verdicts.CheckResult:
        count = result.violation_count
        return msgspec.structs.replace(
            result,
            verdict=verdicts.Verdict.UNKNOWN,
            violation_count=0,
            violations=[],
            others=[],
            reason=(
                f"{count:,} violation{'s' * (count != 1)} would follow, but the observations are "
                f"in doubt ({self._doubt})"
            ),
        )
