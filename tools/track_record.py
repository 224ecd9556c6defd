"""Measure how fast each known defect is found, and write the figures down.

worlds      search each world that finds a defect, with several seeds (CPU seconds of one core)
random      search random worlds for each defect, with several seeds (CPU seconds of one core)
campaigns   take the controls of campaigns that have ended (seconds of a run)

The figures are in harness/run/defects/track_record.json; `flake-hunt defects` prints them, and the
site has a table of them (docs/reference/defects.md).
"""

import argparse
import collections
import itertools
import pathlib
import statistics
import time
from collections.abc import Iterable, Sequence

import msgspec

from harness.campaign import campaign_documents
from harness.explore.search import search_campaign
from harness.history import results
from harness.history.purposes import Purpose
from harness.run.defects import defect_records, known_defects

ROOT = pathlib.Path(__file__).parents[1]
RECORD = ROOT / "harness" / "run" / "defects" / defect_records.FILE
LIMIT_S = 60.0
"""A search that lasts longer counts as one that has not found the defect."""
RANDOM_LIMIT_S = 120.0
"""The same for random worlds, in CPU seconds."""
RANDOM_PLACE = "random-worlds"

Figures = dict[str, list[defect_records.Detection]]


def searched(defect: str, world: str, *, searches: int) -> defect_records.Detection:
    """Search a world with several seeds."""
    seconds = [_search(defect, world, seed) for seed in range(1, searches + 1)]
    return _detection(defect_records.WORLD, world, seconds)


def _search(defect: str, world: str, seed: int) -> float | None:
    """Return the CPU seconds until the first finding; None: there was none in time."""
    hunt = search_campaign.Hunt(
        scenario=world, defects=(defect,), strategy="pct", seed=seed, schedules=None, time_s=LIMIT_S
    )
    started, found = time.process_time(), False
    for progress in search_campaign.explore(hunt):
        found = bool(progress.findings)
    return time.process_time() - started if found else None


def searched_at_random(defect: str, *, searches: int) -> defect_records.Detection:
    """Search random worlds with several seeds, and without being told the world."""
    seconds = [_search_at_random(defect, seed) for seed in range(1, searches + 1)]
    return _detection(defect_records.RANDOM, RANDOM_PLACE, seconds)


def _search_at_random(defect: str, seed: int) -> float | None:
    """Return the CPU seconds until the first finding; None: there was none in time."""
    started = time.process_time()
    for progress in search_campaign.explore(
        search_campaign.RandomHunt(seed=seed, defects=(defect,))
    ):
        used_s = time.process_time() - started
        if progress.found is not None:
            finding, token = progress.found
            print(f"  seed {seed}: {finding} ({token.scenario})", flush=True)
            return used_s
        if used_s >= RANDOM_LIMIT_S:
            return None
    return None


def runs(campaign: pathlib.Path) -> list[results.RunResult]:
    """Return the runs of a campaign that has ended."""
    content = (campaign / "results.json").read_bytes()
    document = msgspec.json.decode(content, type=campaign_documents.CampaignDocument)
    return [run for row in document.rows for run in row.runs]


def controls(made: Iterable[results.RunResult]) -> Figures:
    """Return what the runs with one known defect have shown."""
    seconds = collections.defaultdict[tuple[str, str], list[float | None]](list)
    for run in made:
        if run.purpose is Purpose.CONTROL and run.subject in known_defects.names():
            seconds[run.subject, run.scenario].append(run.seconds if run.is_found else None)
    figures = collections.defaultdict(list)
    for (defect, scenario), found in sorted(seconds.items()):
        figures[defect].append(_detection(defect_records.SCENARIO, scenario, found))
    return figures


def _detection(kind: str, place: str, seconds: Sequence[float | None]) -> defect_records.Detection:
    found = [item for item in seconds if item is not None]
    return msgspec.convert(
        {
            "kind": kind,
            "place": place,
            "attempts": len(seconds),
            "found": len(found),
            "median_s": round(statistics.median(found), 3) if found else None,
            "worst_s": round(max(found), 3) if found else None,
        },
        defect_records.Detection,
    )


def save(new: Figures) -> None:
    """Put new figures in the place of older ones of the same defect and place.

    Figures of places that do not show the defect any more are dropped.
    """
    detections = collections.defaultdict(list, defect_records.recorded().detections)
    for defect, items in new.items():
        places = {(item.kind, item.place) for item in items}
        kept = [item for item in detections[defect] if (item.kind, item.place) not in places]
        detections[defect] = sorted([*kept, *items], key=lambda item: (item.kind, item.place))
    showing = {
        row.name: {*row.scenarios, *row.worlds, RANDOM_PLACE} for row in defect_records.listed()
    }
    left = {
        defect: [item for item in items if item.place in showing.get(defect, ())]
        for defect, items in sorted(detections.items())
    }
    record = defect_records.TrackRecord(detections=left)
    text = msgspec.json.format(msgspec.json.encode(record), indent=1).decode()
    RECORD.write_text(text + "\n", encoding="utf-8")
    defect_records.recorded.cache_clear()


def main() -> None:
    """Measure, and write the record."""
    options = _options()
    match options.what:
        case "worlds":
            save(_worlds(options.defect, searches=options.searches))
        case "random":
            save(_at_random(options.defect, searches=options.searches))
        case _:
            save(controls(itertools.chain.from_iterable(map(runs, options.folder))))


def _worlds(defects: Sequence[str], *, searches: int) -> Figures:
    figures = collections.defaultdict(list)
    for defect in defects or sorted(known_defects.names()):
        for world in known_defects.named(defect).facts.worlds:
            found = searched(defect, world, searches=searches)
            figures[defect].append(found)
            print(f"{defect} in {world}: {found.found} of {searches}", flush=True)
    return figures


def _at_random(defects: Sequence[str], *, searches: int) -> Figures:
    figures = {}
    for defect in defects or sorted(known_defects.names()):
        found = searched_at_random(defect, searches=searches)
        figures[defect] = [found]
        print(f"{defect} in random worlds: {found.found} of {searches}", flush=True)
    return figures


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    worlds = commands.add_parser("worlds")
    worlds.add_argument("defect", nargs="*", metavar="DEFECT", help="known defects (default: all)")
    worlds.add_argument("--searches", type=int, default=20, help="searches of each world")
    at_random = commands.add_parser("random")
    at_random.add_argument("defect", nargs="*", metavar="DEFECT", help="defects (default: all)")
    at_random.add_argument("--searches", type=int, default=3, help="searches for each defect")
    campaigns = commands.add_parser("campaigns")
    campaigns.add_argument("folder", nargs="+", type=pathlib.Path, help="folder of a campaign")
    options = parser.parse_args()
    unknown = {*vars(options).get("defect", ())} - {*known_defects.names()}
    if unknown:
        parser.error(f"expected known defects, got {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    main()
