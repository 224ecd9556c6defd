"""`flake-hunt power`: how many runs a campaign needs, before its first one."""

from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import choosing
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.statistics import power_tables

_RATES = (0.001, 0.005, 0.01, 0.05, 0.2)
_RUNS = (2, 20, 100)


def power(
    rate: Annotated[
        list[float] | None,
        typer.Option(
            min=0, max=1, help="A rate at which runs may fail, such as 0.05 (may be repeated)."
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option(min=0.5, max=0.9999, help="Least probability of a right answer.")
    ] = 0.95,
    runs: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            max=choosing.REPEAT_MAX,
            help="A number of runs, whose chance to show a failure is said (may be repeated).",
        ),
    ] = None,
    against: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Also the runs of each side with which compare finds the difference from this rate.",
        ),
    ] = None,
    wanted: Annotated[
        float,
        typer.Option(
            "--power", min=0.5, max=0.99, help="With --against: least probability to find it."
        ),
    ] = 0.8,
    until_decided: choosing.UntilDecided = "",
    output: outputs.Form = "text",
) -> int:
    """Say how many runs are needed for which rate of failures, and what a number of runs can show.

        flake-hunt power --rate 0.05 --runs 20

    A defect that fails in 5 % of the runs is easily missed in two of them. All figures are exact.

    Exit code 0, or 2 for options that make no sense.
    """
    from harness.campaign import sequential_stopping
    from harness.statistics import power_tables

    for value in (*(rate or ()), confidence, wanted, against):
        choosing.require_number(value)
    question = sequential_stopping.question(until_decided)
    counts = list(runs or _RUNS)
    with outputs.chosen(output) as out:
        table = power_tables.table(
            list(rate or _RATES),
            confidence=confidence,
            runs=counts,
            against=against,
            wanted=wanted,
            question=question,
            runs_max=max(runs) if runs else sequential_stopping.runs_max(question),
        )
        if out.is_json:
            out.document(table)
        else:
            _print(table)
    return 0


def _print(table: "power_tables.PowerTable") -> None:
    head = ["rate", f"seen, {_percent(table.confidence)}", "clean runs"]
    head += [f"seen in {item.runs}" for item in table.rows[0].seen]
    head += [f"against {_percent(table.against)}"] * (table.against is not None)
    for line in outputs.aligned([head, *(_cells(row, table) for row in table.rows)]):
        print(line)
    print()
    if table.until_decided:
        decided = [f"rate, {table.until_decided}", "below", "at least", "not decided", "runs"]
        for line in outputs.aligned([decided, *map(_course, table.rows)]):
            print(line)
        print()
    for note in _notes(table):
        print(note)


def _cells(row: "power_tables.Row", table: "power_tables.PowerTable") -> list[str]:
    cells = [_percent(row.rate), _count(row.runs_to_see), _count(row.clean_runs_until_decided)]
    cells += [_percent(item.probability) for item in row.seen]
    if table.against is not None:
        most = f"> {table.compared_runs_max}" if row.rate != table.against else "–"
        cells.append(most if row.compared_runs is None else f"{row.compared_runs} each")
    return cells


def _course(row: "power_tables.Row") -> list[str]:
    found = row.course
    if found is None:
        return [_percent(row.rate), "–", "–", "–", "–"]
    chances = (found.below, found.at_least, found.undecided)
    runs = f"{found.mean_runs:.0f} of {found.runs_max}"
    return [_percent(row.rate), *map(_percent, chances), runs]


def _notes(table: "power_tables.PowerTable") -> list[str]:
    notes = [
        "seen: so many runs show a failure with this probability, or a lower rate if none fails.",
        "clean runs: so many show that the rate is lower, as hunt --until-decided needs, which may stop after any run.",
    ]
    if table.against is not None:
        notes.append(
            f"against: runs of each side with which compare finds the difference with a "
            f"probability of {_percent(table.power_min)}."
        )
    if table.until_decided:
        notes.append("runs: their mean number until the decision.")
    return notes


def _count(value: int | None) -> str:
    return "–" if value is None else str(value)


def _percent(value: float | None) -> str:
    """Return a share in percent; the ends are not rounded to."""
    shown = (value or 0) * 100
    if 0 < shown < 0.01:
        return "< 0.01 %"
    if 99.9 < shown < 100:
        return "> 99.9 %"
    return f"{shown:.3g} %"
