"""One run: its verdict, its files, and what can be done with it."""

import asyncio
import os
import shlex

from aiohttp import web

from harness.history import directories, run_folders
from harness.report import reports_index
from harness.serving import files_of, served_folders, sites


async def answer_run(request: web.Request) -> web.Response:
    """Answer with one run."""
    _, scenario, name = served_folders.names(request)
    folder = sites.of(request).folder
    return await asyncio.to_thread(lambda: _run_page(folder, folder.run(scenario, name)))


def _run_page(folder: served_folders.ServedFolder, run: directories.RunDirectory) -> web.Response:
    found = run_folders.read(run.path)
    files = {file.name: file for file in files_of.run(folder, run)}
    return sites.page(
        "run.html.j2",
        run=found,
        row=reports_index.run_row(found, link=""),
        is_open=found.state is run_folders.State.UNFINISHED,
        files=files,
        trace=files.get("trace.json") or files.get("trace.json.gz"),
        commands=_commands(found),
    )


def _commands(found: run_folders.RunFolder) -> dict[str, str]:
    """Return what a run offers, as command lines for the folder the server began in."""
    folder = os.fsencode(os.path.relpath(found.path)).decode(errors="backslashreplace")
    again = found.plan.again if found.plan else []
    offered = {"repeat it": shlex.join(["flake-hunt", *again])} if again else {}
    return offered | {
        "judge it again": shlex.join(["flake-hunt", "check", folder]),
        "write its report again": shlex.join(["flake-hunt", "report", folder]),
        "pack it into one file": shlex.join(["flake-hunt", "pack", folder]),
    }
