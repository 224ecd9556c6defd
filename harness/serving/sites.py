"""The folder and rows that all handlers share, and the answers with pages."""

import asyncio
import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import jinja2
from aiohttp import web

from harness.report import page_templates, reports_index
from harness.serving import listings, served_folders
from harness.serving.live import snapshots


@dataclasses.dataclass(frozen=True, slots=True)
class Site:
    """One server."""

    folder: served_folders.ServedFolder
    listing: listings.Listing
    stopping: asyncio.Event
    """Is set when the server ends: streams of events end, too."""

    async def listed(self) -> listings.Listed:
        return await asyncio.to_thread(self.listing.listed)


SITE = web.AppKey("site", Site)


def of(request: web.Request) -> Site:
    return request.app[SITE]


@functools.cache
def _templates() -> jinja2.Environment:
    reports = page_templates.templates()
    loaders = [jinja2.PackageLoader("harness.serving"), reports.loader]
    own = reports.overlay(loader=jinja2.ChoiceLoader([item for item in loaders if item]))
    own.globals.update(
        address=served_folders.address,
        query=served_folders.query,
        headings=reports_index.HEADINGS,
        milliseconds=snapshots.milliseconds,
        elapsed=snapshots.elapsed,
        verdict_counts=snapshots.verdict_counts,
    )
    return own


def render(template: str, **values: Any) -> str:
    return _templates().get_template(template).render(**values)


def page(template: str, *, status: int = 200, **values: Any) -> web.Response:
    return web.Response(
        text=render(template, **values), content_type="text/html", charset="utf-8", status=status
    )


def problem(text: str, *, status: int) -> web.Response:
    """Return the answer to a request that cannot be met, in one sentence."""
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
    return web.Response(text=render(template), content_type=kind, charset="utf-8")
