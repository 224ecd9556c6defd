"""The summary of a campaign for CI systems: its table in Markdown."""

from collections.abc import Sequence

from harness.campaign import results
from harness.report import escaping

JUNIT_NAME = "junit.xml"
"""Name of the JUnit file in each campaign's folder."""


def campaign(
    table: Sequence[results.Row], *, headline: str, seed: int, answers: Sequence[str] = ()
) -> str:
    """Return the summary of one campaign; `answers` are sentences."""
    lines = [f"## {escaping.in_markdown(headline)}", "", f"Seed {seed}.", ""]
    lines += [f"- {escaping.in_markdown(text)}" for text in answers]
    lines += [""] if answers else []
    return "\n".join([*lines, *rows(table), ""])


def rows(table: Sequence[results.Row]) -> list[str]:
    """Return the lines of the table; unexpected verdicts are bold."""
    return [
        "| purpose | scenario | subject | runs | found | claims | double allocations | breaks | verdict |",
        "|---|---|---|---:|---:|---:|---:|---:|---|",
        *map(_row, table),
    ]


def _row(row: results.Row) -> str:
    counts = (len(row.runs), row.caught, row.claims, row.double_allocations, row.breaks)
    figures = " | ".join(map(str, counts))
    purpose = " ".join(filter(None, (row.purpose.value, row.hypothesis)))
    names = " | ".join(map(escaping.in_markdown, (purpose, row.scenario, row.subject)))
    return f"| {names} | {figures} | {_verdict(row)} |"


def _verdict(row: results.Row) -> str:
    what = "ERROR" if row.errors and not row.caught else str(row.verdict)
    return what if row.is_as_expected else f"**{what}**"
