"""The index of a folder of reports: everything is in it, also what was never finished."""

import pathlib
import threading

import pytest

from harness import errors
from harness.checks import judging
from harness.history import report_folders
from harness.report import publishing, reports_index
from tests.histories import archives
from tests.support import page_markup


def _page(reports: pathlib.Path) -> page_markup.Page:
    return page_markup.read(reports_index.write(reports).read_text(encoding="utf-8"))


def _links(page: page_markup.Page) -> list[str]:
    return [value for tag, name, value in page.attributes if (tag, name) == ("a", "href")]


def test_every_run_and_campaign_is_listed_newest_first(tmp_path: pathlib.Path) -> None:
    made = [
        archives.run(tmp_path, f"2026010{day}T000000Z-x", verdict, changes={"created_wall_ns": day})
        for day, verdict in enumerate(archives.TEXTS, start=1)
    ]
    publishing.publish(judging.examine(made[2]))
    archives.campaign(
        tmp_path, "20260109T000000Z-7", made, document={"verdict": "INVALID", "summary": "one bad"}
    )
    archives.campaign(tmp_path, "20260108T000000Z-7", made[:1], planned=9)
    page = _page(tmp_path)
    assert _links(page) == [
        "campaigns/20260109T000000Z-7",
        "campaigns/20260108T000000Z-7",
        "written-by-hand/20260103T000000Z-x/report.html",
        "written-by-hand/20260102T000000Z-x",
        "written-by-hand/20260101T000000Z-x",
    ]
    for text in (
        "one bad",
        "1 of 9",
        "it is under way, or was interrupted",
        "2026-01-09T00:00:00Z",
    ):
        assert text in page.texts
    assert page.unbalanced == []
    assert not {"script", "img", "link"} & set(page.tags)


def test_runs_without_a_verdict_are_told_as_such(tmp_path: pathlib.Path) -> None:
    unfinished, unjudged, torn, broken = (
        archives.run(tmp_path, f"run-{number}") for number in range(4)
    )
    unfinished.manifest.unlink()
    for run in (unfinished, unjudged):
        run.verdict.unlink()
    torn.verdict.write_bytes(b'{"schema": 6')
    broken.plan.write_text("{")
    text = _page(tmp_path).texts
    rows = [value for value in text if value in ("not finished", "not judged", "damaged")]
    assert sorted(set(rows)) == ["damaged", "not finished", "not judged"]
    assert "VALID" not in text


def test_what_must_be_invalid_is_green_and_comes_after_the_subject(tmp_path: pathlib.Path) -> None:
    """After a green hunt nothing is red, although controls and hazards are newer and INVALID."""
    hazard = {"settings": {"known_to_fail": "H1", "remedies": ["mended"]}}
    kinds = {
        "subject": ("VALID", {}),
        "control": ("INVALID", {"defects": ["gather-not-atomic"]}),
        "hazard": ("INVALID", hazard),
        "remedy": ("VALID", {**hazard, "remedies": ["mended"]}),
    }
    for day, (name, (verdict, changes)) in enumerate(kinds.items(), start=1):
        archives.run(tmp_path, name, verdict, changes={"created_wall_ns": day, **changes})
    page = _page(tmp_path)
    assert [link.rpartition("/")[2] for link in _links(page)] == list(kinds)
    assert "verdict INVALID" not in _classes(page)
    assert _classes(page).count("yes") == 4
    for text in ("✓ VALID", "✓ INVALID, caught", "✓ INVALID (H1), shown", "positive controls"):
        assert text in page.texts
    assert "expected" in page.texts


def test_a_program_of_others_may_have_a_hazard_or_not(tmp_path: pathlib.Path) -> None:
    asked = {"settings": {"known_to_fail": "H1"}, "subject": "kube-scheduler"}
    for verdict in ("VALID", "INVALID", "UNKNOWN"):
        archives.run(tmp_path, verdict, verdict, changes=asked)
    page = _page(tmp_path)
    assert {"✓ H1, shown", "✓ H1, not shown"} <= set(page.texts)
    assert _classes(page).count("no") == 0


def test_what_is_not_as_expected_is_not_green(tmp_path: pathlib.Path) -> None:
    archives.run(tmp_path, "bad", "INVALID")
    archives.run(tmp_path, "missed", "VALID", changes={"defects": ["gather-not-atomic"]})
    page = _page(tmp_path)
    assert [name for name in _classes(page) if name.startswith("verdict ")] == [
        "verdict INVALID",
        "verdict UNKNOWN",
    ]
    assert {"✗ VALID", "✗ INVALID, not caught"} <= set(page.texts)


def _classes(page: page_markup.Page) -> list[str]:
    return [value for tag, name, value in page.attributes if (tag, name) == ("td", "class")]


def test_damaged_results_of_a_campaign_are_told(tmp_path: pathlib.Path) -> None:
    made = archives.run(tmp_path, "run")
    folder = archives.campaign(tmp_path, "one", [made], document={"verdict": "VALID"})
    (folder / "index.html").touch()
    assert "its results.json is damaged" in _page(tmp_path).texts


def test_what_is_left_out_is_said(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        archives.run(tmp_path, f"run-{number}")
    monkeypatch.setattr(report_folders, "RUNS_MAX", 1)
    page = _page(tmp_path)
    assert "2 older runs are not listed." in page.text
    assert _links(page) == ["written-by-hand/run-2"]


def test_commands_at_once_lose_no_run(tmp_path: pathlib.Path) -> None:
    made = archives.run(tmp_path, "run")

    def work(part: int) -> None:
        for number in range(5):
            copy = tmp_path / "written-by-hand" / f"run-{part}-{number}"
            copy.mkdir()
            for name in ("plan.json", "verdict.json", "manifest.json"):
                (copy / name).write_bytes((made.path / name).read_bytes())
            reports_index.write(tmp_path)

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    page = page_markup.read((tmp_path / "index.html").read_text())
    assert len(_links(page)) == 1 + 4 * 5
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_an_index_that_cannot_be_written_is_one_error(tmp_path: pathlib.Path) -> None:
    (tmp_path / "index.html").symlink_to(tmp_path / "nothing" / "here")
    with pytest.raises(errors.HarnessError, match="cannot write"):
        reports_index.write(tmp_path)
