"""`flake-hunt explore|replay`: search for failing interleavings in one process; repeat one."""

import pathlib
from collections.abc import Sequence

from harness import errors, seeds
from harness.cli import choosing, options, searching
from harness.cli.terminal import outputs

_SCHEDULES = 2000
"""Schedules without a limit of their own. A known defect takes a twentieth of them in its world; a
time would find less on a busy machine."""
_RANDOM_S = 60.0
"""Default time of --random-worlds, in seconds."""
_STRATEGY, _WORLD = "pct", "two-claims-one-device"


def explore(
    scenario: str | None = options.argument(
        "Name of a small world; see `flake-hunt scenarios worlds` (default: the one that shows the --defect best, else "
        f"{_WORLD}).",
        show_default=False,
        default=None,
    ),
    defect: list[str] | None = choosing.DEFECTS,
    remedy: list[str] | None = choosing.REMEDIES,
    strategy: str | None = options.of(
        "pct, random or exhaustive.", metavar="NAME", show_default=_STRATEGY
    ),
    schedules: int | None = options.of(
        f"Number of schedules (default: {_SCHEDULES} without --time; --random-worlds: in each, 8).",
        min=1,
    ),
    time_s: float | None = options.of(
        "Time budget in seconds, or as 30m or 2h (default: no limit; --random-worlds: 60).",
        "--time",
        parser=choosing.seconds,
        metavar="TIME",
    ),
    seed: int | None = choosing.SEED,
    override: list[str] | None = options.of(
        "Change a size of the world: --set claims=3 (may be repeated). With --program also "
        "functions=PATTERN, whose threads are held, depth=N and reports=FOLDER.",
        "--set",
        metavar="NAME=VALUE",
    ),
    random_worlds: bool = options.flag(
        "Draw worlds from the seed, and search each for a while.", "--random-worlds"
    ),
    program: str | None = options.of(
        "Search the threads of this scheduler, a program in Go: a path, or "
        "'PROGRAM {kubeconfig} ...' as in --subject command.",
        metavar="PROGRAM",
    ),
    output: outputs.Form = outputs.FORM,
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
    from harness.cli import order_exploring
    from harness.explore.search import search_campaign
    from harness.explore.worlds import chosen_parts

    if time_s is not None and time_s <= 0:
        raise errors.UsageError(f"expected --time of more than 0 seconds, got {time_s:g}")
    chosen_parts.of(defect or (), remedy or ())
    first_seed = seeds.fresh() if seed is None else seed
    defects, remedies = tuple(defect or ()), tuple(remedy or ())
    if program is not None:
        _require_alone(scenario, strategy, defect, remedy, schedules, what="--program")
        with outputs.chosen(output) as out:
            return order_exploring.explore(
                program,
                seed=first_seed,
                time_s=order_exploring.TIME_S if time_s is None else time_s,
                settings=override or (),
                out=out,
            )
    if random_worlds:
        _require_alone(scenario, strategy, override, what="--random-worlds")
        random_hunt = search_campaign.RandomHunt(
            seed=first_seed,
            schedules=schedules or search_campaign.SCHEDULES,
            time_s=_RANDOM_S if time_s is None else time_s,
            defects=defects,
            remedies=remedies,
        )
        random_hunt.require_possible()
        with outputs.chosen(output) as out:
            out.note(f"seed {first_seed}")
            return searching.search_random_worlds(random_hunt, out)
    is_exhaustive = strategy == search_campaign.EXHAUSTIVE
    is_limited = is_exhaustive or schedules is not None or time_s is not None
    hunt = search_campaign.Hunt(
        scenario=scenario or _world(defect or (), is_exhaustive=is_exhaustive),
        strategy=strategy or _STRATEGY,
        seed=first_seed,
        schedules=schedules if is_limited else _SCHEDULES,
        time_s=time_s,
        sizes=tuple(_size(text) for text in override or ()),
        defects=defects,
        remedies=remedies,
    )
    hunt.require_possible()
    with outputs.chosen(output) as out:
        out.note(f"seed {first_seed}")
        if scenario is None and defect:
            out.note(_about(hunt.scenario, defect[0]))
        return searching.search(hunt, out)


def _world(defects: Sequence[str], *, is_exhaustive: bool) -> str:
    """Return the world that shows the first defect best; a whole search takes the smallest one."""
    found = None if is_exhaustive or not defects else _best(defects[0])
    return found or _WORLD


def _best(defect: str) -> str | None:
    from harness.run.defects import defect_records

    measured = defect_records.recorded().detections.get(defect, [])
    found = defect_records.best([item for item in measured if item.kind == defect_records.WORLD])
    return found.place if found else None


def _about(world: str, defect: str) -> str:
    best = _best(defect)
    if best is None:
        return f"world {world}: none is known to show {defect}; try --random-worlds, or a run"
    return f"world {world}" + f", while {best} shows {defect} best" * (world != best)


def _require_alone(*others: object, what: str) -> None:
    if any(other is not None and other != [] for other in others):
        raise errors.UsageError(
            f"expected {what} without a world, and without options about one or how to search it: "
            "leave them out"
        )


def _size(text: str) -> tuple[str, int]:
    key, _, value = text.partition("=")
    if not (value.isascii() and value.isdecimal()):
        raise errors.UsageError(f"expected --set name=number, as in --set claims=3, got {text!r}")
    return key, int(value)


def replay(
    token: str = options.argument("Token that `flake-hunt explore` printed."),
    pytest_file: pathlib.Path | None = options.of(
        "Write a pytest file that reproduces the run.", "--pytest"
    ),
    save: pathlib.Path | None = options.of(
        "Write a run directory, judged and reported like any run."
    ),
) -> int:
    """Repeat an explored run exactly, from its token; exit code 10 if its finding occurs again.

    `replay` repeats a token of `explore`, `confirm` plays the script of a known finding on a real
    program, and `reproduce` makes a run of yours small.
    """
    from harness.checks import judging
    from harness.cli.terminal import displaying
    from harness.explore import output
    from harness.explore.search import search_campaign, tokens
    from harness.report import publishing

    parsed = tokens.parse(token)
    code = searching.tell(parsed, pytest_file)
    if save is not None:
        run = search_campaign.replay(parsed, record=True)
        directory = output.save(save, parsed, run)
        examination = judging.examine(directory)
        publishing.publish(examination)
        displaying.show(examination.judgement, directory)
    return code
