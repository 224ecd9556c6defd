"""The rules of a run in a carrier, over its admin API: what becomes of them, and what is journaled.

In test_carriers.txt, a script has a step a line; ` -> ` leads to what a step tells. A time is the
number of the call that asked for it.
"""

import itertools
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from harness import clocks, errors
from harness.client import transports
from harness.faults import admin_api, injection, matching
from harness.history import records
from harness.run.faulting import carriers, fault_journal
from tests.support import text_tables

FACTS = matching.Facts(
    verb="update", path="/", user_agent="x/1", client="scheduler", resource="pods",
    subresource="status", namespace="ns", name="a", uid="u", resource_version=7,
)  # fmt: skip


class Carrier:
    """A transport with a carrier at its other end."""

    def __init__(self) -> None:
        self._ticks, self.is_open = itertools.count(1), False
        self.boot_id, self.refusal, self.is_gone = clocks.boot_id(), 0, False
        self.start()

    def start(self) -> None:
        now = lambda: injection.FaultTime("", next(self._ticks))  # noqa: E731
        self.faults = injection.Faults(now=now, call_later=lambda *_: None)

    def send(self, request: transports.Request) -> transports.Response:
        assert request.timeout_s == carriers.TIMEOUT_S
        self.is_open = True
        if self.is_gone:
            raise transports.TransportError("connection refused", sent=False)
        path, _, query = request.path.partition("?")
        try:
            status, document = admin_api.answer(
                self.faults, request.method, path, query=query, body=request.body or b"",
                boot_id=self.boot_id,
            )  # fmt: skip
        except admin_api.NotServedError:
            status, document = 404, {}
        except ValueError as error:
            status, document = 400, {"kind": "Status", "message": str(error)}
        return transports.Response(self.refusal or status, msgspec.json.encode(document))

    def watch(self, request: transports.Request) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        self.is_open = False


class Journal(fault_journal.FaultJournal):
    def __init__(self, path: pathlib.Path) -> None:
        super().__init__(path, run_id="r")
        self.written: list[records.FaultApplied] = []

    def write(self, record: records.FaultApplied) -> None:
        super().write(record)
        self.written.append(record)


class Script:
    def __init__(self, path: pathlib.Path) -> None:
        self.carrier, self.journal = Carrier(), Journal(path)
        self.admin = carriers.AdminCarrier(self.carrier)
        self.carrier.faults.add(
            injection.FaultSpec(point="request", action=injection.Lose(), name="left")
        )
        self._strike("request")
        self.session = carriers.CarrierSession(self.admin, self.journal, kinds={"f": "kind-of-f"})

    def do(self, step: str) -> str:
        word, *given = step.split()
        try:
            return str(getattr(self, f"_{word}")(*given) or "")
        except errors.FaultError as error:
            return str(error)

    def _on(self, name: str, point: str, action: str, *more: str) -> None:
        rule = {"name": name, "point": point, "action": json.loads(action), "count": None}
        keys = {key: value for key, _, value in (item.partition("=") for item in more)}
        rule |= {"count": int(keys["count"])} if "count" in keys else {}
        self.session.switch_on(rule, kind=keys.get("kind", ""))

    def _off(self, name: str) -> None:
        self.session.switch_off(name)

    def _strike(self, point: Any) -> None:
        type_ = "ADDED" if point == "event" else ""
        facts = msgspec.structs.replace(FACTS, event_type=type_)
        applied = self.carrier.faults.strike(point, facts)
        if applied is not None and applied.ended is None:
            self.carrier.faults.wait(applied, lambda: None)

    def _let(self, name: str) -> None:
        self.carrier.faults.release(self.carrier.faults.get(name))

    def _read(self, how: str = "") -> str:
        """Tell what was journaled since: fault, kind, from when to when, and what it did."""
        self.session.read(is_last=how == "last")
        told = [
            f"{item.fault} {item.kind or '-'} {item.begun_ns}-{item.ended_ns or 'x'} {item.detail}"
            for item in self.journal.written
        ]
        self.journal.written.clear()
        return ", ".join(told) or "nothing"

    def _record(self) -> str:
        self.session.read(is_last=True)
        return json.dumps(msgspec.to_builtins(self.journal.written[-1]), separators=(",", ":"))

    def _counts(self, name: str) -> str:
        """Effects, those that ended, those that last; and all that the carrier knows of."""
        ended, all_of = self.journal.ended_count(name), self.session.applied()
        return f"{self.journal.count(name)} {ended} {self.session.lasting} of {len(all_of)}"

    def _rules(self) -> str:
        found = self.carrier.faults.all()
        return " ".join(f"{item.name}:{item.spec.count or '-'}" for item in found) or "none"

    def _restart(self) -> None:
        self.session.across_restart(self.carrier.start)

    def _drop(self) -> None:
        self.carrier.faults.applied.popleft()

    def _gone(self, is_gone: str = "yes") -> None:
        self.carrier.is_gone = is_gone == "yes"

    def _refuse(self, status: str) -> None:
        self.carrier.refusal = int(status)

    def _elsewhere(self) -> None:
        self.carrier.boot_id = "another"

    def _problem(self) -> str:
        return self.session.problem or "none"


@pytest.fixture
def script(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    monkeypatch.setattr(clocks, "boot_id", lambda: "this")
    script = Script(tmp_path / "faults.jsonl")
    yield script
    assert not script.carrier.is_open, "a kept connection would not survive a restart"
    script.journal.close()


@pytest.mark.parametrize("steps", text_tables.scripts(__file__, "test_carriers.txt"))
def test_a_carrier(script: Script, steps: list[str]) -> None:
    for step in steps:
        done, arrow, expected = step.partition(" ->")
        told = script.do(done)
        assert told == expected.strip() or not (arrow or told), done


def test_the_name_of_a_rule_tells_its_fault() -> None:
    assert [carriers.rule_name("f"), carriers.rule_name("f", "", "2")] == ["f", "f.2"]
