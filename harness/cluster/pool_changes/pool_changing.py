"""Makes each kind of change and undoes it; repeats writes until the API server has them."""

import dataclasses
import functools
import random
from collections.abc import Callable, Sequence, Set
from typing import Any, TypeAlias

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
    undo: Callable[[], None] | None
    """None: it stays."""


DevicesChange: TypeAlias = (
    pool_changes.Grow | pool_changes.Shrink | pool_changes.Unshare | pool_changes.Taint
)
"""A change of some devices of a pool."""


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
        parts = [self._one(name, change, state, dice) for state in states]

        def undo() -> None:
            for _, undo_one in parts:
                undo_one()

        return Made(
            pools=["/".join(state.key) for state in states],
            devices=[device for devices, _ in parts for device in devices],
            undo=None if getattr(change, "lasts_s", None) is None else undo,
        )

    def _one(
        self,
        name: str,
        change: pool_changes.AnyPoolChange,
        state: pool_states.PoolState,
        dice: random.Random,
    ) -> tuple[list[str], Callable[[], None]]:
        """Change one pool; return the ids of the devices, and what undoes it."""
        names: list[str] = []
        revert: Callable[[], object] = lambda: None  # noqa: E731
        match change:
            case pool_changes.Taint(by="rule"):
                return self._taint_by_rules(name, change, state, dice)
            case pool_changes.Renew():
                state.split = change.slices
            case pool_changes.Republish():
                state.published += 1
            case pool_changes.Flap():
                state.is_published = False
                revert = functools.partial(setattr, state, "is_published", True)  # noqa: FBT003
            case _:
                names, revert = _changed(change, state, dice)
        is_renewed = isinstance(change, pool_changes.Renew)
        self.publish(state, pause_s=change.pause_s, new_generation=is_renewed)

        def undo() -> None:
            revert()
            self.publish(state, pause_s=change.pause_s)

        return [state.id_of(item) for item in names], undo

    def _taint_by_rules(
        self,
        name: str,
        change: pool_changes.Taint,
        state: pool_states.PoolState,
        dice: random.Random,
    ) -> tuple[list[str], Callable[[], None]]:
        chosen = _drawn(state, change.devices, dice) if change.devices else []
        rules = _selectors(name, state.key, chosen)
        for rule, selector in rules.items():
            self.create_rule(rule, {"deviceSelector": selector, "taint": _taint(change)})

        def undo() -> None:
            for rule in rules:
                self.delete_rule(rule)

        return [state.id_of(item) for item in chosen], undo

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
            self._until_done(lambda piece=piece: self._put(apis.SLICES, piece))  # type: ignore[misc]
        for name in sorted(old - names):
            self._until_done(lambda name=name: self._delete(apis.SLICES, name))  # type: ignore[misc]
        self._published[state.key] = names

    def create_rule(self, name: str, spec: Object) -> None:
        """Create a DeviceTaintRule. Raises as `publish` does."""
        rule = {
            "apiVersion": apis.TAINT_RULES.api_version,
            "kind": "DeviceTaintRule",
            "metadata": {"name": name, "labels": {naming.RUN_LABEL: self._run_id}},
            "spec": spec,
        }
        self._until_done(lambda: self._put(apis.TAINT_RULES, rule))

    def delete_rule(self, name: str) -> None:
        """Delete a DeviceTaintRule. Raises as `publish` does."""
        self._until_done(lambda: self._delete(apis.TAINT_RULES, name))

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

    def _until_done(self, write: Callable[[], Any]) -> None:
        """Repeat a write that may be repeated, until the API server has confirmed it."""
        while True:
            try:
                write()
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
    change: DevicesChange, state: pool_states.PoolState, dice: random.Random
) -> tuple[list[str], Callable[[], object]]:
    """Change the devices of a pool; return their names, and what reverts the change."""
    if isinstance(change, pool_changes.Grow):
        added = state.grow(change.devices)
        return added, lambda: state.edit(added, pool_states.left_out)
    chosen = _drawn(state, change.devices, dice)
    how: pool_states.Edit = pool_states.left_out
    if isinstance(change, pool_changes.Unshare):
        how = pool_states.unshared
    elif isinstance(change, pool_changes.Taint):
        how = pool_states.tainted(_taint(change))
    return chosen, state.edit(chosen, how)


def _drawn(state: pool_states.PoolState, count: int, dice: random.Random) -> list[str]:
    names = state.names()
    return sorted(dice.sample(names, min(count or len(names), len(names))))


def _selectors(name: str, key: pool_states.PoolKey, chosen: Sequence[str]) -> dict[str, Object]:
    """Return the selectors by the name of the rule: of devices, or of the pool without any."""
    pool = {"driver": key[0], "pool": key[1]}
    if not chosen:
        return {f"{name}-{key[1]}": pool}
    return {f"{name}-{device}": {**pool, "device": device} for device in chosen}


def _taint(change: pool_changes.Taint) -> Object:
    return {"key": TAINT_KEY, "effect": change.effect}
