"""Makes each kind of change, and undoes it."""

import dataclasses
import random
from collections.abc import Callable, Sequence

from harness.cluster.pool_changes import pool_publishers, pool_states
from harness.model.objects import Object
from harness.scenario import pool_changes

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


class PoolChanging:
    """Makes changes, one at a time."""

    def __init__(self, publisher: pool_publishers.PoolPublisher) -> None:
        self._publisher = publisher

    def make(
        self,
        name: str,
        change: pool_changes.AnyPoolChange,
        states: Sequence[pool_states.PoolState],
        dice: random.Random,
    ) -> Made:
        """Make a change to pools; `name` distinguishes it from all others of the run.

        Raises as `PoolPublisher.publish` does.
        """
        parts = [self._one(name, change, state, dice) for state in states]
        undos = [undo for _, undo in parts if undo is not None]
        return Made(
            pools=["/".join(state.key) for state in states],
            devices=[device for devices, _ in parts for device in devices],
            undo=(lambda: _call_all(undos)) if undos else None,
        )

    def _one(
        self,
        name: str,
        change: pool_changes.AnyPoolChange,
        state: pool_states.PoolState,
        dice: random.Random,
    ) -> tuple[list[str], Callable[[], None] | None]:
        """Change one pool; return the ids of the devices, and what undoes it."""
        match change:
            case pool_changes.Taint(by="rule"):
                return self._taint_by_rules(name, change, state, dice)
            case pool_changes.Grow() | pool_changes.Shrink() | pool_changes.Taint():
                return self._change_devices(change, state, dice)
            case pool_changes.Renew():
                state.split = change.slices
                self._publisher.publish(state, pause_s=change.pause_s, new_generation=True)
                return [], None
            case pool_changes.Republish():
                state.published += 1
                self._publisher.publish(state, pause_s=change.pause_s)
                return [], None
            case pool_changes.Flap():
                self._set_published(change, state, is_published=False)
                return [], lambda: self._set_published(change, state, is_published=True)

    def _change_devices(
        self,
        change: pool_changes.Grow | pool_changes.Shrink | pool_changes.Taint,
        state: pool_states.PoolState,
        dice: random.Random,
    ) -> tuple[list[str], Callable[[], None] | None]:
        names, revert = _changed(change, state, dice)
        self._publisher.publish(state, pause_s=change.pause_s)

        def undo() -> None:
            revert()
            self._publisher.publish(state, pause_s=change.pause_s)

        ids = [state.id_of(item) for item in names]
        return ids, undo if change.lasts_s is not None else None

    def _taint_by_rules(
        self,
        name: str,
        change: pool_changes.Taint,
        state: pool_states.PoolState,
        dice: random.Random,
    ) -> tuple[list[str], Callable[[], None] | None]:
        chosen = _drawn(state, change.devices, dice) if change.devices else []
        rules = _selectors(name, state.key, chosen)
        for rule, selector in rules.items():
            spec = {"deviceSelector": selector, "taint": _taint(change)}
            self._publisher.create_rule(rule, spec)

        def undo() -> None:
            for rule in rules:
                self._publisher.delete_rule(rule)

        ids = [state.id_of(item) for item in chosen]
        return ids, undo if change.lasts_s is not None else None

    def _set_published(
        self, change: pool_changes.Flap, state: pool_states.PoolState, *, is_published: bool
    ) -> None:
        state.is_published = is_published
        self._publisher.publish(state, pause_s=change.pause_s)


def _changed(
    change: pool_changes.Grow | pool_changes.Shrink | pool_changes.Taint,
    state: pool_states.PoolState,
    dice: random.Random,
) -> tuple[list[str], Callable[[], None]]:
    """Change the devices of a pool; return their names, and what reverts the change."""
    if isinstance(change, pool_changes.Grow):
        added = state.grow(change.devices)
        return added, lambda: state.leave_out(added)
    chosen = _drawn(state, change.devices, dice)
    if isinstance(change, pool_changes.Shrink):
        state.leave_out(chosen)
        return chosen, lambda: state.take_in(chosen)
    taint = _taint(change)
    state.taint(chosen, taint)
    return chosen, lambda: state.untaint(chosen, taint)


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


def _call_all(actions: Sequence[Callable[[], None]]) -> None:
    for action in actions:
        action()
