"""The report of a run: right, self-contained, escaped, and the same every time."""

import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any

import pytest

from harness.checks import judging
from harness.history import directories
from harness.report import publishing
from tests.histories import building, damages
from tests.support import page_markup
from tests.unit.report import races

VALID = "a+D1 a^p p* a~ b+D2 b^q q* c+D1"
Line = races.Line


def _render(
    path: pathlib.Path,
    text: str,
    *damage: damages.Damage,
    lines: Sequence[Line] = (),
    **options: Any,
) -> directories.RunDirectory:
    directory = building.build(path / "run", text, steps=races.steps(lines), **options)
    for do in damage:
        do(directory)
    publishing.publish(judging.examine(directory))
    return directory


def _page(directory: directories.RunDirectory) -> page_markup.Page:
    return page_markup.read(directory.report.read_text(encoding="utf-8"))


def _suite(directory: directories.RunDirectory) -> ET.Element:
    return ET.fromstring(directory.junit.read_bytes())


def _counts(suite: ET.Element) -> tuple[int, ...]:
    """Return the numbers of tests, failures and errors, without skipped tests."""
    tests, failures, errors, skipped = (
        int(suite.get(name) or 0) for name in ("tests", "failures", "errors", "skipped")
    )
    return tests - skipped, failures, errors


# --------------------------------------------------------------------------------- the verdicts


def test_a_valid_run(tmp_path: pathlib.Path) -> None:
    directory = _render(tmp_path, VALID)
    page = _page(directory)
    assert "✓ VALID" in page.texts
    assert "1 guarantee holds: 3 allocations of 2 devices" in page.text
    assert page.text.count("✓ yes") == 19
    assert "✗ no" not in page.text
    assert "Violations of device_exclusivity" not in page.texts
    assert 'class="replay"' not in directory.report.read_text()
    assert _counts(_suite(directory)) == (2, 0, 0)


def test_a_double_allocation_is_explained(tmp_path: pathlib.Path) -> None:
    lines = races.NOT_ATOMIC
    directory = _render(tmp_path, races.TEXT, lines=lines)
    page = _page(directory)
    assert "✗ INVALID" in page.texts
    assert "1 violation of “no device is held by two claims at once”" in page.text
    assert "The race, moment by moment (" in page.text
    assert "copied the allocated devices before the device of a was inserted" in page.text
    assert "Violations of device_exclusivity" in page.texts
    shown = [name for _, name, _ in lines]
    assert [text for text in page.texts if text in set(shown)][: len(shown)] == shown
    suite = _suite(directory)
    assert _counts(suite) == (2, 1, 0)
    assert "allocated to claim tests/a (uid uid-a)" in (suite.findtext("testcase/failure") or "")


def test_each_double_allocation_of_a_device_is_explained_by_its_own_steps(
    tmp_path: pathlib.Path,
) -> None:
    text = "a+D1 a^p b+D1 b^q a~ b~ c+D1 d+D1"
    later = {"uid-a": "uid-c", "uid-b": "uid-d"}
    second = [
        (
            thread,
            name,
            {**fields, "claim": later[str(fields["claim"])]} if "claim" in fields else fields,
        )
        for thread, name, fields in races.EARLY_RETURN
    ]
    page = _page(_render(tmp_path, text, lines=[*races.NOT_ATOMIC, *second]))
    assert "copied the allocated devices before the device of a was inserted" in page.text
    assert "c left the claims in flight before its device was inserted" in page.text
    assert "were not recorded" not in page.text


IN_VAIN = [*races.GATHER, races.added(races.B), races.removed(races.B)]
ELSEWHERE = [*races.GATHER, races.added(races.B, "another device"), races.removed(races.B)]


@pytest.mark.parametrize(
    "lines",
    [
        [*IN_VAIN, *races.NOT_ATOMIC],
        [*ELSEWHERE, *races.NOT_ATOMIC],
        [*races.NOT_ATOMIC, *ELSEWHERE],
    ],
    ids=["planned in vain before", "planned elsewhere before", "planned elsewhere afterwards"],
)
def test_the_gather_of_the_plan_that_counted_is_shown(
    tmp_path: pathlib.Path, lines: list[Line]
) -> None:
    page = _page(_render(tmp_path, races.TEXT, lines=lines))
    assert "copied the allocated devices before the device of a was inserted" in page.text
    assert page.texts.index("+0.00") > page.texts.index("gather.finished"), "time zero is the plan"


UNKNOWN: dict[str, damages.Damage] = {
    "no observations": damages.missing(damages.observations),
    "garbled observations": damages.garbled(damages.observations, line=4),
    "process died": damages.process_died(),
    "timed out": damages.timed_out(),
}


@pytest.mark.parametrize("damage", UNKNOWN.values(), ids=UNKNOWN)
def test_a_damaged_run_is_unknown(tmp_path: pathlib.Path, damage: damages.Damage) -> None:
    directory = _render(tmp_path, VALID, damage)
    page = _page(directory)
    assert "? UNKNOWN" in page.texts
    assert "inconclusive" in page.text
    assert "✗ no" in page.text
    failed = sum(not item.ok for item in judging.judge(directory).certificate)
    suite = _suite(directory)
    assert len(suite.findall("testcase[@name='certificate']/error")) == failed > 0
    assert suite.get("failures") == "0"
    assert int(suite.get("errors") or 0) > 0
    json.loads(directory.trace.read_bytes())


def test_an_empty_run_renders(tmp_path: pathlib.Path) -> None:
    page = _page(_render(tmp_path, ""))
    assert "? UNKNOWN" in page.texts
    assert "nothing was measured" in page.text


def test_a_violation_in_a_damaged_run_stays_one(tmp_path: pathlib.Path) -> None:
    directory = _render(tmp_path, races.TEXT, damages.missing(damages.steps))
    page = _page(directory)
    assert "✗ INVALID" in page.texts
    assert "scheduler left no record of its steps" in page.text
    assert _counts(_suite(directory)) == (2, 1, 1)


def test_many_doubles_are_cut_and_counted(tmp_path: pathlib.Path) -> None:
    text = " ".join(f"a{i}+D{i} b{i}+D{i}" for i in range(30))
    directory = _render(tmp_path, text)
    page = _page(directory)
    assert "30 violations of “no device is held by two claims at once”" in page.text
    assert "20 of 30 violations are shown in full." in page.text
    assert (
        len([1 for _, name, value in page.attributes if name == "id" and "double-" in value]) == 20
    )


def test_a_run_can_be_repeated_by_copy_and_paste(tmp_path: pathlib.Path) -> None:
    page = _page(_render(tmp_path, VALID, scenario="it's mine"))
    assert "flake-hunt run 'it'\"'\"'s mine' --seed 7" in page.text


# ------------------------------------------------------------------------ the page as a document


def test_a_page_is_balanced_and_loads_nothing_from_anywhere(tmp_path: pathlib.Path) -> None:
    made = [
        _render(tmp_path / "valid", VALID),
        _render(tmp_path / "invalid", races.TEXT, lines=races.BRED),
        _render(tmp_path / "unknown", VALID, damages.missing(damages.observations)),
    ]
    for text in (directory.report.read_text(encoding="utf-8") for directory in made):
        page = page_markup.read(text)
        assert page.unbalanced == []
        assert text.lstrip().startswith("<!doctype html>")
        assert page_markup.has_only_own_script(page)
        assert not {"link", "img", "iframe", "object", "embed", "base"} & set(page.tags)
        loading = ("src", "srcset", "href", "xlink:href", "data", "action", "poster", "background")
        loaded = [item for item in page.attributes if item[1] in loading]
        assert [item for item in loaded if not _is_within(*item, text)] == []
        assert "@import" not in text
        assert set(re.findall(r"url\(([^)]*)\)", text)) <= {"#hatch"}
        for attributes in re.findall(r"<svg ([^>]*)>", text):
            is_named = "aria-hidden" in attributes or 'aria-label="' in attributes
            assert is_named or 'class="stretched"' in attributes, "a picture has a name"


def _is_within(tag: str, name: str, value: str, text: str) -> bool:
    """Return whether an attribute is a link to a place of the page, or to a file of the run."""
    if (tag, name) != ("a", "href"):
        return False
    if value.startswith("#"):
        return f'id="{value[1:]}"' in text
    return not value.startswith(("/", "..")) and ":" not in value


# ------------------------------------------------------------------------------- sameness


def test_another_process_renders_the_same_with_other_hashes_and_another_locale(
    tmp_path: pathlib.Path,
) -> None:
    directory = _render(tmp_path, races.TEXT, lines=races.BRED)
    files = (directory.report, directory.junit, directory.trace)
    before = [file.read_bytes() for file in files]
    code = (
        "import pathlib, sys\n"
        "from harness.history import directories\n"
        "from harness.checks import judging\n"
        "from harness.report import publishing\n"
        "publishing.publish(judging.examine(directories.existing(pathlib.Path(sys.argv[1]))))\n"
    )
    plain = {"PYTHONHASHSEED": "5", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment = {**os.environ, **plain}
    subprocess.run([sys.executable, "-c", code, str(directory.path)], env=environment, check=True)
    assert [file.read_bytes() for file in files] == before


def test_rendering_changes_no_evidence(tmp_path: pathlib.Path) -> None:
    directory = _render(tmp_path, VALID)
    kept = [*directory.path.glob("*.jsonl"), directory.plan, directory.verdict]
    before = [file.read_bytes() for file in kept]
    publishing.write(judging.examine(directory))
    assert [file.read_bytes() for file in kept] == before


# ------------------------------------------------------------------------- junit and trace


def test_junit_says_which_run_it_was(tmp_path: pathlib.Path) -> None:
    suite = _suite(_render(tmp_path, VALID))
    assert {item.get("name"): item.get("value") for item in suite.iter("property")} == {
        "seed": "7",
        "run": "f00dfeed",
        "verdict": "VALID",
        "scenario": "written-by-hand",
        "subject": "correct",
        "cluster": "embedded",
        "started": "1970-01-01T00:00:00Z",
        "version: python": "3.11",
    }
    cases = {case.get("name"): case.find("skipped") is None for case in suite.iter("testcase")}
    assert [name for name, is_run in cases.items() if is_run] == [
        "certificate",
        "device_exclusivity",
    ]
    assert cases["claim_progress"] is False
    assert suite.get("name") == "written-by-hand (correct)"
