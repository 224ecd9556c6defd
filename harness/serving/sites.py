"""The folder that all handlers share, and the answers with the index, pages and files."""

import asyncio
import functools
import os
import pathlib
from collections.abc import Mapping
from typing import Any

import jinja2
from aiohttp import web

from harness.report import page_templates, reports_index
from harness.serving import served_folders, snapshots

FILES = "/files/"
FOLDER = web.AppKey("folder", served_folders.ServedFolder)


def of(request: web.Request) -> served_folders.ServedFolder:
    return request.app[FOLDER]


@functools.cache
def _templates() -> jinja2.Environment:
    reports = page_templates.templates()
    loaders = [jinja2.PackageLoader("harness.serving"), reports.loader]
    own = reports.overlay(loader=jinja2.ChoiceLoader([item for item in loaders if item]))
    own.globals.update(
        milliseconds=snapshots.milliseconds,
        elapsed=snapshots.elapsed,
    )
    return own


def _render(template: str, **values: Any) -> str:
    return _templates().get_template(template).render(**values)


def page(template: str, *, status: int = 200, **values: Any) -> web.Response:
    return _html(_render(template, **values), status)


def _html(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text, content_type="text/html", charset="utf-8", status=status)


async def answer_index(request: web.Request) -> web.Response:
    reports = of(request).path
    return _html(await asyncio.to_thread(reports_index.page, reports, served_at=FILES))


def problem(text: str, *, status: int) -> web.Response:
    return page("problem.html.j2", status=status, text=text)


_STATIC: Mapping[str, tuple[str, str]] = {
    "style.css": ("serving.css.j2", "text/css"),
    "pages.js": ("pages.js", "text/javascript"),
}
"""File that pages name -> its template and type."""


async def answer_static(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    if name not in _STATIC:
        return problem("there is no such file", status=404)
    template, kind = _STATIC[name]
    return web.Response(text=_render(template), content_type=kind, charset="utf-8")


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


async def answer_file(request: web.Request) -> web.StreamResponse:
    parts = served_folders.names(request)[1:]
    descriptor = await asyncio.to_thread(of(request).open, parts)
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
