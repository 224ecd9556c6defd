"""The lists of runs and of campaigns, and one campaign."""

import asyncio
import contextlib
import pathlib
from typing import Any

from aiohttp import web

from harness import errors
from harness.history import campaign_folders
from harness.live import snapshots
from harness.serving import choices, files_of, followers, listings, sites

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
        open_count=sum(run.is_open for run in listed.runs),
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
    """Answer with one campaign: how it ended or goes on, its rows, and its runs."""
    site = sites.of(request)
    name = served_name(request)
    path = await asyncio.to_thread(site.folder.campaign, name)
    listed = await site.listed()
    runs = choices.Filters(campaign=name).chosen(listed.runs)
    state, problem = await asyncio.to_thread(_state, path)
    files = await asyncio.to_thread(lambda: list(files_of.folder(site, path)))
    return sites.page(
        "campaign_page.html.j2",
        name=name,
        row=next((item.row for item in listed.campaigns if item.name == name), None),
        state=state,
        problem=problem,
        is_live=state is not None and state.state not in snapshots.AT_END,
        report=site.campaign_page(name) if (path / campaign_folders.INDEX).is_file() else "",
        files=files,
        page=choices.page(runs, request.query.get("page", "")),
        filters=choices.Filters(campaign=name),
    )


def served_name(request: web.Request) -> str:
    """Return the last name in the path of a request."""
    from harness.serving import served_folders

    return served_folders.names(request)[1]


def _state(path: pathlib.Path) -> tuple[snapshots.Campaign | None, str]:
    """Return the state of a campaign; None, and why, if an older version wrote it."""
    try:
        with contextlib.closing(followers.of_campaign(path)) as follower:
            (state,) = follower.look()
    except (errors.HarnessError, OSError) as error:
        return None, str(error)
    return (state, "") if isinstance(state, snapshots.Campaign) else (None, "")
