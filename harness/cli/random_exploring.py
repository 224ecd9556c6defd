"""`flake-hunt explore --random-worlds`: draw worlds, search each, and show the first finding."""

import collections
import pathlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.explore.search import random_worlds, search_campaign, search_progress, tokens

_WINDOW_S = 60.0
_SATURATED = 0.02
"""Share of distinct interleavings in recent runs below which the search counts as saturated."""

_UNTOLD = 10**12
"""Number of schedules left beyond which the number says nothing."""


class Meter:
    """Formats progress as a line, with rates over the last minute."""

    def __init__(self) -> None:
        self._seen: collections.deque[tuple[float, int, int]] = collections.deque(
            [(time.monotonic(), 0, 0)]
        )

    def line(self, progress: "search_progress.SearchProgress", now: float) -> str:
        """Return schedules, distinct interleavings, findings, and rates on one line."""
        runs, distinct = progress.schedules, progress.distinct_count
        self._seen.append((now, runs, distinct))
        while now - self._seen[0][0] > _WINDOW_S:
            self._seen.popleft()
        then, runs_then, distinct_then = self._seen[0]
        seconds = max(now - then, 1e-9)
        new = distinct - distinct_then
        saturated = ", saturated" * (new < _SATURATED * (runs - runs_then))
        return (
            f"{runs} schedules, {distinct} distinct, {progress.finding_count} findings, "
            f"{(runs - runs_then) / seconds:.0f}/s, "
            + (_left(progress) or f"{60 * new / seconds:.0f} new/min{saturated}")
        )


def _left(progress: "search_progress.SearchProgress") -> str:
    """Return how much of a whole search is left; empty if that is not known."""
    left = progress.schedules_left
    if left is None:
        return ""
    return f"at least {left} left" if left < _UNTOLD else "more left than can be searched"


def what(progress: "search_progress.SearchProgress") -> str:
    """Return the numbers of schedules and of distinct interleavings."""
    given_up = f" ({progress.given_up} of them cut where all that could follow was known)"
    return (
        f"{outputs.counted(progress.schedules, 'schedule')}{given_up * bool(progress.given_up)}, "
        f"{outputs.counted(progress.distinct_count, 'distinct interleaving')}"
    )


def covered(hunt: "search_campaign.Hunt", progress: "search_progress.SearchProgress") -> str:
    """Return what an exhaustive search covers; empty for another search."""
    from harness.explore.search import search_campaign

    if hunt.strategy != search_campaign.EXHAUSTIVE:
        return ""
    if progress.is_complete:
        return "; the world is searched whole"
    left = _left(progress) or "no telling how many are left"
    return (
        f"; NOT searched whole, {left}: increase --time, shrink the world with --set, or use "
        "--strategy pct"
    )


def reproduced(token: "tokens.Token") -> dict[str, object]:
    """Return the finding of a run, its token, and its story."""
    from harness.explore.output import stories
    from harness.explore.search import search_campaign

    run = search_campaign.replay(token, record=True)
    finding = run.finding or ""
    story = list(stories.step_lines(run.steps, run.names, finding))
    return {"finding": finding, "token": str(token), "story": story}


_STEPS_MAX = 200
"""Number of steps of a longer story that are printed: half of them the first, half the last."""


def tell(token: "tokens.Token", pytest_file: pathlib.Path | None = None) -> int:
    """Print the steps of a run and the command that reproduces it; return its exit code.

    The middle of a long story is left out, which the file of `--pytest` has.
    """
    from harness import writing
    from harness.checks import verdicts
    from harness.explore.output import run_directory, stories
    from harness.explore.search import search_campaign

    run = search_campaign.replay(token, record=True)
    finding = run.finding or "nothing was found"
    story = stories.step_lines(run.steps, run.names, finding)
    _print_story(story)
    sizes = "".join(f", {key}={value}" for key, value in token.sizes)
    print(
        f"\n{token.scenario}{sizes}: {outputs.counted(token.deviations, 'deviation')} from the default schedule. "
        f"Reproduce it: flake-hunt replay {token}"
    )
    if pytest_file is not None:
        writing.replace(pytest_file, run_directory.pytest_file(token, finding, story).encode())
        print(f"Written: {pytest_file}")
    return verdicts.Verdict.INVALID.exit_code if run.finding else 0


def _print_story(story: Sequence[str]) -> None:
    numbered = [f"{number:4}. {sentence}" for number, sentence in enumerate(story, start=1)]
    left_out = len(numbered) - _STEPS_MAX
    if left_out > 0:
        half = _STEPS_MAX // 2
        note = (
            f"      {outputs.counted(left_out, 'step')} left out here; replay --pytest FILE has all"
        )
        numbered[half:-half] = [note]
    print(*numbered, sep="\n")


TIME_S = 60.0
"""Default time budget, in seconds."""
_PROGRESS_S = 0.2


def explore(hunt: "random_worlds.RandomHunt", out: outputs.Output) -> int:
    """Search random worlds with a progress line; return the exit code."""
    from harness.checks import verdicts
    from harness.cli.terminal import displaying
    from harness.explore.search import shrink_world

    hunt.require_possible()
    out.note(f"seed {hunt.seed}")
    progress = _watch(hunt, out)
    if progress.found is None:
        if out.is_json:
            out.document(_document(hunt, progress, code=0))
        else:
            print(f"nothing found: {_what(progress)}")
            _list_features(progress)
        return 0
    finding, token = progress.found
    code = verdicts.Verdict.INVALID.exit_code
    if not out.is_json:
        print(f"found in {token.scenario} after {_what(progress)}: {finding}", flush=True)
    with displaying.status("shrinking", out):
        token = shrink_world.smallest(token)
    if out.is_json:
        out.document(
            _document(hunt, progress, code=code)
            | {"scenario": token.scenario, "sizes": dict(token.sizes)}
            | reproduced(token)
        )
        return code
    told = tell(token)
    _list_features(progress)
    return told


def _watch(hunt: "random_worlds.RandomHunt", out: outputs.Output) -> "random_worlds.RandomProgress":
    """Search with a progress line; on Ctrl-C print the progress."""
    from harness.cli.terminal import displaying
    from harness.explore.search import random_worlds

    progress, started, shown = random_worlds.RandomProgress(), time.monotonic(), 0.0
    try:
        with displaying.status("exploring", out) as status:
            for progress in random_worlds.explore(hunt):
                now = time.monotonic()
                if now - shown >= _PROGRESS_S:
                    shown = now
                    speed = progress.schedules / max(now - started, 1e-9)
                    status(f"{_what(progress)}, {speed:.0f}/s")
    except KeyboardInterrupt:
        print(f"interrupted after {_what(progress)}; nothing found so far", flush=True)
        raise
    return progress


def _what(progress: "random_worlds.RandomProgress") -> str:
    return (
        f"{outputs.counted(progress.worlds, 'world')}, "
        f"{outputs.counted(progress.schedules, 'schedule')}, "
        f"{outputs.counted(len(progress.features), 'feature')}"
    )


def _list_features(progress: "random_worlds.RandomProgress") -> None:
    """Print in how many worlds each feature was."""
    print("worlds with each feature:")
    for feature, count in sorted(progress.features.items()):
        print(f"{count:7}  {feature}")


def _document(
    hunt: "random_worlds.RandomHunt", progress: "random_worlds.RandomProgress", *, code: int
) -> dict[str, object]:
    return {
        "schema": 1,
        "seed": hunt.seed,
        "scenario": None,
        "sizes": {},
        "defects": hunt.defects,
        "remedies": hunt.remedies,
        "worlds": progress.worlds,
        "schedules": progress.schedules,
        "features": dict(sorted(progress.features.items())),
        "exit_code": code,
        "finding": None,
        "token": None,
        "story": [],
    }
