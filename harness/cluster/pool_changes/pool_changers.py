"""Makes the changes of the scenario at their times, undoes them, and journals both."""

import contextlib
import dataclasses
import heapq
import itertools
import pathlib
from collections.abc import Callable, Iterable

from harness import clocks, concurrency, errors, seeds, writing
from harness.client import apis
from harness.cluster.driver import driver_settings
from harness.cluster.pool_changes import pool_changing, pool_states
from harness.history import journal_writer, records
from harness.model import naming
from harness.scenario import pool_changes

_LOOK_S = 0.05
"""Seconds between two looks for the first pod."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PoolChangerOptions:
    """The changes to make, and their journal."""

    changes: pool_changes.PoolChanges
    journal: pathlib.Path | None = None
    """Journal of changes; None: no journal."""
    run_id: str = ""
    """Change the pools of this run; empty: of all runs."""
    seed: int = 0


def options(
    path: pathlib.Path | None, *, journal: pathlib.Path | None, run_id: str, seed: int
) -> PoolChangerOptions | None:
    """Return the options with the changes of a settings file; None without a file.

    Raises UsageError if the file cannot be read, or has unknown keys or values.
    """
    if path is None:
        return None
    changes = driver_settings.decode(path, pool_changes.PoolChanges)
    return PoolChangerOptions(changes=changes, journal=journal, run_id=run_id, seed=seed)


@dataclasses.dataclass(frozen=True, slots=True)
class _Due:
    """A change to make for the n-th time, or to undo."""

    name: str
    number: int
    made: pool_changing.Made | None = None
    """The change to undo; None: make it."""


class PoolChanger:
    """Changes pools: the driver publishes on one thread, an administrator taints on another."""

    def __init__(
        self, api: apis.Api, options: PoolChangerOptions, *, has_begun: Callable[[], bool]
    ) -> None:
        """`has_begun` returns whether the first pod has come; times count from then.

        Raises StorageError or UnwritableError if the journal cannot be written.
        """
        self._api, self._options, self._has_begun = api, options, has_begun
        self._named = options.changes.named()
        self._stopped = concurrency.Event("pool-changer.stopped")
        self._changing = pool_changing.PoolChanging(api, self._stopped, run_id=options.run_id)
        streams = seeds.Seeds(options.seed)
        self._dice = {name: streams.stream("pool-changes", name) for name in self._named}
        self._states: list[pool_states.PoolState] = []
        self._threads: list[concurrency.Thread] = []
        self._guard = concurrency.lock("pool-changer")
        self._begun_s: float | None = None
        """When the first pod was seen, by the monotonic clock; None: not yet."""
        self._writer: journal_writer.Writer | None = None
        if options.journal is not None:
            with writing.explained(options.journal):
                self._writer = journal_writer.Writer(
                    options.journal, process="kubelet", run_id=options.run_id
                )

    def start(self) -> None:
        """Read the pools, and start the threads.

        Raises ClusterError if rules are to be created and the API server does not serve them.
        """
        if self._options.changes.needs_rules:
            self._require_rules()
        label = naming.RUN_LABEL
        selector = f"{label}={self._options.run_id}" if self._options.run_id else label
        listed = self._api.list(apis.SLICES, label_selector=selector).items
        self._states = list(pool_states.of_slices(listed).values())
        rules = [name for name, change in self._named.items() if pool_changes.is_by_rule(change)]
        slices = [name for name in self._named if name not in rules]
        self._threads = [
            concurrency.spawn(thread, lambda names=names: self._run(names))  # type: ignore[misc]
            for thread, names in (("pool-changes", slices), ("taint-rules", rules))
        ]

    def stop(self) -> None:
        """End the threads, also in the middle of a change, and close the journal."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        if self._writer is not None:
            self._writer.close()

    def _require_rules(self) -> None:
        if apis.TAINT_RULES.plural not in self._api.served(apis.TAINT_RULES):
            raise errors.ClusterError(
                f"expected the API server to serve {apis.TAINT_RULES.plural} of "
                f'{apis.TAINT_RULES.api_version}, which pools.changes with by = "rule" need: enable '
                "them (--runtime-config, and the feature gate DRADeviceTaintRules)"
            )

    # ------------------------------------------------------------------- the threads

    def _run(self, names: Iterable[str]) -> None:
        with contextlib.suppress(pool_changing.Interrupted):
            self._change_all(names)

    def _change_all(self, names: Iterable[str]) -> None:
        begun_s, order = self._wait_for_first_pod(), itertools.count()
        agenda: list[tuple[float, int, _Due]] = []

        def put(due_s: float, due: _Due) -> None:
            heapq.heappush(agenda, (due_s, next(order), due))

        for name in names:
            put(begun_s + self._named[name].start_s, _Due(name, 1))
        while agenda:
            due_s, _, due = heapq.heappop(agenda)
            self._wait(due_s - concurrency.monotonic_s())
            if due.made is not None:
                self._undo(due, due.made)
                continue
            made, change = self._make(due), self._named[due.name]
            if made.undo is not None:
                undone_s = concurrency.monotonic_s() + change.lasting_s
                put(undone_s, _Due(due.name, due.number, made))
            if due.number < change.times:
                put(due_s + change.every_s, _Due(due.name, due.number + 1))

    def _wait_for_first_pod(self) -> float:
        while not self._has_begun():
            self._wait(_LOOK_S)
        with self._guard:
            if self._begun_s is None:
                self._begun_s = concurrency.monotonic_s()
            return self._begun_s

    def _make(self, due: _Due) -> pool_changing.Made:
        change, begun_ns = self._named[due.name], clocks.monotonic_ns()
        dice = self._dice[due.name]
        count = min(change.pools or len(self._states), len(self._states))
        chosen = sorted(dice.sample(self._states, count), key=lambda state: state.key)
        name = f"{self._options.run_id or 'run'}-{due.name}-{due.number}"
        made = self._changing.make(name, change, chosen, dice)
        self._journal(due, made, begun_ns=begun_ns)
        return made

    def _undo(self, due: _Due, made: pool_changing.Made) -> None:
        begun_ns = clocks.monotonic_ns()
        if made.undo is not None:
            made.undo()
        self._journal(due, made, begun_ns=begun_ns)

    def _wait(self, seconds: float) -> None:
        if self._stopped.wait(max(0.0, seconds)):
            raise pool_changing.Interrupted

    def _journal(self, due: _Due, made: pool_changing.Made, *, begun_ns: int) -> None:
        if self._writer is None:
            return
        record = records.PoolChanged(
            change=due.name,
            number=due.number,
            undone=due.made is not None,
            pools=made.pools,
            devices=made.devices,
            begun_ns=begun_ns,
            ts_ns=clocks.monotonic_ns(),
        )
        with self._guard:
            self._writer.write(record)
