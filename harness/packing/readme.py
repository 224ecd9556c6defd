"""README.txt of a pack, for readers who have never heard of Flake Hunt."""

import shlex
import textwrap
from collections.abc import Iterator

from harness.checks import verdicts
from harness.packing import packs

_WIDTH = 100
_RUNS_MAX = 50
"""Runs that are listed."""


def text(index: packs.Index, name: str) -> str:
    """Return the content; `name` is that of the folder in the pack."""
    return "\n".join(_lines(index, name)) + "\n"


def _lines(index: packs.Index, name: str) -> Iterator[str]:
    yield from _wrapped(
        f"This is a pack of Flake Hunt {index.flake_hunt}, which asks: did a Kubernetes scheduler ever give one "
        f"device to two claims? It has the record of {verdicts.counted(len(index.runs), 'run')}, the verdict on "
        "each, and the report for people."
    )
    yield ""
    for run in index.runs[:_RUNS_MAX]:
        yield from _wrapped(f"{run.verdict} {run.scenario}, {run.subject}: {run.reason}", "  ")
    if len(index.runs) > _RUNS_MAX:
        yield f"  and {len(index.runs) - _RUNS_MAX} more"
    yield from _how(index, name)
    if index.redacted:
        yield ""
        yield from _wrapped(
            "It is redacted: names and values of the cluster were replaced, the same by the same everywhere, and "
            "manifest.json is that of the redacted files. It was judged after that: the verdict and the "
            "number of violations are those of the run itself."
        )
    if index.left_out:
        yield ""
        yield "Not in this pack:"
        for what in index.left_out:
            yield from _wrapped(what, "  ")


def _how(index: packs.Index, name: str) -> Iterator[str]:
    first = index.runs[0]
    page = f"{index.campaigns[0]}/index.html" if index.campaigns else f"{first.path}/report.html"
    yield ""
    yield f"Read it    unpack it and open {page} in a browser"
    yield "Judge it   flake-hunt check FILE.zip, as it is; or unpack it, and"
    yield f"           flake-hunt check {name}"
    yield f"Install    pip install flake-hunt=={index.flake_hunt}"
    if len(index.runs) == 1 and first.again:
        yield f"Repeat it  {shlex.join(['flake-hunt', *first.again])}"
    yield ""
    yield from _wrapped(
        "The verdict comes from the record alone and can be repeated years later. Exit code 0: VALID, 10: INVALID, "
        "20: UNKNOWN, also if the pack is damaged."
    )


def _wrapped(paragraph: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        paragraph,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
