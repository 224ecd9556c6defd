"""Measure: figures, each with its ratio to the first one of its unit and to the one kept before."""

import argparse
import csv
import pathlib
import subprocess
from collections.abc import Iterator, Sequence

from bench import (
    allocating,
    apiserver,
    explaining,
    exploring,
    holding,
    judging,
    preparing,
    querying,
    recording,
    scheduling,
    starting,
)

PARTS = {
    "allocating": allocating.measure,
    "apiserver": apiserver.measure,
    "holding": holding.measure,
    "judging": judging.measure,
    "preparing": preparing.measure,
    "querying": querying.measure,
    "recording": recording.measure,
    "scheduling": scheduling.measure,
    "starting": starting.measure,
    "explaining": explaining.measure,
    "exploring": exploring.measure,
}


FIGURES = pathlib.Path(__file__).parent / "figures.csv"
"""Figures that were kept: commit, part, what, unit, value."""
Figures = dict[tuple[str, str, str], float]


def kept() -> Figures:
    """Return the newest figure of each kind."""
    with FIGURES.open(encoding="utf-8", newline="") as stream:
        return {
            (part, what, unit): float(value) for _, part, what, unit, value in csv.reader(stream)
        }


def line(what: str, value: float, unit: str, first: float, before: float | None) -> str:
    """Return a figure with its ratios to the first one of its unit and to the one that was kept."""
    ratio = f"{value / first:>6.2f} ×" if first else f"{'-':>6}"
    change = f"{value / before:>8.2f} × before" if before else ""
    return f"  {what:<76}{value:>10.1f} {unit:<12}{ratio}{change}"


def measured(parts: Sequence[str]) -> Iterator[tuple[str, str, str, float]]:
    """Print the figures as they come, and yield them with their part."""
    before = kept()
    for part in parts:
        print(f"\n{part}")
        first: dict[str, float] = {}
        for what, value, unit in PARTS[part]():
            last = before.get((part, what, unit))
            print(line(what, value, unit, first.setdefault(unit, value), last), flush=True)
            yield part, what, unit, value


def main() -> None:
    """Measure, print a table, and keep its figures if asked."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("part", nargs="*", metavar="NAME", help=", ".join(PARTS))
    parser.add_argument("--keep", action="store_true", help="add the figures to bench/figures.csv")
    options = parser.parse_args()
    if unknown := set(options.part) - PARTS.keys():
        parser.error(f"expected some of {', '.join(PARTS)}, got {', '.join(sorted(unknown))}")
    figures = list(measured(options.part or [*PARTS]))
    if options.keep:
        command = ("git", "rev-parse", "--short=12", "HEAD")
        commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        with FIGURES.open("a", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows((commit, *row[:3], f"{row[3]:.6g}") for row in figures)


if __name__ == "__main__":
    main()
