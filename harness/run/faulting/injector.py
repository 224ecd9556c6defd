"""Switches the faults of a run on and off, and heals them all in the end.

Clients that faults of traffic are about are led through a carrier: the embedded API server, or the
proxy. Each fault has a thread, which waits for its start, injects it, and ends when it is healed.
One more thread reads what the carrier has applied.
"""

import dataclasses
import functools
import pathlib
from collections.abc import Callable, Mapping

import msgspec

from harness import clocks, concurrency, writing
from harness.client import kubeconfig_files, transports
from harness.cluster import cluster_records
from harness.faults import injection
from harness.history import plans
from harness.model import naming
from harness.run.faulting import (
    carriers,
    client_faults,
    injecting,
    node_faults,
    object_faults,
    process_faults,
)
from harness.run.faulting.scripted import player
from harness.scenario import script_specs

POLL_S = 0.1
"""Seconds between two readings of the carrier's applications."""
ON_TIMEOUT_S = 10.0
"""Time limit for the faults that begin with the load to be switched on, in seconds."""
HEAL_TIMEOUT_S = 60.0
"""Time limit for a fault to end and be healed, in seconds; a process may take long to start."""
LASTING_TIMEOUT_S = 5.0
"""Time limit for delayed calls and events to go on after everything was healed, in seconds."""
PROXY = "fault-proxy"
"""Process name of the proxy, and the subcommand that runs it."""


class Injector:
    """The faults of one run."""

    def __init__(self, stage: injecting.Stage, *, has_load: Callable[[], bool]) -> None:
        """`has_load` returns whether the load has made its first pod."""
        self._stage, self._faults, self._has_load = stage, stage.plan.faults, has_load
        self._journal, self._session = stage.journal, stage.session
        for fault in self._faults:
            client_faults.plugin_of(fault)
        self._ending = injecting.Ending()
        self._load_begun_ns = 0
        self.subject_ready = concurrency.Event("faults-subject-ready")
        """To be set by the run; faults of processes wait for it."""
        self._reading_over = concurrency.Event("faults-reading-over")
        self._reading: concurrency.Thread | None = None
        self._threads: list[concurrency.Thread] = []
        self._is_healed = False
        self._problem = ""
        """Why a fault may not be healed; empty: all are."""

    # ---------------------------------------------------------------------- the run's calls

    def start(self) -> None:
        """Begin, before the load starts, and wait for the faults that begin with it."""
        if (session := self._session) is not None:

            def read_on() -> None:
                while not self._reading_over.wait(POLL_S):
                    session.read()

            self._reading = concurrency.spawn("faults-reading", read_on)
        self._threads = [
            concurrency.spawn("faults-load", self._wait_for_load),
            *(
                concurrency.spawn(f"fault {fault.name}", functools.partial(self._perform, fault))
                for fault in self._faults
            ),
        ]
        why = "the first faults to be switched on"
        clocks.wait_until(self._first_are_on, timeout_s=ON_TIMEOUT_S, why=why)

    def active(self) -> list[str]:
        return self._journal.active()

    def is_awaited(self) -> bool:
        """Return whether a fault has yet to happen as often as it has to."""
        ended = self._journal.begun().difference(self.active())
        return any(
            fault.required and self._journal.ended_count(fault.name) < fault.owed
            for fault in self._faults
            if fault.name not in ended
        )

    def has_ended(self, name: str) -> bool:
        return name in self._journal.begun() and name not in self.active()

    def require_journal(self) -> None:
        if self._journal.failure is not None:
            raise self._journal.failure

    def heal(self, *, is_abandoned: bool = False) -> None:
        """Heal all faults, once, and close the journal; `is_abandoned`: the run ends at once."""
        if self._is_healed:
            return
        self._ending.is_abandoned = is_abandoned
        self._ending.over.set()
        for thread in self._threads:
            self._join(thread)
        self._reading_over.set()
        if self._reading is not None:
            self._join(self._reading)
        self._read_the_rest()
        missing = self._session.problem if self._session is not None else ""
        self._journal.close(problem="; ".join(filter(None, [self._problem, missing])))
        self._is_healed = True

    # ---------------------------------------------------------------------- one fault

    def _wait_for_load(self) -> None:
        while not self._has_load():
            if self._ending.over.wait(injecting.STEP_S):
                return
        self._load_begun_ns = clocks.monotonic_ns()
        self._ending.load_begun.set()

    def _perform(self, fault: plans.PlannedFault) -> None:
        if _begins_with_load(fault) or self._wait_for_start(fault):
            injecting.Injection(fault, self._stage, self._ending).perform(act_of(fault))

    def _wait_for_start(self, fault: plans.PlannedFault) -> bool:
        if not self._wait_until(self._ending.load_begun.is_set):
            return False
        from_ns = self._load_begun_ns
        if fault.start_after is not None:
            after = fault.start_after
            if not self._wait_until(lambda: self._journal.count(after.fault) >= after.applied):
                return False
            from_ns = clocks.monotonic_ns()
        left_s = fault.start_s - (clocks.monotonic_ns() - from_ns) / 1e9
        if left_s > 0 and self._ending.over.wait(left_s):
            return False
        waits = fault.kind in ACTS and fault.kind not in _WITHOUT_SUBJECT
        return not waits or self._wait_until(self.subject_ready.is_set)

    def _wait_until(self, condition: Callable[[], bool]) -> bool:
        while not condition():
            if self._ending.over.wait(injecting.STEP_S):
                return False
        return not self._ending.over.is_set()

    def _first_are_on(self) -> bool:
        begun = self._journal.begun()
        return all(fault.name in begun for fault in self._faults if _begins_with_load(fault))

    def _join(self, thread: concurrency.Thread) -> None:
        thread.join(HEAL_TIMEOUT_S)
        if thread.is_alive():
            self._problem = f"`{thread.name}` did not end within {HEAL_TIMEOUT_S:g} s"

    # ---------------------------------------------------------------------- applications

    def _read_the_rest(self) -> None:
        if self._session is None:
            return
        deadline_ns = clocks.monotonic_ns() + LASTING_TIMEOUT_S * 1e9
        self._session.read()
        while self._session.lasting and clocks.monotonic_ns() < deadline_ns:
            clocks.sleep(injecting.STEP_S)
            self._session.read()
        self._session.read(is_last=True)


def _begins_with_load(fault: plans.PlannedFault) -> bool:
    is_early = bool(fault.rule) or fault.kind == script_specs.JOURNAL
    return is_early and not fault.start_s and fault.start_after is None


# ------------------------------------------------------------------------------- the kinds


def _traffic(it: injecting.Injection) -> None:
    name, count = it.fault.name, it.fault.rule.get("count")
    it.undo.callback(it.stage.carried.switch_off, name)
    it.stage.carried.switch_on(it.fault.rule)
    it.begun()
    it.wait_for_end(lambda: count is not None and it.stage.journal.ended_count(name) >= count)


ACTS: Mapping[str, injecting.Act] = {
    "kill-process": process_faults.end,
    "restart-process": process_faults.end,
    "pause-process": process_faults.pause,
    "take-over": process_faults.take_over,
    "restart-api-server": process_faults.restart_api_server,
    "lose-node": node_faults.lose,
    "reboot-node": node_faults.reboot,
    "touch-objects": object_faults.touch,
    "reallocate-claims": object_faults.move_claims,
    script_specs.JOURNAL: player.play,
}
"""The functions of the kinds that the run injects itself; all others are clients of the cluster."""
_WITHOUT_SUBJECT = ("touch-objects", script_specs.JOURNAL)
"""The kinds of `ACTS` that may begin before the subject is ready."""


def act_of(fault: plans.PlannedFault) -> injecting.Act:
    return _traffic if fault.rule else ACTS.get(fault.kind, client_faults.act)


# ------------------------------------------------------------------------------ the carrier


def led(stage: injecting.Stage) -> injecting.Stage:
    """Lead the faulty clients through the carrier, if there is one; return the stage with it.

    Called before the clients start. Raises HarnessError if the carrier does not start or answer,
    OSError if a file cannot be written.
    """
    if not stage.plan.carrier:
        return stage
    through = _server if stage.plan.carrier == "server" else _proxy
    kinds = {fault.name: fault.kind for fault in stage.plan.faults}
    session = carriers.CarrierSession(through(stage), stage.journal, kinds=kinds)
    return dataclasses.replace(stage, session=session)


def _clients(plan: plans.Plan) -> list[str]:
    of_traffic = [item for item in plan.faults if item.rule or item.kind == script_specs.JOURNAL]
    return list(dict.fromkeys(client for fault in of_traffic for client in fault.clients))


def _server(stage: injecting.Stage) -> carriers.AdminCarrier:
    plain, user = stage.cluster.kubeconfig.resolve(), stage.cluster.user_kubeconfig.resolve()
    foreign = stage.processes.foreign_clients()
    stage.processes.lead_through(
        {
            client: kubeconfig_files.write_for_client(
                user if naming.first_incarnation(client) in foreign else plain, client=client
            )
            for client in _clients(stage.plan)
        }
    )
    return carriers.AdminCarrier(transports.connect(plain))


def _proxy(stage: injecting.Stage) -> carriers.AdminCarrier:
    """The kubeconfigs that it writes are beside the cluster's, and go when it ends."""
    own = stage.cluster.kubeconfig.resolve()
    proxied = {client: _proxied(own, client) for client in _clients(stage.plan)}
    admin, settings = _proxied(own, "admin"), stage.directory.logs / f"{PROXY}-settings.json"
    document = {  # see `fault_proxy.settings`
        "clients": [
            {"name": client, "kubeconfig": str(own), "proxied_kubeconfig": str(path)}
            for client, path in proxied.items()
        ],
        "admin": {"kubeconfig": str(admin)},
        "notes_versions": any(
            fault.rule.get("action", {}).get("type") == injection.Stale.__struct_config__.tag
            for fault in stage.plan.faults
        ),
    }
    writing.replace(settings, msgspec.json.encode(document))
    stage.supervisor.start_part(PROXY, PROXY, settings.resolve())
    stage.supervisor.wait_ready(PROXY)
    stage.processes.lead_through(proxied)
    return carriers.AdminCarrier(transports.connect(admin))


def _proxied(kubeconfig: pathlib.Path, client: str) -> pathlib.Path:
    return kubeconfig.with_name(f"{cluster_records.PROXY_KUBECONFIG}{client}")
