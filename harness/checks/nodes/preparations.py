"""The journals of preparations, and the check that no device is prepared for two claims at once.

The journals say what the nodes' driver did with claims: a second witness of the use of devices. No
verdict depends on them alone: the kubelets are part of the harness, and a real driver need not keep
them. That both claims really had a device must also be in the recorded API objects. If it is not,
the answer is UNKNOWN.

The API frees the devices of a pod that was deleted by force, or whose node was lost, although its
containers may still run (kubernetes#141471). A driver must then refuse a device until it is
unprepared. Judged only in runs whose driver promises that.
"""

import collections
import dataclasses
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.evidence import journal_totals
from harness.checks.holds import hold_history
from harness.history import plans, records

_Call = records.Prepared | records.Unprepared | records.PrepareFailed
_HELD = "DeviceHeld"
_HOLDER = re.compile(r"prepared for claim ([0-9a-f-]{36})")
"""In the words of our driver."""


class Preparations(msgspec.Struct, frozen=True, kw_only=True):
    """Totals over the journals of preparations."""

    prepared: int = 0
    """Claims that a driver prepared on a node."""
    unprepared: int = 0
    still_prepared: int = 0
    """Claims that were prepared on a node at the end of the journals."""
    failed: dict[str, int] = {}
    """`call reason`, as in `prepare NotReserved` -> number of failed calls."""


@dataclasses.dataclass(slots=True, kw_only=True)
class Preparation(verdicts.Named):
    """The time in which a claim was prepared on a node."""

    node: str
    namespace: str
    name: str
    uid: str
    exclusive: frozenset[str]
    """Its devices that no other claim may use."""
    from_ns: int
    until_ns: int | None = None
    """Monotonic times; None: to the end of the journals."""

    def lasts_at(self, ts_ns: int) -> bool:
        return self.from_ns <= ts_ns and (self.until_ns is None or ts_ns < self.until_ns)


class Reading:
    """The content of the journals, in their order, and their problems."""

    def __init__(self) -> None:
        self.prepared: list[Preparation] = []
        self.started: list[records.ContainerStarted] = []
        self.problems: list[str] = []
        """One line for each journal that is missing or incomplete."""
        self._counts: collections.Counter[str] = collections.Counter()
        self._failed: collections.Counter[str] = collections.Counter()
        self._last_refusal = ""
        self._open: dict[tuple[str, str], Preparation] = {}
        """Keyed by node and uid of the claims that are prepared."""
        self.unstarted: dict[str, records.ContainersFailed] = {}
        """The first failure to start containers of each pod, by its uid."""
        self._refusals: dict[str, records.PrepareFailed] = {}
        """Keyed by the uid of the claim that had the device."""
        self._last: dict[str, _Call] = {}
        """uid of a claim -> the last call about it."""
        self.rebooted: set[tuple[str, str]] = set()
        """Nodes and boot ids, one for each reboot of a node."""

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Reading":
        history, found = evidence.history, cls()
        processes, what = history.expected_preparations(), "preparations"
        for _, reader in journal_totals.each(
            found.problems, processes, history.preparations, what, named=f"journal of {what}"
        ):
            for record in reader:
                found.add(record)
        return found

    @property
    def totals(self) -> Preparations:
        return Preparations(
            prepared=self._counts["prepared"],
            unprepared=self._counts["unprepared"],
            still_prepared=len(self._open),
            failed=dict(sorted(self._failed.items())),
        )

    @property
    def kept(self) -> list[Preparation]:
        """Preparations that only the driver knows of: it has refused a device because of a claim of
        which no preparation is journaled, and no later call."""
        opened = {uid for _, uid in self._open}
        return [
            _preparation(self._last[uid], refusal.devices, refusal.begun_ns)
            for uid, refusal in sorted(self._refusals.items())
            if uid in self._last and uid not in opened and refusal.begun_ns > self._last[uid].ts_ns
        ]

    @property
    def why_not_prepared(self) -> str:
        """Return why most calls have failed, in a sentence; empty if most have succeeded."""
        failed = sum(n for call, n in self._failed.items() if call.startswith("prepare "))
        if failed <= self._counts["prepared"]:
            return ""
        return (
            f"drivers have prepared {self._counts['prepared']:,} claims and refused {failed:,} "
            f"calls, the last one because of {self._last_refusal}"
        )

    def add(self, record: records.Body) -> None:
        if isinstance(record, _Call):
            self._last[record.claim_uid] = record
        match record:
            case records.Prepared():
                self._counts["prepared"] += 1
                self._begin(record)
            case records.Unprepared():
                self._counts["unprepared"] += 1
                known = self._open.pop((record.node, record.claim_uid), None)
                if known is not None:  # a killed kubelet may not have said that it prepared it
                    known.until_ns = record.begun_ns
            case records.ContainerStarted():
                self.started.append(record)
            case records.ContainersFailed():
                self.unstarted.setdefault(record.pod_uid, record)
            case records.NodeRebooted():
                self._end_all(record)
            case records.PrepareFailed():
                self._failed[f"{record.call} {record.reason}"] += 1
                self._last_refusal = f"{record.reason}: {record.message}"
                if record.reason == _HELD and (holder := _HOLDER.search(record.message)):
                    self._refusals[holder[1]] = record

    def _end_all(self, record: records.NodeRebooted) -> None:
        if (record.node, record.boot_id) in self.rebooted:  # found again by the next process
            return
        self.rebooted.add((record.node, record.boot_id))
        for key in [key for key in self._open if key[0] == record.node]:
            self._open.pop(key).until_ns = record.ts_ns

    def _begin(self, record: records.Prepared) -> None:
        key = record.node, record.claim_uid
        if key not in self._open:  # else it is prepared again by the kubelet that took over
            alone = [device for device in record.devices if device not in record.shared]
            self._open[key] = _preparation(record, alone, record.ts_ns)
            self.prepared.append(self._open[key])


def _preparation(call: _Call, exclusive: Iterable[str], from_ns: int) -> Preparation:
    return Preparation(
        node=call.node,
        namespace=call.namespace,
        name=call.claim,
        uid=call.claim_uid,
        exclusive=frozenset(exclusive),
        from_ns=from_ns,
    )


# ----------------------------------------------------------------------------- the check
_Pair = tuple[str, Preparation, Preparation]
"""A device with two preparations of it, the earlier one first."""


def applies(plan: plans.Plan) -> bool:
    return bool(plan.expected_preparations and plan_facts.part(plan, "driver").get("exclusivity"))


def judge(evidence: protocol.Evidence) -> verdicts.CheckResult:
    uses = _by_device(evidence[Reading].prepared)
    pairs, reused = _double(uses), _reused(uses)
    held = {
        (device, hold.uid): hold
        for device in {pair[0] for pair in pairs}
        for hold in reversed(evidence[hold_history.HoldHistory].holds.of_device(device))
    }
    unless = "" if reused else "no device was prepared for a second claim"
    if pairs:
        unless = f"the API knows of no such claims, but the journals say: {_summary(pairs[0])}"
    return findings.judged(
        PREPARED_DEVICES,
        [
            _finding(pair, held)
            for pair in pairs
            if all((pair[0], item.uid) in held for item in pair[1:])
        ],
        examined=reused,
        good=f"{reused} times a device was prepared for another claim, never for two at once",
        unless=unless,
    )


PREPARED_DEVICES = protocol.Check(
    name="prepared_devices",
    guarantee="X",
    promise="no device is prepared for two claims at once",
    applies=applies,
    needs=(Reading, hold_history.HoldHistory),
    judge=judge,
)


def _by_device(prepared: Iterable[Preparation]) -> dict[str, list[Preparation]]:
    found = collections.defaultdict[str, list[Preparation]](list)
    for item in sorted(prepared, key=lambda item: item.from_ns):
        for device in sorted(item.exclusive):
            found[device].append(item)
    return found


def _double(uses: Mapping[str, Sequence[Preparation]]) -> list[_Pair]:
    pairs: list[_Pair] = []
    for device, items in uses.items():
        lasting: list[Preparation] = []
        for item in items:
            lasting = [one for one in lasting if one.lasts_at(item.from_ns)]
            pairs += [(device, one, item) for one in lasting if one.uid != item.uid]
            lasting.append(item)
    return sorted(pairs, key=lambda pair: pair[2].from_ns)


def _reused(uses: Mapping[str, Sequence[Preparation]]) -> int:
    """Return how often a device was prepared for another claim than the one before."""
    pairs = itertools.chain.from_iterable(map(itertools.pairwise, uses.values()))
    return sum(one.uid != two.uid for one, two in pairs)


def _summary(pair: _Pair) -> str:
    device, first, second = pair
    return f"{device} was prepared for {second.name} while it was prepared for {first.name}"


def _finding(pair: _Pair, held: dict[tuple[str, str], hold_history.Hold]) -> findings.Finding:
    device, first, second = pair
    before_s = (second.from_ns - first.from_ns) / 1e9
    late_s = ((first.until_ns or 0) - second.from_ns) / 1e9
    end = "never unprepared" if first.until_ns is None else f"unprepared {late_s:.3f} s later"
    return findings.Finding(
        summary=_summary(pair),
        text=f"{device} was prepared on {first.node} for claim {first.name} ({first.uid}), and "
        f"{before_s:.3f} s later on {second.node} for claim {second.name} ({second.uid}); the "
        f"first one was {end}",
        versions=[held[device, item.uid].from_rv for item in (first, second)],
        objects=[first.involved, second.involved],
    )
