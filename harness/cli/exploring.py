"""`flake-hunt explore`: chosen interleavings in one process."""

import collections
import time
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import choosing

if TYPE_CHECKING:
    from harness.explore import hunting

_PROGRESS_S = 0.2
_WINDOW_S = 60.0
_TIME_S = 10.0
_SATURATED = 0.02
"""Fewer of the newest runs than this share are new: more of the same strategy will hardly show anything."""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Hunting")(explore)


def explore(
    scenario: Annotated[
        str, typer.Argument(help="A small world; see --list.")
    ] = "two-claims-one-device",
    defect: choosing.Defects = None,
    strategy: Annotated[str, typer.Option(help="pct, random or exhaustive.")] = "pct",
    schedules: Annotated[int | None, typer.Option(min=1, help="So many runs.")] = None,
    time_s: Annotated[
        float | None,
        typer.Option(
            "--time", help="So many seconds (default: 10; exhaustive: until all are made)."
        ),
    ] = None,
    preemptions: Annotated[
        int,
        typer.Option(min=0, help="exhaustive: all interleavings with at most so many preemptions."),
    ] = 2,
    jobs: Annotated[int, typer.Option(min=1, help="Processes (random and pct).")] = 1,
    seed: choosing.Seed = None,
    override: Annotated[
        list[str] | None,
        typer.Option("--set", help="Another size of the world: --set claims=3 (may be repeated)."),
    ] = None,
    list_scenarios: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool, typer.Option("--list", help="Show the scenarios.")
    ] = False,
) -> int:
    """Choose interleavings of the scheduler's threads instead of waiting for them; exit code 10 with the first finding.

    20 when an exhaustive search was not finished.

    A finding is made as small as possible, told step by step, and comes with a token for `flake-hunt replay`.
    """
    from harness import seeds
    from harness.explore import hunting
    from harness.subject import defects as known_defects

    if list_scenarios:
        return _list()
    known_defects.parts(defect or ())
    is_exhaustive = strategy == hunting.EXHAUSTIVE
    hunt = hunting.Hunt(
        scenario=scenario,
        defects=tuple(defect or ()),
        strategy=strategy,
        seed=seeds.fresh() if seed is None else seed,
        schedules=schedules,
        time_s=_TIME_S if schedules is None and time_s is None and not is_exhaustive else time_s,
        jobs=jobs,
        preemptions_max=preemptions,
        sizes=tuple(_size(text) for text in override or ()),
    )
    hunt.require_possible()
    print(f"seed {hunt.seed}", flush=True)
    return _show(hunt, _watch(hunt))


def _list() -> int:
    from harness.explore import specs

    for name, spec in specs.SPECS.items():
        note = " (the correct subject is known not to be up to it)" * spec.is_known_to_fail
        print(f"{name:<28}{spec.title}{note}")
    return 0


def _size(text: str) -> tuple[str, int]:
    from harness import errors

    key, _, value = text.partition("=")
    if not value.isdecimal():
        raise errors.UsageError(f"expected --set name=number, as in --set claims=3, got {text!r}")
    return key, int(value)


def _watch(hunt: "hunting.Hunt") -> "hunting.Progress":
    """Explore with a progress line; Ctrl-C says how far it came."""
    from harness.cli import displaying
    from harness.explore import hunting

    progress, meter, shown = hunting.Progress(), _Meter(), 0.0
    try:
        with displaying.console(stderr=True).status("exploring") as status:
            for progress in hunting.explore(hunt):
                now = time.monotonic()
                if now - shown >= _PROGRESS_S:
                    shown = now
                    status.update(meter.line(progress, now))
    except KeyboardInterrupt:
        print(f"interrupted after {_what(progress)}; nothing found so far", flush=True)
        raise
    return progress


class _Meter:
    """Turns progress into a line, with rates over the last minute."""

    def __init__(self) -> None:
        self._seen: collections.deque[tuple[float, int, int]] = collections.deque(
            [(time.monotonic(), 0, 0)]
        )

    def line(self, progress: "hunting.Progress", now: float) -> str:
        """Schedules, distinct interleavings, findings, and how fast new ones still come."""
        runs, distinct = progress.schedules, len(progress.distinct)
        self._seen.append((now, runs, distinct))
        while now - self._seen[0][0] > _WINDOW_S:
            self._seen.popleft()
        then, runs_then, distinct_then = self._seen[0]
        seconds = max(now - then, 1e-9)
        new = distinct - distinct_then
        saturated = ", saturated" * (new < _SATURATED * (runs - runs_then))
        return (
            f"{runs} schedules, {distinct} distinct, {progress.finding_count} findings, "
            f"{(runs - runs_then) / seconds:.0f} a second, {60 * new / seconds:.0f} new a minute{saturated}"
        )


def _what(progress: "hunting.Progress") -> str:
    given_up = f", {progress.given_up} of them given up where another was before"
    return (
        f"{progress.schedules} schedules{given_up * bool(progress.given_up)}, "
        f"{len(progress.distinct)} distinct interleavings"
    )


def _show(hunt: "hunting.Hunt", progress: "hunting.Progress") -> int:
    from harness.checks import verdicts
    from harness.cli import displaying, replaying
    from harness.explore import hunting, reducing

    if not progress.findings:
        print(f"nothing found: {_what(progress)}{_covered(hunt, progress)}")
        is_unknown = hunt.strategy == hunting.EXHAUSTIVE and not progress.is_complete
        return verdicts.Verdict.UNKNOWN.exit_code if is_unknown else 0
    finding, decisions = progress.findings[0]
    print(f"found after {_what(progress)}: {finding}", flush=True)
    with displaying.console(stderr=True).status("making it smaller"):
        token = reducing.smallest(hunt.token(decisions))
    return replaying.tell(token)


def _covered(hunt: "hunting.Hunt", progress: "hunting.Progress") -> str:
    from harness.explore import hunting

    if hunt.strategy != hunting.EXHAUSTIVE:
        return ""
    if progress.is_complete:
        return f"; these are all with at most {hunt.preemptions_max} preemptions"
    return (
        f"; NOT all with at most {hunt.preemptions_max} preemptions: "
        "give it more time, allow fewer (--preemptions), or make the world smaller (--set)"
    )
