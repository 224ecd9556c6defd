"""A carrier, processes and planned faults for tests of the injector."""

import itertools
import pathlib
import types
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from harness import clocks, concurrency, errors
from harness.faults import injection, matching
from harness.history import directories, journal_reader, plans, records
from harness.run.faulting import fault_journal, injecting, injector
from harness.scenario import fault_kinds, profiles

TIMEOUT_S = 10.0


def now() -> injection.FaultTime:
    return injection.FaultTime("", clocks.monotonic_ns())


class FakeCarrier:
    """A carrier that applies what the test tells it to."""

    def __init__(self) -> None:
        self.rules: dict[str, Mapping[str, Any]] = {}
        self.calls: list[str] = []
        self.is_gone = self.is_stuck = False
        self._items: list[injection.Applied] = []
        self._sequences = itertools.count(1)

    def add(self, rule: Mapping[str, Any]) -> None:
        self._note(f"add {rule['name']} {rule.get('count') or ''}".strip())
        self.rules[rule["name"]] = rule

    def remove(self, name: str) -> None:
        """Switch a fault off and end what it holds."""
        self._note(f"remove {name}")
        self.rules.pop(name, None)
        for item in self._items:
            if item.fault == name and item.ended is None and not self.is_stuck:
                item.ended = now()

    def applied(self, after: int) -> Sequence[injection.Applied]:
        self._require()
        return [item for item in self._items if item.sequence > after]

    def last_sequence(self) -> int:
        return self._items[-1].sequence if self._items else 0

    def clear(self) -> None:
        self._note("clear")
        self.rules.clear()

    def restart(self) -> None:
        self.calls.append("restart")
        self.rules.clear()
        self._items, self._sequences = [], itertools.count(1)

    def drop(self, count: int) -> None:
        del self._items[:count]

    def apply(self, fault: str, name: str = "claim-1", *, lasts: bool = False) -> injection.Applied:
        """Let a fault take effect on an update of a claim's status."""
        facts = matching.Facts(
            verb="update",
            path="/",
            client="scheduler",
            resource="resourceclaims",
            subresource="status",
            name=name,
            uid=f"uid-{name}",
            resource_version=7,
        )
        action = injection.Delay(seconds=9.0) if lasts else injection.Lose()
        begun = now()
        item = injection.Applied(
            next(self._sequences), fault, "response", action, facts, begun, None if lasts else begun
        )
        self._items.append(item)
        return item

    def _note(self, call: str) -> None:
        self._require()
        self.calls.append(call)

    def _require(self) -> None:
        if self.is_gone:
            raise errors.FaultError("the carrier does not answer")


class FakeProcesses:
    """Supervisor and processes of a run in one, of which every call is noted."""

    lost_node = "worker-1"
    drivers_of_lost_node: Sequence[str] = ()
    cdi_of_lost_node = None

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.is_dead = False
        self.fails = False

    def living(self, name: str) -> str | None:
        return None if self.is_dead else name

    def kill(self, name: str, *, fault: str) -> bool:
        self.calls.append(f"kill {name} for {fault}")
        return True

    def terminate(self, name: str, *, fault: str) -> bool:
        self.calls.append(f"terminate {name} for {fault}")
        return True

    def pause(self, name: str, *, fault: str) -> bool:
        self.calls.append(f"pause {name} for {fault}")
        return True

    def resume(self, name: str) -> None:
        self.calls.append(f"resume {name}")

    def start_again(self, name: str) -> str:
        self.calls.append(f"start {name}")
        if self.fails:
            raise errors.ProcessError(f"expected to start {name}")
        return f"{name}.2"

    start_next = start_again

    def is_living(self, name: str) -> bool:
        return not any(call.startswith(f"kill {name} ") for call in self.calls)


def injected(
    stage: Any, fault: plans.PlannedFault, ending: injecting.Ending | None = None
) -> tuple[list[records.FaultApplied], records.FaultWindow]:
    """Inject a fault and heal it; return its effects and its window."""
    it = injecting.Injection(fault, stage, ending or injecting.Ending())
    it.perform(injector.act_of(fault))
    stage.journal.close()
    applied, (window,) = read(stage.path)
    return applied, window


def stage(
    folder: pathlib.Path,
    processes: Any = None,
    api: Any = None,
    faults: Sequence[plans.PlannedFault] = (),
    **parts: Any,
) -> Any:
    """Return the parts of a run that faults act on: fake processes, and `api` as the cluster."""
    guards: dict[str, concurrency.Lock] = {}
    plan = types.SimpleNamespace(
        faults=faults,
        namespace="ns",
        run_id="r",
        seed=7,
        carrier="server",
        settings={"subject": {"leader_election": None}},
        cluster_profile=profiles.load("embedded").model_dump(mode="json"),
    )
    made = {
        "plan": plan,
        "path": folder / "faults.jsonl",
        "session": None,
        "directory": directories.create(folder / "run"),
        "supervisor": processes,
        "processes": processes,
        "journal": fault_journal.FaultJournal(folder / "faults.jsonl", run_id="r"),
        "connected": lambda: api,
        "guard": lambda name: guards.setdefault(name, concurrency.lock(name)),
    }
    return types.SimpleNamespace(**made | parts)


def fault(name: str, kind: str = "lose-response", **keys: Any) -> plans.PlannedFault:
    spec: Any = fault_kinds.one({"kind": kind, **keys})
    is_traffic, after = hasattr(spec, "on"), spec.start_after
    rule = spec.rule(name, clients=["scheduler"], seed=0) if is_traffic else None
    return plans.PlannedFault(
        name=name,
        kind=kind,
        carrier="server" if rule else "run",
        clients=["scheduler"],
        start_s=spec.start_s,
        required=spec.required,
        owed=getattr(spec, "times", None) or 0,
        start_after=plans.StartCondition(**after.model_dump()) if after else None,
        duration_s=getattr(spec, "duration_s", None),
        text="A fault.",
        rule=msgspec.to_builtins(rule) if rule else {},
        parameters={} if rule else spec.model_dump(mode="json"),
    )


def read(path: pathlib.Path) -> tuple[list[records.FaultApplied], list[records.FaultWindow]]:
    journal = journal_reader.read(path)
    assert journal.trailer is not None
    return (
        [item for item in journal.records if isinstance(item, records.FaultApplied)],
        [item for item in journal.records if isinstance(item, records.FaultWindow)],
    )
