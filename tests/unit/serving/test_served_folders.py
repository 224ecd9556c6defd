"""Files that are served are those of the folder, and nothing else is read."""

import pathlib

import pytest

from harness.serving import served_folders
from tests.support import cases, served_reports

GOOD = "pods/20260101T000000Z-good"


def test_a_file_is_served_as_it_is(client: served_reports.Client, reports: pathlib.Path) -> None:
    answer = client.ask(f"/files/{GOOD}/verdict.json")
    assert answer.body == (reports / GOOD / "verdict.json").read_bytes()
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Content-Length"] == str(len(answer.body))
    head = client.ask(f"/files/{GOOD}/verdict.json", method="HEAD")
    assert (head.status, head.body) == (200, b"")


@pytest.mark.parametrize(
    "path",
    cases.read(__file__, "missing"),
)
def test_anything_else_is_missing(path: str, client: served_reports.Client) -> None:
    answer = client.ask(f"/files/{path}")
    assert answer.status == 404
    assert "root:" not in answer.text


def test_what_browsers_would_run_is_text_or_a_download(client: served_reports.Client) -> None:
    assert client.ask("/files/stray.txt").headers["Content-Disposition"]
    xml = client.ask(f"/files/{GOOD}/junit.xml").headers
    assert xml["Content-Type"] == "text/plain; charset=utf-8"
    trace = client.ask(f"/files/{GOOD}/trace.json").headers
    assert trace["Content-Disposition"] == 'attachment; filename="trace.json"'


@pytest.mark.parametrize("name", ["linked", "link-inside", ".."])
def test_runs_behind_links_are_none(name: str, reports: pathlib.Path) -> None:
    folder, runs = served_folders.ServedFolder(reports), (reports / "pods").iterdir()
    place = next((run.name for run in runs if run.name.endswith(f"Z-{name}")), name)
    with pytest.raises(served_folders.MissingError):
        folder.run("pods", place)
