"""Files of runs and campaigns: which there are, and their bytes."""

import asyncio
import os
import pathlib
import stat
from collections.abc import Iterator
from typing import NamedTuple

from aiohttp import web

from harness.history import directories
from harness.report import run_facts
from harness.serving import served_folders, sites

_PIECE = 256 * 2**10
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".xml": "text/plain; charset=utf-8",
    ".jsonl": "text/plain; charset=utf-8",
    ".log": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".toml": "text/plain; charset=utf-8",
}
"""Files that a browser shows; others are downloaded. XML as text: it could have a script."""
_DOWNLOADED = ("trace.json", "junit.xml")


class File(NamedTuple):
    """One file."""

    name: str
    address: str
    about: str
    size: str


def run(served: served_folders.ServedFolder, directory: directories.RunDirectory) -> Iterator[File]:
    about = {link.name: link.about for link in run_facts.links(directory)}
    traces = (directory.trace, directory.compressed_trace)
    about |= {path.name: run_facts.link(path.name).about for path in traces}
    about[directory.report.name] = "the report"
    for name, text in about.items():
        yield from _file(served, directory.path, name, text)


def folder(served: served_folders.ServedFolder, path: pathlib.Path) -> Iterator[File]:
    for name in sorted(os.listdir(path))[: run_facts.FILES_MAX]:  # noqa: PTH208 - names are wanted
        yield from _file(served, path, name, "")


def _file(
    served: served_folders.ServedFolder, path: pathlib.Path, name: str, about: str
) -> Iterator[File]:
    try:
        status = os.lstat(path / name)
    except OSError:
        return
    if stat.S_ISREG(status.st_mode):
        parts = (path / name).relative_to(served.path).parts
        address = served_folders.address("files", *parts)
        yield File(name, address, about, size_text(status.st_size))


def size_text(size: int) -> str:
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{size} B" if unit == "B" else f"{amount:.1f} {unit}"


async def answer_file(request: web.Request) -> web.StreamResponse:
    parts = served_folders.names(request)[1:]
    descriptor = await asyncio.to_thread(sites.of(request).folder.open, parts)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        answer = web.StreamResponse(headers=_headers(parts))
        answer.content_length = os.fstat(descriptor).st_size
        left = answer.content_length
        await answer.prepare(request)
        while left and request.method != "HEAD":
            piece = await asyncio.to_thread(file.read, min(left, _PIECE))
            if not piece:  # it became shorter: the connection is cut, so that this is noticed
                request.protocol.force_close()
                break
            left -= len(piece)
            await answer.write(piece)
        return answer


def _headers(parts: list[str]) -> dict[str, str]:
    name = parts[-1]
    kind = _TYPES.get(pathlib.PurePath(name).suffix)
    headers = {"Content-Type": kind or "application/octet-stream"}
    if kind is None or name in _DOWNLOADED:
        plain = "".join(
            char if char.isascii() and char.isalnum() else "-._"["-._".find(char)] for char in name
        )
        headers["Content-Disposition"] = f'attachment; filename="{plain}"'
    return headers
