"""How often, and how fast, each known defect was found: measured figures, kept with the code.

`tools/track_record.py` measures and writes `track_record.json` beside this module.
"""

import functools
import importlib.resources
from typing import Literal

import msgspec

FILE = "track_record.json"
SCENARIO = "scenario"
WORLD = "world"
RANDOM = "random"


class Detection(msgspec.Struct, frozen=True, kw_only=True):
    """The attempts to find one defect in one place."""

    kind: Literal["scenario", "world", "random"]
    """A scenario of runs, a world of `flake-hunt explore`, or its random worlds."""
    place: str
    """Name of the scenario or world; of random worlds, `random-worlds`."""
    attempts: int
    found: int
    """Attempts that found the defect."""
    median_s: float | None
    """Time until it was found: seconds of a run, CPU seconds of a search; None: it never was."""
    worst_s: float | None


class TrackRecord(msgspec.Struct, frozen=True, kw_only=True):
    """All measured figures."""

    schema: int = 1
    detections: dict[str, list[Detection]]
    """Detections by defect; scenarios before worlds, each sorted by name."""


@functools.cache
def recorded() -> TrackRecord:
    content = importlib.resources.files(__package__).joinpath(FILE).read_bytes()
    return msgspec.json.decode(content, type=TrackRecord)


def best(detections: list[Detection]) -> Detection | None:
    """Return the most reliable detection, of equals the fastest; None if there is none.

    Reliable is what can be expected of the next attempt, by the rule of succession: 19 of 20 count
    for more than 1 of 1. Random worlds do not count: they are for what has no place of its own.
    """
    placed = [item for item in detections if item.kind != RANDOM]
    proven = [item for item in placed if item.median_s is not None]
    return min(proven, key=_rank, default=None)


def seconds(defect: str, scenario: str) -> float | None:
    """Return the median time until a scenario found a defect; None: that was not measured."""
    measured = recorded().detections.get(defect, ())
    return next((item.median_s for item in measured if item.place == scenario), None)


def _rank(item: Detection) -> tuple[float, float]:
    return -(item.found + 1) / (item.attempts + 2), item.median_s or 0.0


def shown(seconds: float) -> str:
    """Return seconds in three digits after the point below one second, in one from there on."""
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.1f}"
