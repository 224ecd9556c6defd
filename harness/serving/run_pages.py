"""One run, and its tables."""

import asyncio
import contextlib
import os
import shlex
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from harness import errors
from harness.history import directories, run_folders
from harness.live import snapshots
from harness.report import reports_index
from harness.serving import choices, files_of, followers, reading_child, served_folders, sites
from harness.tables import definitions

_START = "_ts_ns"
"""The end of the names of columns that are times of the run's clock."""


def run_of(request: web.Request) -> directories.RunDirectory:
    """Return the run directory that a request names. Raises MissingError."""
    _, scenario, name, *_ = served_folders.names(request)
    return sites.of(request).folder.run(scenario, name)


async def answer_run(request: web.Request) -> web.Response:
    """Answer with one run: its verdict or its figures of now, its files, tables and commands."""
    return await asyncio.to_thread(_run_page, sites.of(request), run_of(request))


def _run_page(site: sites.Site, run: directories.RunDirectory) -> web.Response:
    found = run_folders.read(run.path)
    place = served_folders.address("runs", run.path.parent.name, run.path.name)
    files = {file.name: file for file in files_of.run(site, run)}
    state = None if found.verdict else _state(run)
    return sites.page(
        "run.html.j2",
        run=found,
        row=reports_index.run_row(found, link=place),
        place=place,
        place_name=f"{run.path.parent.name}/{run.path.name}",
        state=state,
        is_live=state is not None and state.state not in snapshots.AT_END,
        files=files,
        trace=files.get("trace.json") or files.get("trace.json.gz"),
        versions=_versions(found),
        commands=_commands(found),
        counted=_counted(found),
    )


def _state(run: directories.RunDirectory) -> snapshots.Run | None:
    try:
        with contextlib.closing(followers.of_run(run)) as follower:
            (state,) = follower.look()
    except (errors.HarnessError, OSError):  # it is damaged, or was removed
        return None
    return state if isinstance(state, snapshots.Run) else None


def _versions(found: run_folders.RunFolder) -> dict[str, str]:
    of_plan = found.plan.versions if found.plan else {}
    return {**run_folders.cluster_versions(found.path), **of_plan}


def _counted(found: run_folders.RunFolder) -> list[tuple[str, str]]:
    """Return figures of the verdict as names and texts; nothing without a verdict."""
    if found.verdict is None:
        return []
    figures = found.verdict.figures
    seconds = f"{figures.seconds:,.1f}" if figures.seconds is not None else ""
    rate = f"{figures.allocations_per_s:,.1f}" if figures.allocations_per_s else ""
    named = {
        "claims": f"{figures.claims:,}",
        "violations": f"{found.verdict.violations:,}",
        "double allocations": f"{figures.double_allocations:,}",
        "stuck": f"{figures.stuck:,}",
        "allocations/s": rate,
        "seconds": seconds,
    }
    return [(name, text) for name, text in named.items() if text]


def _commands(found: run_folders.RunFolder) -> list[tuple[str, str]]:
    """Return what a run offers, as names and command lines for the folder the server began in."""
    folder = os.fsencode(os.path.relpath(found.path)).decode(errors="backslashreplace")
    again = found.plan.again if found.plan else []
    offered = {
        "repeat it": shlex.join(["flake-hunt", *again]) if again else "",
        "judge it again": shlex.join(["flake-hunt", "check", folder]),
        "write its report again": shlex.join(["flake-hunt", "report", folder]),
        "pack it into one file": shlex.join(["flake-hunt", "pack", folder]),
    }
    return [(name, command) for name, command in offered.items() if command]


async def answer_table(request: web.Request) -> web.Response:
    """Answer with one page of a table of a run."""
    site, run = sites.of(request), run_of(request)
    table = _table(served_folders.names(request)[4])
    kept = _kept(table, request.query)
    number = max(choices.page_number(request.query.get("page", "")), 1)
    ask = reading_child.AskTable(
        parent=os.getpid(),
        run=str(run.path),
        table=table.name,
        sort=kept["sort"],
        descending=bool(kept["order"]),
        text=kept["text"].lower(),
        first=(number - 1) * choices.PAGE_ROWS,
        size=choices.PAGE_ROWS,
    )
    rows = await site.readers.rows(ask)
    return sites.page(
        "table.html.j2",
        run_name=f"{run.path.parent.name}/{run.path.name}",
        place=served_folders.address("runs", run.path.parent.name, run.path.name),
        table=table,
        columns=[(column, _is_number(column)) for column in table.columns[1:]],
        rows=_shown(rows, is_raw=bool(kept["times"])),
        page=choices.paged(rows.count, number),
        kept=kept,
        has_times=bool(rows.begun_ns) and any(name.endswith(_START) for name in table.names),
    )


def _table(name: str) -> definitions.Table:
    if name in definitions.TABLES:
        return definitions.TABLES[name]
    raise served_folders.MissingError(
        f"expected one of the tables {', '.join(definitions.TABLES)}, got {name!r:.100}"
    )


def _kept(table: definitions.Table, asked: Mapping[str, str]) -> dict[str, str]:
    """Return what the addresses of the other pages have, too; what is no column sorts nothing."""
    sort = asked.get("sort", "") if asked.get("sort") in table.names[1:] else ""
    return {
        "sort": sort,
        "order": "down" if sort and asked.get("order") == "down" else "",
        "text": asked.get("text", ""),
        "times": "raw" if asked.get("times") == "raw" else "",
    }


def _is_number(column: definitions.Column) -> bool:
    return column.kind in (definitions.Kind.INTEGER, definitions.Kind.SEED)


def _shown(rows: reading_child.Rows, *, is_raw: bool) -> list[list[str]]:
    """Return the cells as texts; times of the run's clock as seconds from its beginning."""
    begun_ns = [
        0 if is_raw or not name.endswith(_START) else rows.begun_ns for name in rows.columns
    ]
    return [[_text(*pair) for pair in zip(row, begun_ns, strict=True)] for row in rows.rows]


def _text(value: Any, begun_ns: int) -> str:
    if value is None:
        return ""
    if begun_ns and isinstance(value, int):
        return f"{(value - begun_ns) / 1e9:.6f}"
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
