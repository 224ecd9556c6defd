"""One run of a world under a strategy, and what it came to."""

import dataclasses
from collections.abc import Sequence

from harness import concurrency
from harness.apiserver.storage import watch_cache
from harness.explore.runtime import choices, scheduler, tasks
from harness.explore.worlds import small_world, world_specs


@dataclasses.dataclass(frozen=True, slots=True)
class StoryStep:
    """A step of a run, for its story."""

    task: str
    name: str
    fields: dict[str, object]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ExploredRun:
    """What a run came to."""

    finding: str | None
    """The violation, deadlock or livelock in words; None when all was well."""
    decisions: list[int]
    options: list[int]
    """Of each decision."""
    free: list[int]
    """So many of the options cost no preemption."""
    state: int
    """A hash of what happened, the same for runs that differ only in the order of what does not concern each other."""
    was_given_up: bool
    """Whether the strategy had enough before the end."""
    moments: list[StoryStep]
    """Empty unless asked for."""
    names: dict[str, str]
    """uid -> name, for the moments."""
    commits: list[tuple[int, watch_cache.Commit]]
    """Every commit with the number of moments before it; empty unless asked for."""


def explore_once(
    spec: world_specs.Spec,
    strategy: choices.Strategy,
    *,
    defects: Sequence[str] = (),
    record: bool = False,
) -> ExploredRun:
    """Make a world and run it under the strategy to its end, or to the first finding."""
    moments: list[StoryStep] = []
    commits: list[tuple[int, watch_cache.Commit]] = []

    def on_step(task: str, name: str, fields: concurrency.StepFields) -> None:
        moments.append(StoryStep(task, name, dict(fields)))

    runtime = scheduler.ControlledRuntime(
        strategy, private_locks=spec.private_locks, record=on_step if record else None
    )
    finding: str | None = None
    was_given_up, names = False, {}
    with concurrency.install(runtime):
        world = small_world.SmallWorld(spec, runtime, chosen_defects=defects)
        try:
            if record:
                world.listen(lambda commit: commits.append((len(moments), commit)))
            world.start()
            moments.clear()
            commits[:] = [(0, commit) for _, commit in commits]
            finding = _run(world, runtime)
            names = world.names() if record else {}
        except choices.Enough:
            was_given_up = True
        finally:
            state = runtime.state()
            runtime.kill_all()
    return ExploredRun(
        finding=finding,
        decisions=runtime.tape.decisions,
        options=runtime.tape.options,
        free=runtime.tape.free,
        state=state,
        was_given_up=was_given_up,
        moments=moments,
        names=names,
        commits=commits,
    )


def _run(world: small_world.SmallWorld, runtime: scheduler.ControlledRuntime) -> str | None:
    world.begin()
    try:
        waiting = runtime.run(explore=True)
        if world.oracle.finding is None and world.go_on():
            waiting = runtime.run(explore=True)
    except choices.TooLong as error:
        return f"livelock, or too large: {error}"
    return world.oracle.finding or _deadlock(waiting) or world.unfinished()


def _deadlock(waiting: Sequence[tasks.Task]) -> str | None:
    """Tasks may wait for work for good, but not for a lock, nor for the end of an emitter."""
    stuck = [
        f"{task.name} waits for {task.waits_for}"
        for task in waiting
        if task.waits_for.startswith("lock ") or task.waits_for == "condition assume-cache"
    ]
    return f"deadlock: {'; '.join(stuck)}" if stuck else None
