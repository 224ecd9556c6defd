"""Check declared uses: two neighbouring turns of a run that are independent are swapped. The same
must happen, and the world must end the same, apart from numbers of versions.
"""

import collections
import dataclasses
import random
import re
from collections.abc import Sequence
from typing import Any

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.explore.runtime import choices, scheduler, tasks
from harness.explore.search.whole import depth_first, turns
from harness.explore.worlds import world_catalogue

_VERSION = re.compile(r"(resource)?[vV]ersion\W+\d+")


@dataclasses.dataclass(frozen=True)
class Run:
    turns: list[turns.Turn]
    options: list[list[tuple[int, bool]]]
    """The turns that could have been taken at the place of each one."""
    steps: dict[str, list[str]]
    """The named steps of each task."""
    end: list[str]


class Keyed(depth_first.Covering):
    """Takes the turns of a sequence, then random ones."""

    def __init__(self, keys: Sequence[turns.Key], stream: random.Random) -> None:
        super().__init__([])
        self._keys, self._stream = list(keys), stream
        self.options: list[list[tuple[int, bool]]] = []
        self._chosen: turns.Key | None = None

    def choose(self, choice: choices.Choice) -> int:
        if not choice.tasks:
            return 0
        options = depth_first.possible(choice.tasks, choice.timers)
        place = len(self.turns)
        if place < len(self._keys):
            key = self._keys[place]
            if key not in options:  # possible for a turn that only finds that it has to wait
                return _of_waiting(choice, key, place)
        else:
            likely = [key for key in options if not key[1] or self._stream.random() < 0.05]
            last = self.turns[-1].key if self.turns else None
            stays = last in likely and self._stream.random() < 0.6
            key = last if stays and last else self._stream.choice(likely or [*options])
        return options[key]

    def turn(self, options: Sequence[tasks.Task], timers: int, chosen: int) -> bool:
        task = options[chosen]
        key = (task.number, chosen >= len(options) - timers)
        self.options.append([*depth_first.possible(options, timers)])
        self.turns.append(self._begun(task, key))
        return True


def _of_waiting(choice: choices.Choice, key: turns.Key, place: int) -> int:
    ready = [task.number for task in choice.tasks[: choice.options - choice.timers]]
    assert not key[1], f"turn {place}: {key} is not possible"
    assert key[0] in ready, f"turn {place}: {key} is not possible"
    return ready.index(key[0])


def made(
    world_name: str,
    keys: Sequence[turns.Key],
    stream: random.Random,
    *,
    sizes: dict[str, int],
    defects: Sequence[str],
) -> Run:
    spec = world_catalogue.sized(world_name, sizes)
    driver, steps = Keyed(keys, stream), collections.defaultdict(list)

    def record(task: str, step: str, fields: concurrency.StepFields) -> None:
        told = {name: value for name, value in fields.items() if not name.endswith("version")}
        steps[task].append(_VERSION.sub("version", f"{step} {told}"))

    runtime = scheduler.ControlledRuntime(
        driver, private_locks=spec.private_locks, record=record, observer=driver
    )
    with concurrency.install(runtime):
        world: Any = spec.make(spec, runtime, defects=defects, remedies=())
        try:
            world.start()
            world.begin()
            runtime.run(explore=True)
            while world.finding is None and world.go_on():
                runtime.run(explore=True)
            end = [str(world.finding), str(world.unfinished())]
            for resource in (resources.CLAIMS, resources.PODS):
                end += [_VERSION.sub("version", str(it)) for it in world.documents(resource)]
        finally:
            runtime.kill_all()
    return Run(driver.turns, driver.options, dict(steps), end)


def compare(
    world_name: str,
    *,
    runs: int,
    seed: int,
    swaps: int = 12,
    sizes: dict[str, int] | None = None,
    defects: Sequence[str] = (),
) -> int:
    """Swap neighbours in random runs; return how many pairs were swapped.

    Raises AssertionError if something else happens then.
    """
    stream, count = random.Random(seed), 0
    for _ in range(runs):
        one = made(world_name, [], stream, sizes=sizes or {}, defects=defects)
        if one.end[0] != str(None):
            continue  # it ended at a finding, before what other tasks had begun
        places = [place for place in range(len(one.turns) - 1) if _can_swap(one, place)]
        for place in stream.sample(places, min(swaps, len(places))):
            keys = [turn.key for turn in one.turns]
            keys[place : place + 2] = reversed(keys[place : place + 2])
            other = made(world_name, keys, stream, sizes=sizes or {}, defects=defects)
            _require_alike(one, other, place)
            count += 1
    return count


def _can_swap(run: Run, place: int) -> bool:
    first, second = run.turns[place : place + 2]
    return (
        first.key[0] != second.key[0]
        and second.key in run.options[place]
        and turns.are_independent(first.uses, second.uses)
    )


def _require_alike(one: Run, other: Run, place: int) -> None:
    uses = [turn.uses for turn in other.turns]
    uses[place : place + 2] = reversed(uses[place : place + 2])
    what = f"turns {place} and {place + 1}, {[turn.key for turn in one.turns[: place + 2]]}"
    assert [turn.uses for turn in one.turns] == uses, f"other uses after a swap of {what}"
    assert one.steps == other.steps, f"other steps after a swap of {what}"
    assert one.end == other.end, f"another end after a swap of {what}"
