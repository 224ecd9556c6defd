"""The lists of runs and of campaigns, and one campaign."""

import asyncio
from typing import Any

from aiohttp import web

from harness.history import campaign_folders
from harness.serving import choices, files_of, listings, served_folders, sites

FILTERS = ("verdict", "scenario", "subject", "purpose")


async def answer_runs(request: web.Request) -> web.Response:
    """Answer with the runs that the filters of the address leave."""
    site = sites.of(request)
    listed = await site.listed()
    filters = choices.Filters.of(request.query)
    chosen = filters.chosen(listed.runs)
    return sites.page(
        "runs.html.j2",
        **filter_values(listed, filters),
        page=choices.page(chosen, request.query.get("page", "")),
        unread=listed.unread,
    )


def filter_values(listed: listings.Listed, filters: choices.Filters) -> dict[str, Any]:
    """Return what the form of the filters shows."""
    return {
        "filters": filters,
        "choices": {name: choices.values(listed.runs, name) for name in FILTERS},
        "expected_words": choices.EXPECTED,
        "all_count": len(listed.runs),
    }


async def answer_campaigns(request: web.Request) -> web.Response:
    """Answer with all campaigns, newest first."""
    listed = await sites.of(request).listed()
    page = choices.page(listed.campaigns, request.query.get("page", ""))
    return sites.page("campaigns.html.j2", page=page)


async def answer_campaign(request: web.Request) -> web.Response:
    """Answer with one campaign and its runs."""
    site = sites.of(request)
    name = served_folders.names(request)[1]
    path = await asyncio.to_thread(site.folder.campaign, name)
    listed = await site.listed()
    filters = choices.Filters(campaign=name)
    files = await asyncio.to_thread(lambda: list(files_of.folder(site.folder, path)))
    return sites.page(
        "campaign_page.html.j2",
        name=name,
        row=next((item.row for item in listed.campaigns if item.name == name), None),
        report=next((file for file in files if file.name == campaign_folders.INDEX), None),
        files=files,
        page=choices.page(filters.chosen(listed.runs), request.query.get("page", "")),
        filters=filters,
    )
