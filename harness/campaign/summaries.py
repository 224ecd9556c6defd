"""What a CI system shows of a job: the closing table in Markdown."""

from collections.abc import Sequence

from harness.campaign import results


def campaign(table: Sequence[results.Row], *, headline: str, seed: int) -> str:
    """Return the summary of one campaign."""
    return "\n".join([f"## {headline}", "", f"Seed {seed}.", "", *rows(table), ""])


def rows(table: Sequence[results.Row]) -> list[str]:
    """Return the lines of the table. Bold is what was not expected."""
    return [
        "| scenario | subject | runs | caught | claims | double allocations | verdict |",
        "|---|---|---:|---:|---:|---:|---|",
        *map(_row, table),
    ]


def _row(row: results.Row) -> str:
    caught = row.caught if row.is_control else ""
    figures = f"{len(row.runs)} | {caught} | {row.claims} | {row.double_allocations}"
    return f"| {row.scenario} | {row.subject} | {figures} | {_verdict(row)} |"


def _verdict(row: results.Row) -> str:
    what = "ERROR" if row.errors and not row.caught else str(row.verdict)
    return what if row.is_as_expected else f"**{what}**"
