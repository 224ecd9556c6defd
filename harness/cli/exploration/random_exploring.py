"""`flake-hunt explore --random-worlds`: draw worlds, search each, and tell of the first finding."""

import time
from typing import TYPE_CHECKING

from harness.cli.exploration import replaying
from harness.cli.terminal import displaying, outputs

if TYPE_CHECKING:
    from harness.explore.search import random_worlds, tokens

TIME_S = 60.0
"""Default time budget, in seconds."""
_PROGRESS_S = 0.2


def explore(hunt: "random_worlds.RandomHunt", out: outputs.Output) -> int:
    """Search random worlds with a progress line; return the exit code."""
    from harness.checks import verdicts
    from harness.explore.search import shrink_world

    hunt.require_possible()
    out.note(f"seed {hunt.seed}")
    progress = _watch(hunt, out)
    if progress.found is None:
        if out.is_json:
            out.document(_document(hunt, progress, code=0))
        else:
            print(f"nothing found: {_what(progress)}")
            _list_features(progress, out)
        return 0
    finding, token = progress.found
    code = verdicts.Verdict.INVALID.exit_code
    if not out.is_json:
        print(f"found in {token.scenario} after {_what(progress)}: {finding}", flush=True)
        if out.is_quiet:
            return code
    with displaying.status("shrinking", out):
        token = shrink_world.smallest(token)
    if out.is_json:
        out.document(_document(hunt, progress, code=code) | _reproduced(token))
        return code
    told = replaying.tell(token)
    _list_features(progress, out)
    return told


def _watch(hunt: "random_worlds.RandomHunt", out: outputs.Output) -> "random_worlds.RandomProgress":
    """Search with a progress line; on Ctrl-C print the progress."""
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


def _list_features(progress: "random_worlds.RandomProgress", out: outputs.Output) -> None:
    """Print in how many worlds each feature was."""
    if out.is_quiet:
        return
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


def _reproduced(token: "tokens.Token") -> dict[str, object]:
    from harness.cli.exploration import search_texts

    sizes = dict(token.sizes)
    return {"scenario": token.scenario, "sizes": sizes} | search_texts.reproduced(token)
