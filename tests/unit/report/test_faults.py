"""Faults on the page, in the trace, in JUnit's file and on the terminal."""

import json
import pathlib
from typing import Any

from harness.checks import judging
from harness.history import directories, records
from harness.report import publishing
from tests.histories import building, damages, language
from tests.support import page_markup

TEXT = "a+D1 /lose-response:a /delay-events:a>215 a^p .29 b+D1 b^q"
ATTRIBUTION = (
    "the response to the status write of a was lost (lose-response), and the event of the "
    "allocation of a reached the scheduler 214 ms late (delay-events): when b was allocated, "
    "31 versions after a, the scheduler could not know of it"
)
NONE = "no fault explains it"


def _published(
    path: pathlib.Path, text: str = TEXT, *damage: damages.Damage, **options: Any
) -> directories.RunDirectory:
    directory = building.build(path / "run", text, **options)
    for do in damage:
        do(directory)
    publishing.publish(judging.examine(directory))
    return directory


def _page(directory: directories.RunDirectory) -> page_markup.Page:
    return page_markup.read(directory.report.read_text(encoding="utf-8"))


def _heading(page: page_markup.Page, text: str) -> int:
    """Return where a part of the page begins; links to it come before."""
    return len(page.texts) - 1 - page.texts[::-1].index(text)


# ---------------------------------------------------------------------------------- violations


def test_the_strip_draws_each_effect_and_says_it_in_words(tmp_path: pathlib.Path) -> None:
    page = _page(_published(tmp_path))
    assert {"fault lose-response", "fault delay-events", f" {ATTRIBUTION}."} <= set(page.texts)
    assert page.unbalanced == []
    [description] = [
        text
        for text in page.texts
        if text.startswith("Device ") and NONE not in text and ATTRIBUTION in text
    ]
    assert description.endswith(ATTRIBUTION)


# ------------------------------------------------------------------------------ table and plots


def test_the_table_says_what_was_planned_and_what_took_effect(tmp_path: pathlib.Path) -> None:
    planned = [
        building.fault("lose-response"),
        building.fault("delay-events", required=False),
    ]
    stray = records.FaultWindow(
        fault="stray",
        kind="reject",
        begun_ns=language.at(0),
        ended_ns=language.at(2000),
        applied_count=0,
        error="it could not be healed: timed out",
    )
    text = "a+D1 /lose-response:a b+D2 /lose-response:b"
    damage = damages.appended(damages.faults, stray)
    page = _page(_published(tmp_path, text, damage, faults=planned))
    start = _heading(page, "Faults")
    assert page.texts[start + 2 : start + 28] == [
        *("fault", "what it does", "required", "was on, s", "took effect", "first, s", "last, s"),
        *("lose-response", "lose-response, written by hand", "yes", "0.00 to 0.00"),
        *("2 times", "0.00", "0.00"),
        *("delay-events", "delay-events, written by hand", "no", "0.00 to 0.00"),
        *("never", "–", "–"),
        *("stray", "in the record only ", "it could not be healed: timed out", "not planned"),
        "0.00 to 2.00",
    ]


# ------------------------------------------------------------------------------------- the trace


def test_the_trace_has_a_lane_for_each_fault(tmp_path: pathlib.Path) -> None:
    events = json.loads(_published(tmp_path).trace.read_bytes())["traceEvents"]
    mine = [event for event in events if event["pid"] == 3]
    names = [event["args"]["name"] for event in mine if event["ph"] == "M"]
    assert names == ["faults", "lose-response", "delay-events"]
    assert [event["name"] for event in mine if event["ph"] == "X"] == [
        "lose-response is on",
        "delay-events is on",
    ]
    effects = [event for event in mine if event["ph"] == "i"]
    assert [(event["name"], event["ts"], event["args"]["lasted_ms"]) for event in effects] == [
        ("a", 1500.0, 0.0),
        ("a", 1500.0, 214.0),
    ]
