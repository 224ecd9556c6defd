"""Shows a search of `explore`: its progress, the shrunk finding and its story."""

import pathlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from harness import writing
from harness.checks import verdicts
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.explore.search import search_campaign, tokens

Progress = TypeVar("Progress")

_PROGRESS_S = 0.2
_STEPS_MAX = 200
"""Steps of a story that are printed: half of them the first, half the last."""


def search(hunt: "search_campaign.Hunt", out: outputs.Output) -> int:
    from harness.explore.search import search_campaign

    progress = _watched(search_campaign.explore(hunt), search_campaign.SearchProgress(), _what, out)
    is_exhaustive = hunt.strategy == search_campaign.EXHAUSTIVE
    is_whole = progress.is_complete or not is_exhaustive
    finding, decisions = progress.findings[0] if progress.findings else ("", [])
    return _conclude(
        (finding, hunt.token(decisions)) if finding else None,
        out,
        found=f"found after {_what(progress)}",
        nothing=f"nothing found: {_what(progress)}{_covered(progress) * is_exhaustive}",
        code=0 if is_whole else verdicts.Verdict.UNKNOWN.exit_code,
        about={
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
        },
    )


def _what(progress: "search_campaign.SearchProgress") -> str:
    given_up = f" ({progress.given_up} of them cut where all that could follow was known)"
    return (
        f"{outputs.counted(progress.schedules, 'schedule')}{given_up * bool(progress.given_up)}, "
        f"{outputs.counted(len(progress.distinct), 'distinct interleaving')}"
    )


def _covered(progress: "search_campaign.SearchProgress") -> str:
    if progress.is_complete:
        return "; the world is searched whole"
    return (
        "; NOT searched whole: increase --time, shrink the world with --set, or use --strategy pct"
    )


def search_random_worlds(hunt: "search_campaign.RandomHunt", out: outputs.Output) -> int:
    from harness.explore.search import search_campaign

    progress = _watched(
        search_campaign.explore_worlds(hunt), search_campaign.RandomProgress(), _what_of_worlds, out
    )
    place = f" in {progress.found[1].scenario}" if progress.found else ""
    code = _conclude(
        progress.found,
        out,
        found=f"found{place} after {_what_of_worlds(progress)}",
        nothing=f"nothing found: {_what_of_worlds(progress)}",
        code=0,
        about={
            "schema": 1,
            "seed": hunt.seed,
            "scenario": None,
            "sizes": {},
            "defects": hunt.defects,
            "remedies": hunt.remedies,
            "worlds": progress.worlds,
            "schedules": progress.schedules,
            "features": dict(sorted(progress.features.items())),
        },
    )
    if not out.is_json:
        print("worlds with each feature:")
        for feature, count in sorted(progress.features.items()):
            print(f"{count:7}  {feature}")
    return code


def _what_of_worlds(progress: "search_campaign.RandomProgress") -> str:
    return (
        f"{outputs.counted(progress.worlds, 'world')}, "
        f"{outputs.counted(progress.schedules, 'schedule')}, "
        f"{outputs.counted(len(progress.features), 'feature')}"
    )


def _watched(
    growing: Iterator[Progress],
    progress: Progress,
    what: Callable[[Progress], str],
    out: outputs.Output,
) -> Progress:
    from harness.cli.terminal import displaying

    started = shown = time.monotonic()
    try:
        with displaying.status("exploring", out) as status:
            for progress in growing:
                now = time.monotonic()
                if now - shown >= _PROGRESS_S:
                    shown = now
                    speed = getattr(progress, "schedules", 0) / (now - started)
                    status(f"{what(progress)}, {speed:.0f}/s")
    except KeyboardInterrupt:
        print(f"interrupted after {what(progress)}; nothing found so far", flush=True)
        raise
    return progress


def _conclude(
    finding: "tuple[str, tokens.Token] | None",
    out: outputs.Output,
    *,
    found: str,
    nothing: str,
    code: int,
    about: Mapping[str, object],
) -> int:
    from harness.cli.terminal import displaying
    from harness.explore import output
    from harness.explore.search import search_campaign, shrink_world

    if finding is None:
        if not out.is_json:
            print(nothing)
            return code
        none: dict[str, object] = {"finding": None, "token": None, "story": []}
        out.document({**about, "exit_code": code, **none})
        return code
    if not out.is_json:
        print(f"{found}: {finding[0]}", flush=True)
    with displaying.status("shrinking", out):
        token = shrink_world.smallest(finding[1])
    if not out.is_json:
        return tell(token)
    run, code = search_campaign.replay(token, record=True), verdicts.Verdict.INVALID.exit_code
    place = {"scenario": token.scenario, "sizes": dict(token.sizes)}
    told = {
        "exit_code": code,
        "finding": run.finding or "",
        "token": str(token),
        "story": output.step_lines(run.steps, run.names, run.finding or ""),
    }
    out.document({key: place.get(key, value) for key, value in about.items()} | told)
    return code


def tell(token: "tokens.Token", pytest_file: pathlib.Path | None = None) -> int:
    """Print the steps of a run and the command that reproduces it; return its exit code.

    The middle of a long story is left out, which the file of `--pytest` has.
    """
    from harness.explore import output
    from harness.explore.search import search_campaign

    run = search_campaign.replay(token, record=True)
    finding = run.finding or "nothing was found"
    story = output.step_lines(run.steps, run.names, finding)
    _print_story(story)
    sizes = "".join(f", {key}={value}" for key, value in token.sizes)
    print(
        f"\n{token.scenario}{sizes}: {outputs.counted(token.deviations, 'deviation')} from the default schedule. "
        f"Reproduce it: flake-hunt replay {token}"
    )
    if pytest_file is not None:
        writing.replace(pytest_file, output.pytest_file(token, finding, story).encode())
        print(f"Written: {pytest_file}")
    return verdicts.Verdict.INVALID.exit_code if run.finding else 0


def _print_story(story: Sequence[str]) -> None:
    numbered = [f"{number:4}. {sentence}" for number, sentence in enumerate(story, start=1)]
    left_out = len(numbered) - _STEPS_MAX
    if left_out > 0:
        half = _STEPS_MAX // 2
        steps = outputs.counted(left_out, "step")
        numbered[half:-half] = [f"      {steps} left out here; replay --pytest FILE has all"]
    print(*numbered, sep="\n")
