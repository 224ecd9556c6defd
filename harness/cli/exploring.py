"""`flake-hunt explore` and `flake-hunt replay`: chosen interleavings in one process."""

import pathlib
import time
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harness.explore import causality, exploring, hunting, tokens

_PANEL = "Hunting"
_PROGRESS_S = 0.2


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (explore, replay):
        app.command(rich_help_panel=_PANEL)(command)


def explore(
    scenario: Annotated[
        str, typer.Argument(help="A small world; see --list.")
    ] = "two-claims-one-device",
    defect: Annotated[
        list[str] | None,
        typer.Option("--defect", help="Switch a known defect on (may be repeated)."),
    ] = None,
    strategy: Annotated[str, typer.Option(help="pct, random or exhaustive.")] = "pct",
    schedules: Annotated[int | None, typer.Option(min=1, help="So many runs.")] = None,
    time_s: Annotated[
        float | None,
        typer.Option("--time", help="So many seconds (default: 10, without --schedules)."),
    ] = None,
    deviations: Annotated[
        int,
        typer.Option(
            min=0,
            help="exhaustive: all runs that deviate at most so often from the undisturbed one.",
        ),
    ] = 2,
    jobs: Annotated[int, typer.Option(min=1, help="Processes (random and pct).")] = 1,
    seed: Annotated[int | None, typer.Option(help="All random numbers come from it.")] = None,
    list_scenarios: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool, typer.Option("--list", help="Show the scenarios.")
    ] = False,
) -> int:
    """Choose interleavings of the scheduler's threads instead of waiting for them; exit code 10 with the first finding.

    A finding is made as small as possible, told step by step, and comes with a token for `flake-hunt replay`.
    """
    from harness import errors, seeds
    from harness.explore import hunting, worlds
    from harness.subject import defects as known_defects

    if list_scenarios:
        for name, spec in worlds.SPECS.items():
            note = (
                " (the correct subject is known not to be up to it)"
                if spec.is_known_to_fail
                else ""
            )
            print(f"{name:<28}{spec.title}{note}")
        return 0
    if scenario not in worlds.SPECS:
        raise errors.ScenarioError(
            f"expected a scenario to explore, got {scenario!r}. Known: {', '.join(worlds.SPECS)}"
        )
    if strategy not in (*hunting.STRATEGIES, hunting.EXHAUSTIVE):
        known = ", ".join((*hunting.STRATEGIES, hunting.EXHAUSTIVE))
        raise errors.UsageError(f"expected a strategy, got {strategy!r}. Known: {known}")
    known_defects.parts(defect or ())
    chosen = seeds.fresh() if seed is None else seed
    print(f"seed {chosen}", flush=True)
    is_open = schedules is None and time_s is None and strategy != hunting.EXHAUSTIVE
    hunt = hunting.Hunt(
        scenario=scenario,
        defects=tuple(defect or ()),
        strategy=strategy,
        seed=chosen,
        schedules=schedules,
        time_s=10.0 if is_open else time_s,
        jobs=jobs,
        deviations_max=deviations,
    )
    return _show(hunt, _watch(hunt))


def _watch(hunt: "hunting.Hunt") -> "hunting.Progress":
    """Explore with a progress line."""
    from harness.cli import displaying
    from harness.explore import hunting

    console = displaying.console(stderr=True)
    progress, started, shown = hunting.Progress(), time.monotonic(), 0.0
    with console.status("exploring") as status:
        for progress in hunting.explore(hunt):
            now = time.monotonic()
            if now - shown >= _PROGRESS_S:
                shown = now
                rate = progress.schedules / max(now - started, 1e-9)
                status.update(
                    f"{progress.schedules} schedules, {len(progress.distinct)} distinct, "
                    f"{progress.finding_count} findings, {rate:.0f} a second"
                )
    return progress


def _show(hunt: "hunting.Hunt", progress: "hunting.Progress") -> int:
    from harness.explore import hunting

    what = f"{progress.schedules} schedules, {len(progress.distinct)} distinct"
    if not progress.findings:
        covered = (
            f"; every run of at most {hunt.deviations_max} deviations was made"
            if progress.is_complete
            else "; the bound was not exhausted" * (hunt.strategy == hunting.EXHAUSTIVE)
        )
        print(f"nothing found: {what}{covered}")
        return 0
    finding, decisions = progress.findings[0]
    print(f"found after {what}: {finding}")
    token = hunting.smallest(hunt, decisions)
    return _tell(token)


def replay(
    token: Annotated[str, typer.Argument(help="As `flake-hunt explore` prints it.")],
    times: Annotated[int, typer.Option(min=1, help="Make the run so often.")] = 1,
    pytest_file: Annotated[
        pathlib.Path | None,
        typer.Option("--pytest", help="Write a test file that makes the run again."),
    ] = None,
    curve: Annotated[int, typer.Option(min=0, help="Futures to try from each choice on.")] = 0,
    save: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--save", help="Write it as a run directory, to be judged and reported like any run."
        ),
    ] = None,
    html: Annotated[
        pathlib.Path | None, typer.Option("--html", help="Write the story as a page.")
    ] = None,
) -> int:
    """Make an explored run again, exactly; exit code 10 when it has its finding again.

    With --curve, from every choice of the run on so many random futures are tried: where the share of failing ones jumps, the race was lost.
    """
    from harness.explore import hunting, pages, tokens

    parsed = tokens.parse(token)
    found = [
        hunting.replay(parsed.scenario, parsed.defects, parsed.decisions).finding
        for _ in range(times)
    ]
    count = sum(item is not None for item in found)
    print(f"found in {count} of {times}")
    if not count:
        return 0
    code = _tell(parsed, pytest_file)
    points = _show_curve(parsed, curve) if curve else []
    run = hunting.replay(parsed.scenario, parsed.defects, parsed.decisions, record=True)
    if save is not None:
        _save(save, parsed, run)
    if html is not None:
        html.write_text(pages.render(parsed, run, points), encoding="utf-8")
        print(f"Written: {html}")
    return code


def _save(path: pathlib.Path, token: "tokens.Token", run: "exploring.Run") -> None:
    from harness.checks import judging
    from harness.cli import displaying
    from harness.explore import saving
    from harness.report import rendering

    directory = saving.save(path, token, run)
    judgement = judging.judge(directory)
    judging.write(directory, judgement)
    rendering.render(directory)
    displaying.show(judgement, directory)


def _show_curve(token: "tokens.Token", futures: int) -> "list[causality.Point]":
    from harness.explore import causality

    points = []
    for point in causality.curve(token, futures=futures, seed=1):
        points.append(point)
        print(
            f"{point.choice:5} {point.failing:6.0%} {'#' * round(40 * point.failing)}", flush=True
        )
    print(f"the race was lost at choice {causality.steepest(points).choice}")
    return points


def _tell(token: "tokens.Token", pytest_file: pathlib.Path | None = None) -> int:
    from harness.checks import verdicts
    from harness.explore import hunting, reproducing, stories

    run = hunting.replay(token.scenario, token.defects, token.decisions, record=True)
    finding = run.finding or "nothing was found"
    story = stories.tell(run.moments, run.names, finding)
    for number, sentence in enumerate(story, start=1):
        print(f"{number:4}. {sentence}")
    print(
        f"\n{token.deviations} deviations from the undisturbed run. Again: flake-hunt replay {token}"
    )
    if pytest_file is not None:
        pytest_file.write_text(reproducing.pytest_file(token, finding, story))
        print(f"Written: {pytest_file}")
    return verdicts.Verdict.INVALID.exit_code if run.finding else 0
