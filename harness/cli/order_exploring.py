"""`flake-hunt explore --program`: search the interleavings of a program's own threads."""

import dataclasses
import itertools
import pathlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec

from harness import placeholders, processes
from harness.cli import choosing, key_values, playing
from harness.cli.terminal import indexing, outputs

if TYPE_CHECKING:
    from harness.confirmation import order_hunts

TIME_S, CLAIMS, DEPTH, MOST = 120.0, 3, 3, 20
"""Default time of a search, in seconds, claims of each try, and threads that are held at most; and
the largest numbers of both."""
_STACK_SHOWN = 6


def explore(
    program: str, *, seed: int, time_s: float, settings: Sequence[str], out: outputs.Output
) -> int:
    """Search, shrink, repeat and write; return the exit code.

    `settings` are `claims=N`, `depth=N`, `reports=FOLDER`, and any number of `functions=PATTERN`.
    """
    from harness.cli.terminal import displaying
    from harness.confirmation import order_hunts

    subject, chosen = _subject(program), key_values.fields(_Settings, settings)
    reports = chosen.reports
    processes.prepare()
    out.note(f"seed {seed}")
    on = choosing.RunOptions(
        cluster=None, claim_controller="", subject=[subject], defect=None, remedy=None, release=""
    )
    plays = playing.Plays(on, itertools.count(seed), reports, out)
    hunt = order_hunts.OrderHunt(
        plays.play,
        folder=reports / "orders",
        seed=seed,
        claims=chosen.claims,
        depth=chosen.depth,
        functions=chosen.functions,
    )
    shrunk = written = None
    with indexing.refreshed(reports):
        with displaying.status(f"trying orders of threads, {time_s:g} s at most", out):
            searched = hunt.search(time_s)
        out.note(_searched(searched))
        if searched.found is not None:
            out.note(f"found: {searched.found.found}  {searched.played.page}")
            with displaying.status("shrinking", out):
                shrunk = hunt.shrink(searched.found)
            for line in _told(shrunk):
                out.note(line)
            with displaying.status("playing scripts of it", out):
                written = hunt.write(shrunk)
        if out.is_json:
            out.document(_document(searched, shrunk, written))
        else:
            print(_answer(searched, written))
    return searched.played.answer.exit_code


def _subject(program: str) -> str:
    from harness.cluster.local import binaries
    from harness.run import subjects

    if program.partition("=")[0] in subjects.KINDS:
        return program
    path = binaries.program(placeholders.words(program)[0])
    is_kubernetes = binaries.plain_name(path) == "kube-scheduler"
    return f"kube-scheduler={program}" if is_kubernetes else f"command={program}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """The settings of a search, which `--set` changes."""

    claims: Annotated[int, msgspec.Meta(ge=1, le=MOST)] = CLAIMS
    depth: Annotated[int, msgspec.Meta(ge=0, le=MOST)] = DEPTH
    functions: tuple[str, ...] = ()
    reports: pathlib.Path = pathlib.Path("reports")


def _searched(searched: "order_hunts.Searched") -> str:
    minutes = max(searched.seconds, 0.1) / 60
    return (
        f"{outputs.counted(searched.tries, 'order')} tried in {searched.seconds:.0f} s "
        f"({searched.tries / minutes:.0f} a minute); threads came to "
        f"{outputs.counted(searched.places, 'place')}; in "
        f"{outputs.counted(searched.pairs, 'pair')} of places, one was passed while a thread was "
        "held at the other"
    )


def _told(shrunk: "order_hunts.Shrunk") -> Iterator[str]:
    from harness.model import thread_places

    rate, quiet = shrunk.rate, shrunk.quiet
    yield (
        f"shrunk to {outputs.counted(len(shrunk.holds), 'held thread')}, which fails in "
        f"{rate.failed} of {rate.runs} tries; without, {quiet.failed} of {quiet.runs} fail"
    )
    for number, hold in enumerate(shrunk.holds, start=1):
        yield f"{number}. goroutine {hold.goroutine} is held at the {thread_places.shortened(hold.place)}, visit {hold.visit}"
        stack = " < ".join(thread_places.short(name) for name in hold.stack[:_STACK_SHOWN])
        yield f"     it is in {stack}"
        passed = list(hold.during)[-_STACK_SHOWN:]
        if passed:
            yield f"     meanwhile others pass, last: {'; '.join(map(thread_places.shortened, passed))}"


def _answer(searched: "order_hunts.Searched", written: "order_hunts.Written | None") -> str:
    played = searched.played
    if written is None:
        return f"nothing found: {played.sentence}  {played.page}"
    return (
        f"{played.sentence}\n"
        f"script: {written.file}, {str(written.rate).replace('failed', 'confirmed', 1)}\n"
        f"Play it: flake-hunt confirm {written.file} --subject PROGRAM --repeat 10"
    )


def _document(
    searched: "order_hunts.Searched",
    shrunk: "order_hunts.Shrunk | None",
    written: "order_hunts.Written | None",
) -> dict[str, object]:
    played = searched.played
    return {
        "schema": 1,
        "answer": played.answer,
        "exit_code": played.answer.exit_code,
        "sentence": played.sentence,
        "directory": played.directory.resolve(),
        "search": {key: getattr(searched, key) for key in ("tries", "seconds", "places", "pairs")},
        "shrunk": shrunk,
        "script": {"file": written.file, "confirmed": written.rate} if written else None,
    }
