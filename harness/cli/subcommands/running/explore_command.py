"""`flake-hunt explore`: search for failing interleavings in one process."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import choosing, random_exploring
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.explore.search import search_campaign, search_progress

_PROGRESS_S = 0.2
_SCHEDULES = 2000
"""Schedules without a limit of their own. A known defect takes a twentieth of them in its world; a
time would find less on a busy machine."""
_STRATEGY, _WORLD = "pct", "two-claims-one-device"


def explore(
    scenario: Annotated[
        str | None,
        typer.Argument(
            help="Name of a small world; see `flake-hunt scenarios worlds` (default: the one that shows the --defect best, else "
            f"{_WORLD}).",
            show_default=False,
        ),
    ] = None,
    defect: choosing.Defects = None,
    remedy: choosing.Remedies = None,
    strategy: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="pct, random or exhaustive.", show_default=_STRATEGY),
    ] = None,
    schedules: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Number of schedules (default: {_SCHEDULES} without --time; --random-worlds: in each, 8).",
        ),
    ] = None,
    time_s: Annotated[
        float | None,
        typer.Option(
            "--time",
            parser=choosing.seconds,
            metavar="TIME",
            help="Time budget in seconds, or as 30m or 2h (default: no limit; --random-worlds: 60).",
        ),
    ] = None,
    seed: choosing.Seed = None,
    override: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Change a size of the world: --set claims=3 (may be repeated). With --program also "
            "functions=PATTERN, whose threads are held, depth=N and reports=FOLDER.",
        ),
    ] = None,
    random_worlds: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool,
        typer.Option(
            "--random-worlds", help="Draw worlds from the seed, and search each for a while."
        ),
    ] = False,
    program: Annotated[
        str | None,
        typer.Option(
            metavar="PROGRAM",
            help="Search the threads of this scheduler, a program in Go: a path, or "
            "'PROGRAM {kubeconfig} ...' as in --subject command.",
        ),
    ] = None,
    output: outputs.Form = "text",
) -> int:
    """Choose the interleavings of the scheduler's threads; exit code 10 at the first finding.

        flake-hunt explore --defect gather-not-atomic

        flake-hunt explore --program ./kube-scheduler

    --strategy exhaustive searches the world whole: one of all interleavings that differ only in the
    order of independent steps. That ends for the smallest worlds only; --time and --schedules limit
    it. Exit code 20 if it did not finish.

    A finding is shrunk, explained step by step, and comes with a token for `flake-hunt replay`.

    --program searches a real scheduler in Go: its threads are held at functions. A finding becomes
    a script for `flake-hunt confirm`.

    --random-worlds draws one world after the other, with remedies against the known hazards that
    it has, until the time is over. Each of them has a name, as random-1234, and can be explored by
    it.
    """
    from harness import seeds
    from harness.cli import order_exploring, random_exploring
    from harness.explore.search import random_worlds as search_random_worlds
    from harness.explore.search import search_campaign
    from harness.explore.worlds import chosen_parts

    _require_time(time_s)
    chosen_parts.of(defect or (), remedy or ())
    if program is not None:
        _require_alone(scenario, strategy, defect, remedy, schedules, what="--program")
        wanted = order_exploring.Wanted(
            program=program,
            seed=seeds.fresh() if seed is None else seed,
            time_s=order_exploring.TIME_S if time_s is None else time_s,
            settings=override or (),
        )
        with outputs.chosen(output) as out:
            return order_exploring.explore(wanted, out)
    if random_worlds:
        _require_alone(scenario, strategy, override, what="--random-worlds")
        hunt_of_worlds = search_random_worlds.RandomHunt(
            seed=seeds.fresh() if seed is None else seed,
            defects=tuple(defect or ()),
            remedies=tuple(remedy or ()),
            schedules=schedules or search_random_worlds.SCHEDULES,
            time_s=random_exploring.TIME_S if time_s is None else time_s,
        )
        with outputs.chosen(output) as out:
            return random_exploring.explore(hunt_of_worlds, out)
    strategy = strategy or _STRATEGY
    is_exhaustive = strategy == search_campaign.EXHAUSTIVE
    is_limited = is_exhaustive or schedules is not None or time_s is not None
    hunt = search_campaign.Hunt(
        scenario=scenario or _world(defect or (), is_exhaustive=is_exhaustive),
        defects=tuple(defect or ()),
        remedies=tuple(remedy or ()),
        strategy=strategy,
        seed=seeds.fresh() if seed is None else seed,
        schedules=schedules if is_limited else _SCHEDULES,
        time_s=time_s,
        sizes=tuple(_size(text) for text in override or ()),
    )
    hunt.require_possible()
    with outputs.chosen(output) as out:
        out.note(f"seed {hunt.seed}")
        if scenario is None and defect:
            out.note(_about(hunt.scenario, defect[0]))
        return _show(hunt, _watch(hunt, out), out)


def _world(defects: Sequence[str], *, is_exhaustive: bool) -> str:
    """Return the world that shows the first defect best; a whole search takes the smallest one."""
    found = None if is_exhaustive or not defects else _best(defects[0])
    return found or _WORLD


def _best(defect: str) -> str | None:
    """Return the world in which a defect was found most surely; None if there is none."""
    from harness.run.defects import track_record

    measured = track_record.recorded().detections.get(defect, [])
    found = track_record.best([item for item in measured if item.kind == track_record.WORLD])
    return found.place if found else None


def _about(world: str, defect: str) -> str:
    best = _best(defect)
    if best is None:
        return f"world {world}: none is known to show {defect}; try --random-worlds, or a run"
    return f"world {world}" + f", while {best} shows {defect} best" * (world != best)


def _require_alone(*others: object, what: str) -> None:
    """Reject the choice of a world, or of how to search it, beside what has none."""
    from harness import errors

    if any(other is not None and other != [] for other in others):
        raise errors.UsageError(
            f"expected {what} without a world, and without options about one or how to search it: "
            "leave them out"
        )


def _require_time(seconds: float | None) -> None:
    from harness import errors

    if seconds is not None and seconds <= 0:
        raise errors.UsageError(f"expected --time of more than 0 seconds, got {seconds:g}")


def _size(text: str) -> tuple[str, int]:
    from harness import errors

    key, _, value = text.partition("=")
    if not (value.isascii() and value.isdecimal()):
        raise errors.UsageError(f"expected --set name=number, as in --set claims=3, got {text!r}")
    return key, int(value)


def _watch(hunt: "search_campaign.Hunt", out: outputs.Output) -> "search_progress.SearchProgress":
    """Explore with a progress line; on Ctrl-C print the progress."""
    from harness.cli.terminal import displaying
    from harness.explore.search import search_campaign, search_progress

    progress, meter, shown = search_progress.SearchProgress(), random_exploring.Meter(), 0.0
    try:
        with displaying.status("exploring", out) as status:
            for progress in search_campaign.explore(hunt):
                now = time.monotonic()
                if now - shown >= _PROGRESS_S:
                    shown = now
                    status(meter.line(progress, now))
    except KeyboardInterrupt:
        print(
            f"interrupted after {random_exploring.what(progress)}; nothing found so far", flush=True
        )
        raise
    return progress


def _show(
    hunt: "search_campaign.Hunt", progress: "search_progress.SearchProgress", out: outputs.Output
) -> int:
    from harness.checks import verdicts
    from harness.cli.terminal import displaying
    from harness.explore.search import search_campaign, shrink_world

    if not progress.findings:
        is_unknown = hunt.strategy == search_campaign.EXHAUSTIVE and not progress.is_complete
        code = verdicts.Verdict.UNKNOWN.exit_code if is_unknown else 0
        if out.is_json:
            out.document(_document(hunt, progress, code=code))
        else:
            print(
                f"nothing found: {random_exploring.what(progress)}{random_exploring.covered(hunt, progress)}"
            )
        return code
    finding, decisions = progress.findings[0]
    if not out.is_json:
        print(f"found after {random_exploring.what(progress)}: {finding}", flush=True)
    with displaying.status("shrinking", out):
        token = shrink_world.smallest(hunt.token(decisions))
    if not out.is_json:
        return random_exploring.tell(token)
    code = verdicts.Verdict.INVALID.exit_code
    out.document(_document(hunt, progress, code=code) | random_exploring.reproduced(token))
    return code


def _document(
    hunt: "search_campaign.Hunt", progress: "search_progress.SearchProgress", *, code: int
) -> dict[str, object]:
    return {
        "schema": 1,
        "seed": hunt.seed,
        "scenario": hunt.scenario,
        "defects": hunt.defects,
        "remedies": hunt.remedies,
        "strategy": hunt.strategy,
        "schedules": progress.schedules,
        "distinct": progress.distinct_count,
        "given_up": progress.given_up,
        "is_complete": progress.is_complete,
        "schedules_left": progress.schedules_left,
        "exit_code": code,
        "finding": None,
        "token": None,
        "story": [],
    }
