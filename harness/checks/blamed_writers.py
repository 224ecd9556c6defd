"""Violations that others have written: they are not counted against the subject.

A violation one of whose commits, or whose binding, someone else has made is not the subject's. If
someone else had only changed an object of the violation before, or if it is not sure who that was,
the violation does not stand either, but neither is the guarantee known to be kept: UNKNOWN. The
reason names the writer in both cases.

Patches by the script of a run are not the subject's either; they are in the journal of the script.

Where there is no audit log, field managers are asked, whose names a client may choose: a violation
of an object with a manager that is no part of the run is in doubt.
"""

import collections
import functools
from collections.abc import Iterator, Sequence

import msgspec

from harness.checks import plan_facts, protocol, verdicts
from harness.checks.evidence import acknowledged_writes
from harness.checks.observed import field_managers, observations
from harness.checks.witness import audit_comparison, audit_history, write_authors
from harness.model import naming

_RESOURCES = {"ResourceClaim": observations.CLAIMS, "Pod": observations.PODS}
_APPLIED = "ResourceClaimController"
"""Field manager with which every ResourceClaim controller applies the statuses of pods."""
_NAMES_MAX = 3
"""Writers that a reason names."""


class _Blame(msgspec.Struct, frozen=True):
    """The part that others have in a violation."""

    writer: str
    """A text; empty: nothing."""
    is_sure: bool = False


class Reviewer:
    """Reviews the results of checks with the writers in hand."""

    def __init__(self, evidence: protocol.Evidence) -> None:
        self._history = evidence.history
        has_log = audit_comparison.AuditLog in evidence
        self._told = evidence[audit_comparison.AuditLog].folded if has_log else None

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Reviewer":
        return cls(evidence)

    def review(self, check: protocol.Check, answer: verdicts.CheckResult) -> verdicts.CheckResult:
        if answer.verdict is not verdicts.Verdict.INVALID:
            return answer
        blamed = [(item, self._blame(check, item)) for item in answer.violations]
        others = [blame for _, blame in blamed if blame.writer]
        return _without(answer, blamed) if others else answer

    @functools.cached_property
    def _authors(self) -> write_authors.Authors:
        """The authors; only a run with violations asks for them."""
        told = self._told or audit_history.AuditHistory("")
        managers = {name for names in self._managers.values() for name in names}
        return write_authors.Authors(self._history.plan, told, managers)

    def _blame(self, check: protocol.Check, violation: verdicts.Violation) -> _Blame:
        if not check.at_rest and _decided(violation) in self._scripted:
            return _Blame("the script", is_sure=True)
        if self._told is None:
            return _Blame(self._stranger(violation))
        author = next(self._makers(violation), None)
        if author is not None:
            return _Blame(write_authors.told(author), self._is_sure(check, violation, author))
        author = None if check.by_holds else next(self._earlier(violation), None)
        return _Blame("" if author is None else write_authors.told(author))

    @functools.cached_property
    def _scripted(self) -> set[int]:
        plan = self._history.plan
        journal = self._history.operations(naming.SCRIPT)
        if journal is None or not plan_facts.is_scripted(plan):
            return set()
        writes = acknowledged_writes.of_journal(plan, journal)
        return {write.rv for write in writes if write.call.verb == "patch"}

    def _is_sure(
        self,
        check: protocol.Check,
        violation: verdicts.Violation,
        author: audit_history.Author,
    ) -> bool:
        """Return whether a violation is surely another's: of two holds, the later one counts.

        The scheduler must not give away what someone else has allocated, once it has seen that.
        """
        if self._authors.role(author) is not write_authors.Role.OTHER:
            return False
        if isinstance(violation, verdicts.DoubleAllocation) or check.by_holds:
            return self._authors.of(_decided(violation)) is not None
        return True

    def _makers(self, violation: verdicts.Violation) -> Iterator[audit_history.Author]:
        """Yield the others who have made a commit of a violation, or a binding that it is about."""
        made = [self._authors.of(version) for version in _commits(violation)]
        bound = [
            self._authors.of_binding(item.namespace, item.name)
            for item in violation.objects
            if item.kind == "Pod"
        ]
        yield from (author for author in (*made, *bound) if author is not None)

    def _earlier(self, violation: verdicts.Violation) -> Iterator[audit_history.Author]:
        """Yield the others who had changed an object of a violation before it."""
        last = max(violation.resource_versions, default=0)
        for item in violation.objects:
            resource = _RESOURCES.get(item.kind, "")
            author = self._authors.before(resource, item.namespace, item.name, last)
            if author is not None:
                yield author

    # ------------------------------------------------------------------------ field managers

    def _stranger(self, violation: verdicts.Violation) -> str:
        """Return a field manager of an object of a violation that is no part of the run."""
        for item in violation.objects:
            key = (_RESOURCES.get(item.kind, ""), item.namespace, item.name)
            for name in sorted(self._managers.get(key, ())):
                author = audit_history.Author(name, "")
                if self._authors.role(author) is not write_authors.Role.KNOWN:
                    return name
        return ""

    @functools.cached_property
    def _managers(self) -> dict[tuple[str, str, str], set[str]]:
        """The managers of each claim and pod that have changed more than labels.

        Empty if there is an audit log.
        """
        found = collections.defaultdict[tuple[str, str, str], set[str]](set)
        body = None if self._told else self._history.observations(observations.decode_line)
        for seen in body or ():
            if isinstance(seen, observations.Seen) and seen.resource in _RESOURCES.values():
                meta = seen.object.metadata
                found[seen.resource, meta.namespace, meta.name] |= {
                    entry.manager
                    for entry in field_managers.read(meta.managed_fields)
                    if entry.manager != _APPLIED and field_managers.says_more(entry)
                }
        return found


def _decided(violation: verdicts.Violation) -> int:
    """Return the revision that makes a violation one; 0: none alone does."""
    if isinstance(violation, verdicts.DoubleAllocation):
        return violation.overlap_from_rv
    return max(violation.resource_versions, default=0)


def _commits(violation: verdicts.Violation) -> Sequence[int]:
    """Return the revisions that make a violation; the end of a double allocation is none."""
    if isinstance(violation, verdicts.DoubleAllocation):
        return [holder.held_from_rv for holder in violation.holders]
    return violation.resource_versions


def _without(
    answer: verdicts.CheckResult, blamed: list[tuple[verdicts.Violation, _Blame]]
) -> verdicts.CheckResult:
    """Return a result without the violations of others; unlisted ones are in doubt, too."""
    mine = [violation for violation, blame in blamed if not blame.writer]
    others = [blame for _, blame in blamed if blame.writer]
    names = list(dict.fromkeys(blame.writer for blame in others))
    more = f" and {len(names) - _NAMES_MAX} others" * (len(names) > _NAMES_MAX)
    count = verdicts.counted(len(others), "violation")
    told = f"{count} by {', '.join(names[:_NAMES_MAX])}{more} {verdicts.LEFT_OUT}"
    if mine:
        left = answer.violation_count - len(others)
        return msgspec.structs.replace(
            answer,
            violation_count=left,
            violations=mine,
            reason=f"{mine[0].summary}{f', and {left - 1} more' * (left > 1)}; {told}",
        )
    is_kept = all(blame.is_sure for blame in others) and answer.violation_count == len(others)
    verdict = verdicts.Verdict.VALID if is_kept else verdicts.Verdict.UNKNOWN
    return answer.without_violations(verdict, told)
