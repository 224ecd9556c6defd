"""Summaries for CI systems: a campaign's table in Markdown, and a night's JUnit file."""

import pathlib
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence

from harness import writing
from harness.campaign import results
from harness.report import escaping

JUNIT_NAME = "junit.xml"
"""Name of the JUnit file that pytest writes into each campaign's folder."""


def campaign(
    table: Sequence[results.Row], *, headline: str, seed: int, answers: Sequence[str] = ()
) -> str:
    """Return the summary of one campaign; `answers` are sentences: about rates, and problems."""
    lines = [f"## {escaping.in_markdown(headline)}", "", f"Seed {seed}.", ""]
    lines += [f"- {escaping.in_markdown(text)}" for text in answers]
    lines += [""] if answers else []
    return "\n".join([*lines, *rows(table), ""])


def rows(table: Sequence[results.Row]) -> list[str]:
    """Return the lines of the table; unexpected verdicts are bold."""
    return [
        "| purpose | scenario | subject | runs | found | claims | double allocations | stuck | verdict |",
        "|---|---|---|---:|---:|---:|---:|---:|---|",
        *map(_row, table),
    ]


def merge_junit(campaigns: Iterable[pathlib.Path], target: pathlib.Path) -> None:
    """Write the test suites of all campaign folders into one file; suites are named by folder."""
    merged = ET.Element("testsuites", name="flake-hunt nightly")
    for folder in campaigns:
        junit = ET.parse(folder / JUNIT_NAME)  # noqa: S314 - our own file
        for suite in junit.getroot().iter("testsuite"):
            suite.set("name", f"{suite.get('name')} {folder.name}")
            merged.append(suite)
    ET.indent(merged)
    writing.replace(target, ET.tostring(merged, encoding="utf-8", xml_declaration=True))


def _row(row: results.Row) -> str:
    found = row.caught if row.purpose.must_fail else ""
    figures = f"{len(row.runs)} | {found} | {row.claims} | {row.double_allocations} | {row.stuck}"
    purpose = " ".join(filter(None, (row.purpose.value, row.hypothesis)))
    names = " | ".join(map(escaping.in_markdown, (purpose, row.scenario, row.subject)))
    return f"| {names} | {figures} | {_verdict(row)} |"


def _verdict(row: results.Row) -> str:
    what = "ERROR" if row.errors and not row.caught else str(row.verdict)
    return what if row.is_as_expected else f"**{what}**"
