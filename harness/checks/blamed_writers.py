"""Violations that others have written: they are not counted against the subject.

A violation one of whose commits, or whose binding, someone else has made is not the subject's. If
someone else had only changed an object of the violation before, or if it is not sure who that was,
the violation does not stand either, but neither is the guarantee known to be kept: UNKNOWN. The
reason names the writer in both cases. Patches by the script of a run are not the subject's either;
they are in the journal of the script.

The audit log has the program (User-Agent) and the user of each request. Without one, field managers
are asked, whose names a client may choose: a violation of an object with a manager that is no part
of the run is in doubt.
"""

import collections
import enum
import functools
import itertools
import operator
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from harness.checks import plan_facts, protocol, verdicts
from harness.checks.evidence import acknowledged_writes
from harness.checks.observed import field_managers, observations
from harness.checks.witness import audit_comparison, audit_history, witnessed_writes
from harness.history import plans
from harness.model import naming

_OWN = "flake-hunt"
"""How the User-Agents of all parts of ours begin."""
_CLUSTER = ("kube-apiserver", "kube-controller-manager", "kubelet")
_SYSTEM_USERS = ("system:serviceaccount:kube-system:", "system:node:", "system:apiserver")
_OURS = ("python", "kube-scheduler", "cluster")
"""Kinds of schedulers whose User-Agents are known."""
_COMMAND = "command="
"""How the setting of a driver begins that is any program."""
_TOOLS = ("curl", "helm", "k9s", "kubectl", "lens")
"""Programs by which people write; others may be a subject whose User-Agent is not known."""


_VERSION = re.compile(r"-v?\d+(\.\d+)+$")
"""The end of a file's name that has its version, as `kube-controller-manager-1.36.3`."""


def _drivers(plan: plans.Plan) -> Iterator[str]:
    """Yield the programs that drivers of a run are, and the names by which ours call themselves."""
    chosen = str((plan.settings.get("subject") or {}).get("driver") or "")
    if not chosen.startswith(("socket", _COMMAND)):
        return
    pools = plan.settings.get("pools") or {}
    kinds = [pools, *(pools.get("more") or ())]
    yield from (name for kind in kinds if (name := kind.get("driver")))
    yield from (pools.get("imported") or {}).get("drivers") or ()
    words = chosen.removeprefix(_COMMAND).split() if chosen.startswith(_COMMAND) else []
    yield from (word.rpartition("/")[2] for word in words[:1])


class Role(enum.Enum):
    """The part of an author in the run."""

    KNOWN = "a part of the run or its cluster"
    OTHER = "someone else"
    UNSURE = "perhaps someone else"


class Authors:
    """Finds other writers in a run."""

    def __init__(
        self, plan: plans.Plan, told: audit_history.AuditHistory, managers: Iterable[str] = ()
    ) -> None:
        """`managers` are the field managers of the record, if there is no audit log to ask."""
        subject = plan.settings.get("subject") or {}
        schedulers: Sequence[dict[str, str]] = subject.get("schedulers") or ()
        controller = subject.get("claim_controller")
        programs = [*schedulers, controller] if isinstance(controller, dict) else schedulers
        kinds = [item.get("kind", "python") for item in schedulers]
        kinds += ["external"] * (controller == "external")
        self._names = {item["binary"].rpartition("/")[2] for item in programs if item.get("binary")}
        self._names |= set(_drivers(plan))
        self._names |= {"kube-scheduler"} if {"kube-scheduler", "cluster"} & {*kinds} else set()
        self._told = told
        seen = {*told.authors.values(), *(audit_history.Author(name, "") for name in managers)}
        shows_parts = any(map(self._is_part, seen))
        self._is_sure = shows_parts and {*kinds} <= {*_OURS} and not plan.plugins
        self._acts: dict[tuple[str, str, str], list[tuple[int, audit_history.Author]]] | None = None

    def role(self, author: audit_history.Author) -> Role:
        if self._is_part(author):
            return Role.KNOWN
        program = _program(author)
        if self._is_sure:
            return Role.OTHER if program else Role.KNOWN
        is_tool = program.partition("-")[0].lower() in _TOOLS and not self._binds_most(author)
        return Role.UNSURE if is_tool else Role.KNOWN

    def _is_part(self, author: audit_history.Author) -> bool:
        program = _program(author)
        is_known = program.startswith(_OWN) or program in self._names
        is_known = is_known or _VERSION.sub("", program) in _CLUSTER
        return is_known or author.user.startswith(_SYSTEM_USERS)

    def _binds_most(self, author: audit_history.Author) -> bool:
        mine = sum(item == author for item in self._told.binders.values())
        return mine > len(self._told.binders) / 2

    def of(self, version: int) -> audit_history.Author | None:
        """Return who else has made a revision; None: no one else, or it is not known."""
        return self._unless_known(self._told.authors.get(version))

    def of_binding(self, namespace: str, name: str) -> audit_history.Author | None:
        return self._unless_known(self._told.binders.get((namespace, name)))

    def before(
        self, resource: str, namespace: str, name: str, version: int
    ) -> audit_history.Author | None:
        """Return who else had changed what an object says, up to a revision: more than labels."""
        if self._acts is None:
            self._acts = collections.defaultdict(list)
            for kind, state, author in self._changes():
                self._acts[kind, state.namespace, state.name].append((state.version, author))
        acts = self._acts.get((resource, namespace, name), ())
        return next((author for made, author in acts if made <= version), None)

    def _changes(self) -> Iterator[tuple[str, witnessed_writes.State, audit_history.Author]]:
        for resource, writes in self._told.writes.items():
            ordered = sorted(
                (item.state for item in writes.values()), key=operator.attrgetter("uid", "version")
            )
            for before, after in itertools.pairwise(ordered):
                author = self.of(after.version)
                if author is not None and before.uid == after.uid and after.says_more(before):
                    yield resource, after, author

    def _unless_known(self, author: audit_history.Author | None) -> audit_history.Author | None:
        return None if author is None or self.role(author) is Role.KNOWN else author


def _program(author: audit_history.Author) -> str:
    return author.agent.partition("/")[0]


def named(author: audit_history.Author) -> str:
    program = author.agent.partition(" ")[0] or "a program without a name"
    return f"{program} (user {author.user})" if author.user else program


# ---------------------------------------------------------------------------- violations
_RESOURCES = {"ResourceClaim": observations.CLAIMS, "Pod": observations.PODS}
_APPLIED = "ResourceClaimController"
"""Field manager with which every ResourceClaim controller applies the statuses of pods."""
_NAMES_MAX = 3
"""Writers that a reason names."""


class _Blame(msgspec.Struct, frozen=True):
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
    def _authors(self) -> Authors:
        told = self._told or audit_history.AuditHistory("")
        managers = {name for names in self._managers.values() for name in names}
        return Authors(self._history.plan, told, managers)

    def _blame(self, check: protocol.Check, violation: verdicts.Violation) -> _Blame:
        if not check.at_rest and _decided(violation) in self._scripted:
            return _Blame("the script", is_sure=True)
        if self._told is None:
            return _Blame(self._stranger(violation))
        author = next(self._makers(violation), None)
        if author is not None:
            return _Blame(named(author), self._is_sure(check, violation, author))
        author = None if check.by_holds else next(self._earlier(violation), None)
        return _Blame("" if author is None else named(author))

    @functools.cached_property
    def _scripted(self) -> set[int]:
        plan = self._history.plan
        journal = self._history.operations(naming.SCRIPT)
        if journal is None or not plan_facts.is_scripted(plan):
            return set()
        writes = acknowledged_writes.of_journal(plan, journal)
        return {write.rv for write in writes if write.call.verb == "patch"}

    def _is_sure(
        self, check: protocol.Check, violation: verdicts.Violation, author: audit_history.Author
    ) -> bool:
        """Return whether a violation is surely another's: of two holds, the later one counts.

        The scheduler must not give away what someone else has allocated, once it has seen that.
        """
        if self._authors.role(author) is not Role.OTHER:
            return False
        if isinstance(violation, verdicts.DoubleAllocation) or check.by_holds:
            return self._authors.of(_decided(violation)) is not None
        return True

    def _makers(self, violation: verdicts.Violation) -> Iterator[audit_history.Author]:
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
        for item in violation.objects:
            key = (_RESOURCES.get(item.kind, ""), item.namespace, item.name)
            for name in sorted(self._managers.get(key, ())):
                author = audit_history.Author(name, "")
                if self._authors.role(author) is not Role.KNOWN:
                    return name
        return ""

    @functools.cached_property
    def _managers(self) -> dict[tuple[str, str, str], set[str]]:
        """The managers of each claim and pod that have changed more than labels.

        Empty if there is an audit log.
        """
        found = collections.defaultdict[tuple[str, str, str], set[str]](set)
        body = None if self._told else self._history.observations(observations.decode_lines)
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
