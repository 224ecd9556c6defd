"""The folder, rows, readers and secrets that all handlers share, and the answers with pages."""

import asyncio
import dataclasses
import functools
import hashlib
from collections.abc import Mapping
from typing import Any

import jinja2
from aiohttp import web

from harness.history import campaign_folders
from harness.live import figure_texts
from harness.report import page_templates, reports_index
from harness.serving import access, choices, listings, reading_children, served_folders
from harness.tables import definitions

LIST_S = 0.4
"""Seconds for which a page waits for runs that are read for the first time."""


@dataclasses.dataclass(frozen=True, slots=True)
class Site:
    """One server."""

    folder: served_folders.ServedFolder
    guard: access.Guard
    listing: listings.Listing
    readers: reading_children.Readers
    stopping: asyncio.Event
    """Is set when the server ends: streams of events end, too."""

    async def listed(self) -> listings.Listed:
        """Return the runs and campaigns of now."""
        return await asyncio.to_thread(self.listing.listed, at_most_s=LIST_S)

    def file_address(self, *names: str) -> str:
        """Return the address of a file or report."""
        return access.FILES.rstrip("/") + served_folders.address(self.guard.file_key, *names)

    def campaign_page(self, name: str) -> str:
        """Return the address of the page that a campaign wrote."""
        return self.file_address(campaign_folders.FOLDER, name, campaign_folders.INDEX)


SITE = web.AppKey("site", Site)


def of(request: web.Request) -> Site:
    """Return the site that a request asks."""
    return request.app[SITE]


@functools.cache
def _templates() -> jinja2.Environment:
    reports = page_templates.templates()
    loaders = [jinja2.PackageLoader("harness.serving"), reports.loader]
    own = reports.overlay(loader=jinja2.ChoiceLoader([item for item in loaders if item]))
    own.globals.update(
        address=served_folders.address,
        query=choices.query,
        headings=reports_index.HEADINGS,
        milliseconds=figure_texts.milliseconds,
        elapsed=figure_texts.elapsed,
        verdict_counts=figure_texts.verdict_counts,
        tables=definitions.TABLES,
        style=f"{access.STATIC}{digest('style.css')}/style.css",
        script=f"{access.STATIC}{digest('pages.js')}/pages.js",
    )
    return own


def render(template: str, **values: Any) -> str:
    """Return a template with values."""
    return _templates().get_template(template).render(**values)


def page(template: str, *, status: int = 200, **values: Any) -> web.Response:
    """Return a template with values as the answer."""
    return web.Response(
        text=render(template, **values), content_type="text/html", charset="utf-8", status=status
    )


def problem(text: str, *, status: int) -> web.Response:
    """Return the answer to a request that cannot be met, in one sentence."""
    return page("problem.html.j2", status=status, text=text)


_STATIC: Mapping[str, str] = {"style.css": "text/css", "pages.js": "text/javascript"}


@functools.cache
def static(name: str) -> str:
    """Return one of the two files that pages name."""
    template = {"style.css": "serving.css.j2", "pages.js": "pages.js"}[name]
    loader = jinja2.ChoiceLoader(
        [jinja2.PackageLoader("harness.serving"), jinja2.PackageLoader("harness.report")]
    )
    environment = page_templates.templates().overlay(loader=loader)
    return environment.get_template(template).render()


def digest(name: str) -> str:
    """Return what changes in the address of a file when it changes."""
    return hashlib.sha256(static(name).encode()).hexdigest()[:16]


async def answer_static(request: web.Request) -> web.Response:
    """Answer with a file that has no secret."""
    name = request.match_info["name"]
    if name not in _STATIC:
        return problem("there is no such file", status=404)
    answer = web.Response(text=static(name), content_type=_STATIC[name], charset="utf-8")
    answer.headers["Cache-Control"] = "private, max-age=31536000, immutable"
    return answer
