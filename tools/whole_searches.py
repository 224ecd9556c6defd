"""Search worlds whole, and print how many schedules that takes.

    .venv/bin/python tools/whole_searches.py all
    .venv/bin/python tools/whole_searches.py two-claims-one-device answers-first:claims=2,devices=1

docs/findings/measured.md tells of it. After the name of a world come changed sizes.
Where the correct subject is known to fail, its remedy is used. A search ends after 20 CPU seconds;
all cores search.
"""

import argparse
import concurrent.futures
import dataclasses
import time

from harness.explore.search import search_campaign
from harness.explore.worlds import world_catalogue

LIMIT_S = 20.0
SMALLER = (
    "three-pods-one-claim:pods=2",
    "answers-first:claims=2,devices=1,faults_max=1",
    "one-claim-per-entry:entries=1",
    "prepare-against-unprepare:pods=2",
)
"""Worlds that are also searched with smaller sizes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Search:
    """One row of the table."""

    hunt: search_campaign.Hunt
    progress: search_campaign.SearchProgress
    used_s: float
    """CPU seconds."""

    def row(self) -> str:
        """Return the row in Markdown."""
        sizes = ", ".join(f"`{name}={value}`" for name, value in self.hunt.sizes)
        remedy = "".join(f"with `{name}`" for name in self.hunt.remedies)
        made = f"{self.progress.schedules:,}"
        end = "whole" if self.progress.is_complete else "more"
        if self.progress.findings:
            end = "**a finding**"
        changes = ", ".join(filter(None, (sizes, remedy)))
        return f"| `{self.hunt.scenario}` | {changes} | {made} | {self.used_s:.1f} s | {end} |\n"


def searched(name: str) -> Search:
    """Search a world, whole if there is time. Raises ScenarioError if there is no such world."""
    scenario, _, changed = name.partition(":")
    pairs = [size.partition("=") for size in changed.split(",") if size]
    sizes = [(key, int(value)) for key, _, value in pairs]
    hazard = world_catalogue.sized(scenario, dict(sizes)).hazard
    hunt = search_campaign.Hunt(
        scenario=scenario,
        sizes=tuple(sizes),
        defects=(),
        remedies=(hazard.remedy,) if hazard and hazard.remedy else (),
        strategy=search_campaign.EXHAUSTIVE,
        seed=0,
        schedules=None,
        time_s=None,
    )
    started, progress = time.process_time(), search_campaign.SearchProgress()
    for latest in search_campaign.explore(hunt):
        progress = latest
        if time.process_time() - started > LIMIT_S:
            break
    return Search(hunt, progress, time.process_time() - started)


def main() -> None:
    """Search, and print a row of a table in Markdown for each world."""
    wanted = _options().world
    names = [*world_catalogue.WORLDS, *SMALLER] if wanted == ["all"] else wanted
    with concurrent.futures.ProcessPoolExecutor() as pool:
        for search in pool.map(searched, names):
            print(search.row(), end="", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("world", nargs="+", metavar="WORLD[:SIZE=NUMBER,…]", help="or `all`")
    return parser.parse_args()


if __name__ == "__main__":
    main()
