"""One run of a world under a strategy, and its result."""

import dataclasses
from collections.abc import Iterable, Sequence

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.explore.runtime import choices, observing, scheduler, tasks
from harness.explore.worlds import world, world_specs
from harness.subject.defects import panics


@dataclasses.dataclass(frozen=True, slots=True)
class RunStep:
    """A step of a run, for its story."""

    task: str
    name: str
    fields: dict[str, object]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ExploredRun:
    """The result of a run."""

    finding: str | None
    """Description of the violation, deadlock, livelock or crash; None if there was none."""
    decisions: list[int]
    state: int
    """A hash of what happened.

    Runs that differ only in the order of independent steps have the same state.
    """
    was_given_up: bool
    """True if the strategy abandoned the run."""
    steps: list[RunStep]
    """The steps of the run; empty unless recorded."""
    names: dict[str, str]
    """Maps the uids in `steps` to names."""
    commits: list[tuple[int, watch_cache.Commit]]
    """Every commit with the number of steps before it; empty unless recorded."""


def explore_once(
    spec: world_specs.WorldSpec,
    strategy: choices.Strategy,
    *,
    defects: Sequence[str] = (),
    remedies: Sequence[str] = (),
    record: bool = False,
    observer: observing.Observer | None = None,
) -> ExploredRun:
    """Create a world and run it under the strategy to its end or the first finding.

    `observer` receives what every turn uses; None: there is none.
    """
    steps: list[RunStep] = []
    commits: list[tuple[int, watch_cache.Commit]] = []

    def on_step(task: str, name: str, fields: concurrency.StepFields) -> None:
        steps.append(RunStep(task, name, dict(fields)))

    runtime = scheduler.ControlledRuntime(
        strategy,
        choices_max=spec.choices_max,
        private_locks=spec.private_locks,
        record=on_step if record else None,
        observer=observer,
    )
    finding: str | None = None
    was_given_up, names = False, {}
    with concurrency.install(runtime):
        made = spec.make(spec, runtime, defects=defects, remedies=remedies)
        try:
            if record:
                made.listen(lambda commit: commits.append((len(steps), commit)))
            made.start()
            steps.clear()
            commits[:] = [(0, commit) for _, commit in commits]
            finding = _run(made, runtime)
            names = {**_names(commits), **made.names()} if record else {}
        except choices.GivenUp:
            was_given_up = True
        finally:
            state = runtime.state()
            runtime.kill_all()
    return ExploredRun(
        finding=finding,
        decisions=runtime.decisions,
        state=state,
        was_given_up=was_given_up,
        steps=steps,
        names=names,
        commits=commits,
    )


def _names(commits: Iterable[tuple[int, watch_cache.Commit]]) -> dict[str, str]:
    """Return the name of every claim and pod that was ever there, by uid."""
    named = (resources.CLAIMS, resources.PODS)
    stored = [commit.object for _, commit in commits if commit.resource in named]
    return {item.uid: item.name for item in stored}


def _run(made: world.World, runtime: scheduler.ControlledRuntime) -> str | None:
    made.begin()
    try:
        waiting = runtime.run(explore=True)
        while made.finding is None and made.go_on():
            waiting = runtime.run(explore=True)
    except choices.TooLong as error:
        return f"livelock, or too large a world: {error}"
    except panics.Panic as error:
        return f"crash: {error}"
    return made.finding or _deadlock(waiting) or made.unfinished()


def _deadlock(waiting: Sequence[tasks.Task]) -> str | None:
    """Describe tasks that wait forever for a lock or a baton.

    Tasks may wait forever for work only.
    """
    stuck = [
        f"{task.name} waits for {task.waits_for}"
        for task in waiting
        if task.waits_for.startswith(("lock ", "baton "))
    ]
    return f"deadlock: {'; '.join(stuck)}" if stuck else None
