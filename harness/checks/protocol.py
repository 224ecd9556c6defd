"""The form of a check, and the evidence that it judges.

A check is a `protocol.Check(…)` of a module, and one line in `check_registry`. A check of another
package has the same form; an entry point stands in for the line.

A check asks for evidence by its type, `evidence[claim_versions.ClaimVersions]`, and names these
types in its `needs`. A type of evidence says itself how it is made: by a class method
`from_evidence(evidence)`, or else without arguments. Each `folders.Folder` among them then sees the
observations of the run, in one pass for all. `NEEDS` are types that it is made from.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from harness.checks import verdicts
from harness.checks.observed import folders, observations
from harness.extensions import contracts
from harness.history import histories, plans, records
from harness.model import quantities

T = TypeVar("T")
Kind: TypeAlias = type[Any]
"""A type of evidence."""
_NO_OBJECTS = observations.ObjectError, quantities.QuantityError
"""Errors of folding what is no object of the API."""


class Evidence:
    """The evidence of one run: its plan, and whatever is asked for by type."""

    def __init__(
        self,
        plan: plans.Plan,
        values: Mapping[Kind, object] | None = None,
        *,
        history: histories.History | None = None,
        phases: Sequence[records.Phase] = (),
    ) -> None:
        """`values` are known already, by their types; `phases` those of a run without history."""
        self.plan = plan
        self.recorder: histories.EvidenceReader | None = None
        """The reader of the observations; None: there are none."""
        self._values: dict[Kind, Any] = dict(values or {})
        self._history = history
        self._phases = phases
        self._allowed: frozenset[Kind] | None = None
        """The types that may be asked for; None: all."""

    def __getitem__(self, kind: type[T]) -> T:
        if self._allowed is not None and kind not in self._allowed:
            raise LookupError(
                f"expected {kind.__name__} in the needs of the check that asks for it"
            )
        if kind not in self._values:
            made = getattr(kind, "from_evidence", None)
            self._values[kind] = kind() if made is None else made(self)
        value: T = self._values[kind]
        return value

    def __contains__(self, kind: Kind) -> bool:
        return kind in self._values

    @property
    def history(self) -> histories.History:
        """The run directory. Raises LookupError for evidence that was made without one."""
        if self._history is None:
            raise LookupError("expected the evidence of a run directory")
        return self._history

    @property
    def phases(self) -> Sequence[records.Phase]:
        return self._phases if self._history is None else tuple(self._history.phases)

    def of(self, check: "Check") -> "Evidence":
        """Return the same evidence, for a check that may ask for nothing but what it needs."""
        found = Evidence(self.plan, history=self._history, phases=self._phases)
        found._values, found._allowed = self._values, frozenset(closure(check.needs))
        return found

    def fold(self, body: Iterable[records.Body], kinds: Iterable[Kind]) -> "Evidence":
        """Show the observations to the folders among these types, and to those they need.

        Returns itself. Raises ObjectError or QuantityError if an object is not one of the API.
        """
        asked = [kind for kind in closure(kinds) if issubclass(kind, folders.Folder)]
        seeing: dict[Kind, folders.Folder] = {kind: self[kind] for kind in asked}
        folders.fold(body, *seeing.values())
        for folder in seeing.values():
            folder.conclude(seeing)
        return self


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A guarantee and the pure function that judges whether a run kept it."""

    name: str
    promise: str
    """The guarantee as a clause: `no device is held by two claims at once`."""
    judge: Callable[[Evidence], verdicts.Answer | contracts.CheckAnswer]
    guarantee: str = ""
    """The letter of the guarantee of which this is a part, as in docs/reference/verdicts.md; empty
    for a check of another package."""
    needs: tuple[Kind, ...] = ()
    """The types of evidence that `judge` asks for."""
    applies: Callable[[plans.Plan], bool] = lambda _: True
    """Returns True if a run with this plan owes the guarantee; others have no result of it."""
    by_holds: bool = False
    """Violations need nothing but holds, so that they stand if the observations only have gaps;
    those of other checks do not stand if the observations are in doubt."""
    at_rest: bool = False
    """Violations are of what is so at the end, when everything is at rest."""

    def not_examined(self, reason: str) -> verdicts.NotExamined:
        return verdicts.NotExamined(check=self.name, promise=self.promise, reason=reason)

    def unknown(self, reason: str) -> verdicts.CheckResult:
        return self.not_examined(reason).as_unknown()


def closure(kinds: Iterable[Kind]) -> list[Kind]:
    """Return types of evidence, each once, after those that it is made from."""
    found: dict[Kind, None] = {}
    for kind in kinds:
        found |= dict.fromkeys(closure(getattr(kind, "NEEDS", ())))
        found[kind] = None
    return list(found)


def read(
    history: histories.History, kinds: Iterable[Kind], values: Mapping[Kind, object] | None = None
) -> Evidence:
    """Return the evidence of a run, with its observations folded for these types.

    Of missing or damaged observations the folders have seen nothing: a part of them would mislead,
    as a lost release looks like a double allocation.
    """
    asked = list(kinds)
    for in_batches in (True, False):
        evidence = Evidence(history.plan, values, history=history)
        recorder = history.observations(observations.decode_lines)
        if recorder is None:
            return evidence
        try:
            evidence.fold(recorder if in_batches else iter(recorder), asked)
            break
        except _NO_OBJECTS as error:
            # The record is sound, but the `object` in it is not an object of the API. In a batch, a
            # folder may see such an object after others have seen later ones: one by one, again.
            recorder.damage = (
                f"{recorder.path.name}, line {recorder.line}: expected an object as the API server "
                f"sends it ({error}). The journal is damaged; restore the file or run again"
            )
    if recorder is not None and recorder.damage:
        evidence = Evidence(history.plan, values, history=history)
    evidence.recorder = recorder
    return evidence


def needs(checks: Iterable[Check], plan: plans.Plan) -> Iterator[Kind]:
    """Yield the types of evidence that the checks ask for which apply to a plan."""
    for check in checks:
        if check.applies(plan):
            yield from check.needs
