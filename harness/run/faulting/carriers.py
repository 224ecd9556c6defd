"""Faults of API calls and watch events: rules of a carrier, switched on, read and switched off.

A carrier is the embedded API server or the fault proxy. Its restart is survived.
"""

import json
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from harness import clocks, concurrency, errors
from harness.client import apis, transports
from harness.faults import admin_api, injection
from harness.history import records
from harness.run.faulting import fault_journal

T = TypeVar("T")
Rule = Mapping[str, Any]
TIMEOUT_S = 5.0
_PART = "."
"""Follows the name of the fault in the name of a rule, if the fault has several; no name has it."""


def rule_name(fault: str, *parts: str) -> str:
    return _PART.join([fault, *filter(None, parts)])


def _fault_of(rule: str) -> str:
    return rule.partition(_PART)[0]


class _Page(msgspec.Struct, frozen=True):
    """An answer to `GET applied`."""

    items: list[injection.Applied]
    boot_id: str = msgspec.field(name="bootID")


class _Listing(msgspec.Struct, frozen=True, rename="camel"):
    """An answer to `GET faults`, as far as it is used."""

    last_sequence: int


class AdminCarrier:
    """A carrier behind its admin API (see `faults.admin_api`). Threads may share it."""

    def __init__(self, transport: transports.Transport) -> None:
        self._transport = transport

    def add(self, rule: Mapping[str, Any]) -> None:
        self._call("POST", "faults", json.dumps(rule).encode())

    def remove(self, name: str) -> None:
        self._call("DELETE", f"faults/{urllib.parse.quote(name, safe='')}", missing_ok=True)

    def applied(self, after: int) -> Sequence[injection.Applied]:
        page = self._get(f"applied?after={after}", _Page)
        if page.boot_id != clocks.boot_id():
            raise errors.FaultError(
                f"expected a carrier on this host (boot {clocks.boot_id()}), whose clock can be "
                f"compared, got one of boot {page.boot_id}"
            )
        return page.items

    def last_sequence(self) -> int:
        return self._get("faults", _Listing).last_sequence

    def clear(self) -> None:
        self._call("DELETE", "faults")

    def _get(self, path: str, kind: type[T]) -> T:
        body = self._call("GET", path)
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.DecodeError as error:
            raise errors.FaultError(f"the carrier answered something else ({error})") from error

    def _call(
        self, method: str, path: str, body: bytes | None = None, *, missing_ok: bool = False
    ) -> bytes:
        request = transports.Request(
            method=method, path=admin_api.PREFIX + path, body=body, timeout_s=TIMEOUT_S
        )
        try:
            response = self._transport.send(request)
        except transports.TransportError as error:
            raise errors.FaultError(f"the carrier does not answer ({error})") from error
        finally:
            self._transport.close()  # a kept connection would not survive a restart
        if response.status >= 400 and not (missing_ok and response.status == 404):
            refusal = apis.to_error(response.status, response.body)
            raise errors.FaultError(f"the carrier refused {method} {path} ({refusal})")
        return response.body


# ------------------------------------------------------------------- during one run


class CarrierSession:
    """The rules that a run has switched on, and the reader of their applications."""

    def __init__(
        self,
        carrier: AdminCarrier,
        journal: fault_journal.FaultJournal,
        *,
        kinds: Mapping[str, str],
    ) -> None:
        """Switch off what an earlier run has left; `kinds` of the faults by their names."""
        carrier.clear()
        self._carrier, self._journal, self._kinds = carrier, journal, dict(kinds)
        self._before = carrier.last_sequence()
        self._after = self._before
        """Sequence number up to which all applications are journaled."""
        self._lasting: set[int] = set()
        """Applications that were counted, but had not ended."""
        self._written: set[int] = set()
        """Applications after `_after` that are journaled."""
        self._guard = concurrency.lock("fault-carrier")
        self._on: dict[str, Rule] = {}
        self.problem = ""
        """Why applications may be missing in the journal; empty: they are complete."""

    def switch_on(self, rule: Rule, *, kind: str = "") -> None:
        """Add a rule; `kind` is that of its effects, if its fault has several kinds."""
        with self._guard:
            if kind:
                self._kinds[rule["name"]] = kind
            self._carrier.add(rule)
            self._on[rule["name"]] = rule

    def switch_off(self, name: str) -> None:
        """Remove a rule, which lets go what it holds or delays. Raises FaultError on failure."""
        with self._guard:
            self._on.pop(name, None)
            self._carrier.remove(name)

    def applied(self) -> Sequence[injection.Applied]:
        return self._carrier.applied(self._before)

    def read(self, *, is_last: bool = False) -> None:
        """Journal new applications; `is_last`: also those that have not ended."""
        with self._guard:
            self._read(is_last=is_last)

    @property
    def lasting(self) -> int:
        return len(self._lasting)

    def across_restart(self, restart: Callable[[], None]) -> None:
        """Call `restart`, which ends the carrier and starts it again; then switch the rules on.

        A rule that may hit a number of calls gets what is left of it. The carrier counts its
        applications from 1 again.
        """
        with self._guard:
            for name in self._on:
                self._carrier.remove(name)
            self._read(is_last=True)
            restart()
            self._before = self._after = 0
            self._lasting.clear()
            self._written.clear()
            for rule in self._on.values():
                self._switch_on_again(rule)

    def _switch_on_again(self, rule: Rule) -> None:
        count = rule["count"]
        left = None if count is None else count - self._journal.count(rule["name"])
        if left is None or left > 0:
            self._carrier.add({**rule, "count": left})

    def _read(self, *, is_last: bool) -> None:
        try:
            items = self._carrier.applied(self._after)
        except errors.FaultError as error:
            self._misses(str(error))
            return
        if items and (dropped := items[0].sequence - self._after - 1):
            self._misses(f"the carrier has dropped {dropped} applications")
            return
        for item in items:
            self._note(item, is_last=is_last)
        while self._after + 1 in self._written:
            self._after += 1
            self._written.remove(self._after)

    def _misses(self, why: str) -> None:
        self.problem = self.problem or f"its effects may not be complete: {why}"

    def _note(self, item: injection.Applied, *, is_last: bool) -> None:
        if item.sequence in self._written:
            return
        if item.sequence not in self._lasting:
            self._journal.took_effect(_fault_of(item.fault))
            self._lasting.add(item.sequence)
        if item.ended is not None or is_last:
            self._journal.write(_record(item, self._kinds.get(item.fault, "")))
            self._lasting.remove(item.sequence)
            self._written.add(item.sequence)


def _record(item: injection.Applied, kind: str) -> records.FaultApplied:
    known = records.FaultApplied.__struct_fields__
    facts = msgspec.structs.asdict(item.facts).items()
    return records.FaultApplied(
        fault=_fault_of(item.fault),
        kind=kind,
        begun_ns=item.begun.monotonic_ns,
        ended_ns=item.ended.monotonic_ns if item.ended else None,
        detail=_effect(item),
        **{key: value for key, value in facts if key in known},
    )


def _effect(item: injection.Applied) -> str:
    match item.action:
        case injection.Lose() if item.point == "response":
            return "carried out; the answer was lost"
        case injection.Delay(seconds=seconds):
            return f"{_DELAYED[item.point]} {seconds:g} s late"
        case injection.Reject(code=code):
            return f"answered {code}"
        case injection.Stale(seconds=seconds):
            return f"answered with the state of {seconds:g} s ago"
        case injection.Overlook():
            return "the object was removed in spite of its finalizers"
        case action:
            return _DONE[type(action)]


_DELAYED = {"request": "carried out", "response": "answered", "event": "sent"}
_DONE: Mapping[type[injection.Action], str] = {
    injection.Block: "held",
    injection.Lose: "lost before it was carried out",
    injection.Truncate: "broken off in the middle",
    injection.Drop: "the watch's connection was closed before the event",
    injection.Gone: "the watch was ended by 410 before the event",
    injection.Omit: "the bookmark was left out",
}
