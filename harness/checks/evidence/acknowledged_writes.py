"""Was every write that the API server acknowledged observed at its version?

The journals of API calls name the uid and the resourceVersion of each answer. The load, the
kubelets, the scheduler and the claim controller keep such journals. A write is looked for if its
resource is observed, in the namespace of the run. The answers of deletions and bindings need not
have a version of their own. The answer to a write of a claim shows the devices that it has at this
version, and so must the observation.

Only a write that is missing is read again, for its name.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from harness.checks.evidence import contradictions, observed_versions
from harness.checks.observed import observations
from harness.history import histories, plans, records

OBSERVED = "acknowledged"
"""The item of the certificate that this module answers."""
_WRITES = ("create", "update", "patch")
VERSION_MAX = 2**62
"""Every resourceVersion is below it."""
_NAMESPACED = (observations.CLAIMS, observations.PODS)
"""Resources that are observed in the run's namespace only."""


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """A write that the API server acknowledged."""

    call: records.Invocation
    uid: str
    rv: int
    devices: tuple[str, ...] | None
    """`driver/pool/device` of the claim in the answer; None: they are not known."""

    @property
    def held(self) -> int | None:
        """The digest of the devices; None: they are not known."""
        return None if self.devices is None else observed_versions.digest_of_devices(self.devices)

    @property
    def title(self) -> str:
        space = f"{self.call.namespace}/" if self.call.namespace else ""
        return (
            f"{self.call.verb} {self.call.resource} {space}{self.call.name} "
            f"at resourceVersion {self.rv}"
        )


def of_call(plan: plans.Plan, call: records.Invocation, end: records.Completion) -> Write | None:
    """Return the write that must have been observed after a call; None: there is none."""
    resource = call.resource.partition("/")[0]
    if end.outcome != "ok" or call.verb not in _WRITES or resource not in plan.resources:
        return None
    if resource in _NAMESPACED and call.namespace != plan.namespace:
        return None
    text = end.resource_version[:20]
    rv = int(text) if text.isdecimal() else VERSION_MAX
    if not end.uid or rv >= VERSION_MAX:
        return None
    devices = None if end.devices is None else tuple(end.devices)
    return Write(call=call, uid=end.uid, rv=rv, devices=devices)


def of_journal(plan: plans.Plan, journal: Iterable[records.Body]) -> Iterator[Write]:
    """Yield the acknowledged writes of a journal, without those that are not looked for."""
    begun: dict[int, records.Invocation] = {}
    for record in journal:
        if isinstance(record, records.Invocation):
            begun[record.op] = record
        elif isinstance(record, records.Completion):
            call = begun.pop(record.op, None)
            write = of_call(plan, call, record) if call else None
            if write is not None:
                yield write


def require(
    found: contradictions.Contradictions,
    observed: observed_versions.Versions,
    journals: Iterable[observed_versions.Versions],
    history: histories.History,
    *,
    since_rv: int,
    is_in_gap: Callable[[int], bool],
) -> None:
    """Count the writes in some journals after `since_rv` that were not observed as they are there.

    The journals are read again for their names if there are such writes. `is_in_gap` returns
    whether a gap may have hidden this version of a claim.
    """
    lost, changed = set[int](), set[int]()
    for written in journals:
        after = written.numbers() > since_rv
        lost |= observed_versions.missing(written.digests, observed.digests, where=after)
        changed |= observed_versions.missing(written.held, observed.held)
    if not (lost or changed):
        return
    for process in (*history.expected_operations(), *history.expected_writes()):
        for write in of_journal(history.plan, history.operations(process) or ()):
            if write.rv <= since_rv:
                continue
            version = observed_versions.digest(write.uid, write.rv)
            told = f"{process}: {write.title} was acknowledged"
            if version in lost:
                is_claim = write.call.resource.partition("/")[0] == observations.CLAIMS
                doubts_holds = is_claim and not is_in_gap(write.rv)
                found.add(OBSERVED, f"{told} and never observed", doubts_holds=doubts_holds)
            elif write.held is not None and version ^ write.held in changed:
                shown = f"with {', '.join(write.devices)}" if write.devices else "without devices"
                found.add(OBSERVED, f"{told} {shown}, and observed otherwise")
