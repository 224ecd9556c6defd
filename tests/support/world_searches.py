"""Searches of worlds, as most tests want them."""

from harness.explore.search import search_campaign


def hunt(world: str, *defects: str, **changes: object) -> search_campaign.Hunt:
    settings = {"strategy": "pct", "seed": 3, "schedules": 1500, "time_s": None, **changes}
    return search_campaign.Hunt(scenario=world, defects=defects, **settings)  # type: ignore[arg-type]


def explored(world: str, *defects: str, **changes: object) -> search_campaign.SearchProgress:
    *_, progress = search_campaign.explore(hunt(world, *defects, **changes))
    return progress
