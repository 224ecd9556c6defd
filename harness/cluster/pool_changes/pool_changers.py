"""Makes the changes of the scenario at their times, undoes them, and journals both."""

import contextlib
import heapq
import itertools
import pathlib
from collections.abc import Callable, Iterable

from harness import clocks, concurrency, errors, seeds
from harness.client import apis, journaling
from harness.cluster.pool_changes import pool_changing, pool_states
from harness.history import records
from harness.model import naming
from harness.scenario import pool_changes

_LOOK_S = 0.05
"""Seconds between two looks for the first pod."""


class PoolChanger:
    """Changes pools: the driver publishes on one thread, an administrator taints on another."""

    def __init__(
        self,
        api: apis.Api,
        changes: pool_changes.PoolChanges,
        *,
        journal: pathlib.Path | None,
        run_id: str,
        seed: int,
        has_begun: Callable[[], bool],
    ) -> None:
        """Change the pools of this run; `run_id` empty: of all runs.

        `has_begun` returns whether the first pod has come; times count from then. Raises
        StorageError or UnwritableError if the journal cannot be written.
        """
        self._api, self._changes, self._run_id, self._has_begun = api, changes, run_id, has_begun
        self._named = changes.named()
        self._stopped = concurrency.Event("pool-changer.stopped")
        self._changing = pool_changing.PoolChanging(api, self._stopped, run_id=run_id)
        streams = seeds.Seeds(seed)
        self._dice = {name: streams.stream("pool-changes", name) for name in self._named}
        self._states: list[pool_states.PoolState] = []
        self._threads: list[concurrency.Thread] = []
        self._guard = concurrency.lock("pool-changer")
        self._begun_s: float | None = None
        """When the first pod was seen, by the monotonic clock; None: not yet."""
        self._journal = None
        if journal is not None:
            self._journal = journaling.opened(journal, process="kubelet", run_id=run_id)

    def start(self) -> None:
        """Read the pools, and start the threads.

        Raises ClusterError if rules are to be created and the API server does not serve them.
        """
        rules = [name for name, change in self._named.items() if pool_changes.is_by_rule(change)]
        if rules and apis.TAINT_RULES.plural not in self._api.served(apis.TAINT_RULES):
            raise errors.ClusterError(
                f"expected the API server to serve {apis.TAINT_RULES.plural} of "
                f'{apis.TAINT_RULES.api_version}, which pools.changes with by = "rule" need: enable '
                "them (--runtime-config, and the feature gate DRADeviceTaintRules)"
            )
        label = naming.RUN_LABEL
        selector = f"{label}={self._run_id}" if self._run_id else label
        listed = self._api.list(apis.SLICES, label_selector=selector).items
        self._states = list(pool_states.of_slices(listed).values())
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
        if self._journal is not None:
            self._journal.close()

    # ------------------------------------------------------------------- the threads

    def _run(self, names: Iterable[str]) -> None:
        with contextlib.suppress(pool_changing.Interrupted):
            self._change_all(names)

    def _change_all(self, names: Iterable[str]) -> None:
        begun_s, order = self._wait_for_first_pod(), itertools.count()
        agenda: list[tuple[float, int, str, int, pool_changing.Made | None]] = []
        """A heap: time, order, and a change to make for the n-th time, or one to undo."""

        def put(due_s: float, name: str, number: int, made: pool_changing.Made | None) -> None:
            heapq.heappush(agenda, (due_s, next(order), name, number, made))

        for name in names:
            put(begun_s + self._named[name].start_s, name, 1, None)
        while agenda:
            due_s, _, name, number, known = heapq.heappop(agenda)
            self._wait(due_s - concurrency.monotonic_s())
            begun_ns, change = clocks.monotonic_ns(), self._named[name]
            if known is not None:
                known.undo()
                self._note(name, number, known, begun_ns=begun_ns, undone=True)
                continue
            made = self._make(name, number)
            self._note(name, number, made, begun_ns=begun_ns, undone=False)
            if made.undos:
                put(concurrency.monotonic_s() + change.lasting_s, name, number, made)
            if number < change.times:
                put(due_s + change.every_s, name, number + 1, None)

    def _wait_for_first_pod(self) -> float:
        while not self._has_begun():
            self._wait(_LOOK_S)
        with self._guard:
            if self._begun_s is None:
                self._begun_s = concurrency.monotonic_s()
            return self._begun_s

    def _make(self, name: str, number: int) -> pool_changing.Made:
        change, dice = self._named[name], self._dice[name]
        count = min(change.pools or len(self._states), len(self._states))
        chosen = sorted(dice.sample(self._states, count), key=lambda state: state.key)
        unique = f"{self._run_id or 'run'}-{name}-{number}"
        return self._changing.make(unique, change, chosen, dice)

    def _wait(self, seconds: float) -> None:
        if self._stopped.wait(max(0.0, seconds)):
            raise pool_changing.Interrupted

    def _note(
        self, name: str, number: int, made: pool_changing.Made, *, begun_ns: int, undone: bool
    ) -> None:
        if self._journal is not None:
            self._journal.write(
                records.PoolChanged(
                    change=name,
                    number=number,
                    undone=undone,
                    pools=made.pools,
                    devices=made.devices,
                    begun_ns=begun_ns,
                    ts_ns=clocks.monotonic_ns(),
                )
            )
