"""SQL over chosen runs: a form, its answer as a table, and the answer as a file."""

import asyncio
import contextlib
import importlib.util
import os
from collections.abc import Mapping, Sequence

from aiohttp import web
from multidict import MultiMapping

from harness import errors
from harness.serving import (
    choices,
    list_pages,
    listings,
    reading_child,
    served_folders,
    sites,
)
from harness.tables import database, definitions

ROWS_MAX = 1_000
"""Most rows of an answer on a page; the file has all of them."""
FORM_MAX = 2**20
"""Most bytes of a form."""
RUNS_MAX = 10_000
EXAMPLE = "select run, count(*) as holds from holds group by run order by holds desc"
EXAMPLES = {
    "holds by run": EXAMPLE,
    "double allocations": "select * from exclusivity where double_allocations > 0",
    "slowest API calls": "select verb, resource, count(*) as calls,\n"
    "  max(ended_ts_ns - started_ts_ns) / 1e6 as slowest_ms\n"
    "from operations group by all order by slowest_ms desc",
}


async def answer_form(request: web.Request) -> web.Response:
    """Answer with the form."""
    return await _page(request, request.query, statement=request.query.get("statement", ""))


async def answer_query(request: web.Request) -> web.StreamResponse:
    """Answer a form with the table of what its query finds, or with a file of it."""
    form = await request.post()
    fields = {name: str(value) for name, value in form.items()}
    runs = await _chosen(request, fields, [str(item) for item in form.getall("run", [])])
    paths = await asyncio.to_thread(_plain, sites.of(request), runs)
    ask = reading_child.AskQuery(
        parent=os.getpid(),
        runs=paths,
        statement=fields.get("statement", ""),
        rows_max=ROWS_MAX,
        as_csv="csv" in fields,
    )
    try:
        if ask.as_csv:
            return await _csv(request, ask)
        rows = await sites.of(request).readers.rows(ask)
    except errors.HarnessError as error:
        return await _page(request, form, statement=ask.statement, problem=str(error))
    return await _page(
        request, form, statement=ask.statement, rows=rows, left_out=len(runs) - len(paths)
    )


async def _page(
    request: web.Request,
    fields: "MultiMapping[object]",
    *,
    statement: str,
    problem: str = "",
    rows: reading_child.Rows | None = None,
    left_out: int = 0,
) -> web.Response:
    listed = await sites.of(request).listed()
    filters = choices.Filters.of({name: str(value) for name, value in fields.items()})
    named = [str(item) for item in fields.getall("run", [])]
    return sites.page(
        "sql.html.j2",
        status=422 if problem else 200,
        **list_pages.filter_values(listed, filters),
        named=[run for run in listed.runs if run.place in set(named)],
        chosen_count=len(filters.chosen(listed.runs)),
        statement=statement or EXAMPLE,
        examples=EXAMPLES,
        problem=problem,
        rows=rows,
        left_out=left_out,
        is_number=_numbers(rows),
        views=definitions.TABLES,
        is_installed=importlib.util.find_spec("duckdb") is not None,
        extra=database.EXTRA,
    )


def _numbers(rows: reading_child.Rows | None) -> list[bool]:
    """Return of each column whether it has numbers."""
    if rows is None:
        return []
    return [
        any(isinstance(value, int | float) for value in values if not isinstance(value, bool))
        for values in zip(*rows.rows, strict=True)
    ] or [False] * len(rows.columns)


async def _chosen(
    request: web.Request, fields: Mapping[str, str], named: Sequence[str]
) -> list[listings.Run]:
    """Return the runs that are named, or else those that the filters leave."""
    listed = await sites.of(request).listed()
    if named:
        return [run for run in listed.runs if run.place in set(named)]
    return choices.Filters.of(fields).chosen(listed.runs)[:RUNS_MAX]


def _plain(site: sites.Site, runs: Sequence[listings.Run]) -> list[str]:
    """Return the paths of the runs that have no links, which are not followed."""
    found = []
    for run in runs:
        with contextlib.suppress(served_folders.MissingError):
            found.append(str(site.folder.run(run.scenario, run.name).path))
    return found


async def _csv(request: web.Request, ask: reading_child.AskQuery) -> web.StreamResponse:
    """Answer with the rows as a file; raises UsageError while nothing of it is sent."""
    answer: web.StreamResponse | None = None
    try:
        async for piece in sites.of(request).readers.pieces(ask):
            if answer is None:
                answer = web.StreamResponse(
                    headers={
                        "Content-Type": "text/csv; charset=utf-8",
                        "Content-Disposition": 'attachment; filename="flake-hunt-query.csv"',
                    }
                )
                await answer.prepare(request)
            await answer.write(piece)
    except errors.HarnessError:
        if answer is None:
            raise
        request.protocol.force_close()  # the file is not whole, which the browser tells
    return answer or web.Response(text="", content_type="text/csv")
