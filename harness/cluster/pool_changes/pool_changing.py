"""Makes each kind of change and undoes it; repeats writes until the API server has them."""

import dataclasses
import functools
import random
from collections.abc import Callable, Sequence, Set

from harness import concurrency
from harness.client import apis, backoffs, transports
from harness.cluster.pool_changes import pool_states
from harness.model import naming
from harness.model.objects import Object
from harness.scenario import pool_changes

RETRY_S = 0.1
"""Wait before another try while the API server is away or overloaded, in seconds."""


class Interrupted(Exception):  # noqa: N818 - the process is to end, which is no error
    """The writer had to stop before it was done."""


TAINT_KEY = "flake-hunt.example/changed"


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """A change that was made."""

    pools: list[str]
    """`driver/pool` of the pools."""
    devices: list[str]
    """`driver/pool/device` of the devices that it was about; empty: it is about whole pools."""
    undos: list[Callable[[], None]]
    """One for each pool, which undoes it there; empty: it stays."""

    def undo(self) -> None:
        for undo in self.undos:
            undo()


class PoolChanging:
    """Changes pools one at a time, as the only writer of their slices."""

    def __init__(self, api: apis.Api, stopped: concurrency.Event, *, run_id: str) -> None:
        """`stopped` ends all waits; `run_id` labels the rules."""
        self._api, self._stopped, self._run_id = api, stopped, run_id
        self._published: dict[pool_states.PoolKey, Set[str]] = {}
        """Names of the slices by pool, once they were written here."""

    def make(
        self,
        name: str,
        change: pool_changes.AnyPoolChange,
        states: Sequence[pool_states.PoolState],
        dice: random.Random,
    ) -> Made:
        """Make a change to pools; `name` distinguishes it from all others of the run.

        Raises as `publish` does.
        """
        devices: list[str] = []
        undos: list[Callable[[], None]] = []
        for state in states:
            if isinstance(change, pool_changes.Taint) and change.by == "rule":
                names, undo = self._taint_by_rules(name, change, state, dice)
            else:
                names, revert = _changed(change, state, dice)
                undo = functools.partial(self._undo, state, change, revert)
                is_renewed = isinstance(change, pool_changes.Renew)
                self.publish(state, pause_s=change.pause_s, new_generation=is_renewed)
            devices += map(state.id_of, names)
            undos.append(undo)
        if getattr(change, "lasts_s", None) is None:
            undos = []
        return Made(["/".join(state.key) for state in states], devices, undos)

    def _undo(
        self,
        state: pool_states.PoolState,
        change: pool_changes.AnyPoolChange,
        revert: Callable[[], object],
    ) -> None:
        revert()
        self.publish(state, pause_s=change.pause_s)

    def _taint_by_rules(
        self,
        name: str,
        change: pool_changes.Taint,
        state: pool_states.PoolState,
        dice: random.Random,
    ) -> tuple[list[str], Callable[[], None]]:
        """Create a rule for each device, or one for the pool; return the devices."""
        chosen = _drawn(state, change.devices, dice) if change.devices else []
        driver, pool = state.key
        rules: dict[str, Object] = {f"{name}-{device}": {"device": device} for device in chosen}
        for rule, selected in (rules or {f"{name}-{pool}": {}}).items():
            selector = {"driver": driver, "pool": pool, **selected}
            self.create_rule(rule, {"deviceSelector": selector, "taint": _taint(change)})

        def undo() -> None:
            for rule in rules or [f"{name}-{pool}"]:
                self.delete_rule(rule)

        return chosen, undo

    # ------------------------------------------------------------------- writes

    def publish(
        self, state: pool_states.PoolState, *, pause_s: float, new_generation: bool = False
    ) -> None:
        """Write the slices of a pool one after another, then delete those that are left over.

        A pool of several slices, before or after, gets a new generation: until all of its slices
        are written, it is incomplete. Raises Interrupted if it has to stop, and ApiError if the API
        server refuses a slice.
        """
        wanted = state.slices()
        names = {piece["metadata"]["name"] for piece in wanted}
        old = self._published.get(state.key, state.found)
        if new_generation or len(names | old) > 1:
            state.generation += 1
            wanted = state.slices()
        for number, piece in enumerate(wanted):
            if number:
                self._pause(pause_s)
            self._until_done(self._put, apis.SLICES, piece)
        for name in sorted(old - names):
            self._until_done(self._delete, apis.SLICES, name)
        self._published[state.key] = names

    def create_rule(self, name: str, spec: Object) -> None:
        """Create a DeviceTaintRule. Raises as `publish` does."""
        rule = {
            "apiVersion": apis.TAINT_RULES.api_version,
            "kind": "DeviceTaintRule",
            "metadata": {"name": name, "labels": {naming.RUN_LABEL: self._run_id}},
            "spec": spec,
        }
        self._until_done(self._put, apis.TAINT_RULES, rule)

    def delete_rule(self, name: str) -> None:
        """Delete a DeviceTaintRule. Raises as `publish` does."""
        self._until_done(self._delete, apis.TAINT_RULES, name)

    def _put(self, resource: apis.Resource, wanted: Object) -> None:
        try:
            known = self._api.get(resource, wanted["metadata"]["name"])
        except apis.ApiError as error:
            if not error.is_not_found:
                raise
            self._api.create(resource, wanted)
            return
        self._api.update(resource, {**known, "spec": wanted["spec"]})

    def _delete(self, resource: apis.Resource, name: str) -> None:
        with apis.if_there():
            self._api.delete(resource, name)

    def _until_done(self, write: Callable[..., None], *arguments: object) -> None:
        """Repeat a write that may be repeated, until the API server has confirmed it."""
        while True:
            try:
                write(*arguments)
            except (apis.ApiError, transports.TransportError) as error:
                has_changed = isinstance(error, apis.ApiError) and (
                    error.is_conflict or error.is_already_exists
                )
                if not has_changed and not backoffs.is_transient(error):
                    raise
            else:
                return
            self._pause(RETRY_S)

    def _pause(self, seconds: float) -> None:
        if self._stopped.wait(seconds):
            raise Interrupted


def _changed(
    change: pool_changes.AnyPoolChange, state: pool_states.PoolState, dice: random.Random
) -> tuple[list[str], Callable[[], object]]:
    """Change what a driver publishes; return the names of the devices, and what reverts it."""
    how: pool_states.Edit = pool_states.left_out
    match change:
        case pool_changes.Renew():
            state.split = change.slices
            return [], lambda: None
        case pool_changes.Republish():
            state.published += 1
            return [], lambda: None
        case pool_changes.Flap():
            state.is_published = False
            return [], functools.partial(setattr, state, "is_published", True)  # noqa: FBT003
        case pool_changes.Grow():
            added = state.grow(change.devices)
            return added, lambda: state.edit(added, pool_states.left_out)
        case pool_changes.Unshare():
            how = pool_states.unshared
        case pool_changes.Taint():
            how = pool_states.tainted(_taint(change))
    chosen = _drawn(state, change.devices, dice)
    return chosen, state.edit(chosen, how)


def _drawn(state: pool_states.PoolState, count: int, dice: random.Random) -> list[str]:
    names = state.names()
    return sorted(dice.sample(names, min(count or len(names), len(names))))


def _taint(change: pool_changes.Taint) -> Object:
    return {"key": TAINT_KEY, "effect": change.effect}
