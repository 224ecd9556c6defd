"""`flake-hunt explore`: search for failing interleavings in one process."""

import collections
import dataclasses
import time
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import choosing
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.explore.search import search_campaign, tokens
    from harness.explore.worlds import world_specs

_PROGRESS_S = 0.2
_WINDOW_S = 60.0
_TIME_S = 10.0
_SATURATED = 0.02
"""Share of distinct interleavings in recent runs below which the search counts as saturated."""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Hunting")(explore)


def explore(
    scenario: Annotated[
        str, typer.Argument(help="Name of a small world; see --list.")
    ] = "two-claims-one-device",
    defect: choosing.Defects = None,
    remedy: choosing.Remedies = None,
    strategy: Annotated[str, typer.Option(help="pct, random or exhaustive.")] = "pct",
    schedules: Annotated[int | None, typer.Option(min=1, help="Number of schedules.")] = None,
    time_s: Annotated[
        float | None,
        typer.Option(
            "--time",
            callback=choosing.require_number,
            help="Time budget in seconds (default: 10; exhaustive: no limit).",
        ),
    ] = None,
    preemptions: Annotated[
        int,
        typer.Option(min=0, help="exhaustive: largest number of preemptions."),
    ] = 2,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes (random and pct).")] = 1,
    seed: choosing.Seed = None,
    override: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a size of the world: --set claims=3 (may be repeated)."),
    ] = None,
    list_scenarios: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool, typer.Option("--list", help="Show the worlds and exit.")
    ] = False,
    force: choosing.Force = False,  # noqa: FBT002
    output: outputs.Form = "text",
    quiet: outputs.Quiet = False,  # noqa: FBT002
) -> int:
    """Choose the interleavings of the scheduler's threads; exit code 10 at the first finding.

    Exit code 20 if an exhaustive search did not finish.

    A finding is shrunk, explained step by step, and comes with a token for `flake-hunt replay`.
    """
    from harness import seeds
    from harness.explore.search import search_campaign
    from harness.explore.worlds import chosen_parts

    if list_scenarios:
        return _list(output)
    choosing.require_bearable("--jobs", jobs, is_forced=force)
    _require_time(time_s)
    chosen_parts.of(defect or (), remedy or ())
    is_exhaustive = strategy == search_campaign.EXHAUSTIVE
    hunt = search_campaign.Hunt(
        scenario=scenario,
        defects=tuple(defect or ()),
        remedies=tuple(remedy or ()),
        strategy=strategy,
        seed=seeds.fresh() if seed is None else seed,
        schedules=schedules,
        time_s=_TIME_S if schedules is None and time_s is None and not is_exhaustive else time_s,
        jobs=jobs,
        preemptions_max=preemptions,
        sizes=tuple(_size(text) for text in override or ()),
    )
    hunt.require_possible()
    with outputs.chosen(output, quiet=quiet) as out:
        out.note(f"seed {hunt.seed}")
        progress = _watch(hunt, out)
        return _show(hunt, progress, out)


def _require_time(seconds: float | None) -> None:
    from harness import errors

    if seconds is not None and seconds <= 0:
        raise errors.UsageError(f"expected --time of more than 0 seconds, got {seconds:g}")


def _list(output: str) -> int:
    from harness.explore.worlds import world_catalogue

    with outputs.chosen(output) as out:
        if out.is_json:
            listed = [_listed(*item) for item in world_catalogue.WORLDS.items()]
            out.document({"schema": 1, "scenarios": listed})
            return 0
        width = max(map(len, world_catalogue.WORLDS)) + 2
        for name, spec in world_catalogue.WORLDS.items():
            print(f"{name:<{width}}{spec.title}{_note(spec)}")
    return 0


def _listed(name: str, spec: "world_specs.WorldSpec") -> dict[str, object]:
    hazard = None if spec.hazard is None else dataclasses.asdict(spec.hazard)
    return {
        "name": name,
        "title": spec.title,
        "faults": spec.faults,
        "is_known_to_fail": hazard is not None,
        "hazard": hazard,
    }


def _note(spec: "world_specs.WorldSpec") -> str:
    if spec.hazard is None:
        return ""
    if spec.hazard.remedy is None:
        return f" (known to fail even without a defect: {spec.hazard.hypothesis})"
    return f" (known to fail even without a defect, but not with --remedy {spec.hazard.remedy})"


def _size(text: str) -> tuple[str, int]:
    from harness import errors

    key, _, value = text.partition("=")
    if not value.isdecimal():
        raise errors.UsageError(f"expected --set name=number, as in --set claims=3, got {text!r}")
    return key, int(value)


def _watch(hunt: "search_campaign.Hunt", out: outputs.Output) -> "search_campaign.SearchProgress":
    """Explore with a progress line; on Ctrl-C print the progress."""
    from harness.cli.terminal import displaying
    from harness.explore.search import search_campaign

    progress, meter, shown = search_campaign.SearchProgress(), _Meter(), 0.0
    try:
        with displaying.status("exploring", out) as status:
            for progress in search_campaign.explore(hunt):
                now = time.monotonic()
                if now - shown >= _PROGRESS_S:
                    shown = now
                    status(meter.line(progress, now))
    except KeyboardInterrupt:
        print(f"interrupted after {_what(progress)}; nothing found so far", flush=True)
        raise
    return progress


class _Meter:
    """Formats progress as a line, with rates over the last minute."""

    def __init__(self) -> None:
        self._seen: collections.deque[tuple[float, int, int]] = collections.deque(
            [(time.monotonic(), 0, 0)]
        )

    def line(self, progress: "search_campaign.SearchProgress", now: float) -> str:
        """Return schedules, distinct interleavings, findings, and rates on one line."""
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
            f"{(runs - runs_then) / seconds:.0f}/s, {60 * new / seconds:.0f} new/min{saturated}"
        )


def _what(progress: "search_campaign.SearchProgress") -> str:
    given_up = f" ({progress.given_up} of them ended early in a state seen before)"
    return (
        f"{outputs.counted(progress.schedules, 'schedule')}{given_up * bool(progress.given_up)}, "
        f"{outputs.counted(len(progress.distinct), 'distinct interleaving')}"
    )


def _show(
    hunt: "search_campaign.Hunt", progress: "search_campaign.SearchProgress", out: outputs.Output
) -> int:
    from harness.checks import verdicts
    from harness.cli.exploration import replaying
    from harness.cli.terminal import displaying
    from harness.explore.search import search_campaign, shrink_world

    if not progress.findings:
        is_unknown = hunt.strategy == search_campaign.EXHAUSTIVE and not progress.is_complete
        code = verdicts.Verdict.UNKNOWN.exit_code if is_unknown else 0
        if out.is_json:
            out.document(_document(hunt, progress, code=code))
        else:
            print(f"nothing found: {_what(progress)}{_covered(hunt, progress)}")
        return code
    finding, decisions = progress.findings[0]
    if not out.is_json:
        print(f"found after {_what(progress)}: {finding}", flush=True)
    if out.is_quiet and not out.is_json:
        return verdicts.Verdict.INVALID.exit_code
    with displaying.status("shrinking", out):
        token = shrink_world.smallest(hunt.token(decisions))
    if not out.is_json:
        return replaying.tell(token)
    code = verdicts.Verdict.INVALID.exit_code
    out.document(_document(hunt, progress, code=code) | _reproduced(token))
    return code


def _document(
    hunt: "search_campaign.Hunt", progress: "search_campaign.SearchProgress", *, code: int
) -> dict[str, object]:
    return {
        "schema": 1,
        "seed": hunt.seed,
        "scenario": hunt.scenario,
        "defects": hunt.defects,
        "remedies": hunt.remedies,
        "strategy": hunt.strategy,
        "schedules": progress.schedules,
        "distinct": len(progress.distinct),
        "given_up": progress.given_up,
        "is_complete": progress.is_complete,
        "exit_code": code,
        "finding": None,
        "token": None,
        "story": [],
    }


def _reproduced(token: "tokens.Token") -> dict[str, object]:
    from harness.explore.output import stories
    from harness.explore.search import search_campaign

    run = search_campaign.replay(token, record=True)
    finding = run.finding or ""
    story = list(stories.tell(run.moments, run.names, finding))
    return {"finding": finding, "token": str(token), "story": story}


def _covered(hunt: "search_campaign.Hunt", progress: "search_campaign.SearchProgress") -> str:
    from harness.explore.search import search_campaign

    if hunt.strategy != search_campaign.EXHAUSTIVE:
        return ""
    most = outputs.counted(hunt.preemptions_max, "preemption")
    if progress.is_complete:
        return f"; the search is complete up to {most}"
    return (
        f"; the search is NOT complete up to {most}: "
        "increase --time, lower --preemptions, or shrink the world with --set"
    )
