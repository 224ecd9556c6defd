"""One run, and its odd states."""

import pathlib
import re
import urllib.parse

import pytest

from harness.serving import files_of
from tests.histories import archives
from tests.support import page_markup, served_reports

GOOD = "/runs/pods/20260101T000000Z-good"


def test_a_run_has_its_files_and_commands(client: served_reports.Client) -> None:
    page = page_markup.read(client.ask(GOOD).text)
    hrefs = [value for _, name, value in page.attributes if name == "href"]
    for name in ("report.html", "trace.json", "junit.xml", "verdict.json", "plan.json"):
        assert any(href.endswith(f"20260101T000000Z-good/{name}") for href in hrefs), name
    assert not any("pipe.log" in href or "secret" in href for href in hrefs)
    for command in ("flake-hunt check ", "flake-hunt report ", "flake-hunt pack "):
        assert any(text.startswith(command) for text in page.texts), command
    assert "✓ VALID" in page.texts


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("20260107T000000Z-unfinished", "it is under way, or was interrupted"),
        ("20260108T000000Z-damaged", "plan.json is damaged"),
        ("20260109T000000Z-torn", "VALID"),
    ],
)
def test_runs_in_odd_states_have_pages(name: str, text: str, client: served_reports.Client) -> None:
    answer = client.ask(f"/runs/pods/{name}")
    assert answer.status == 200
    assert text in answer.text


def test_hostile_names_are_text(client: served_reports.Client) -> None:
    found = re.search(r'href="(/runs/%3Cimg[^"]*)"', client.ask("/").text)
    assert found is not None
    answer = client.ask(found[1])
    assert answer.status == 200
    assert "<img" not in answer.text
    assert "\u202e" not in answer.text
    assert page_markup.read(answer.text).tags.count("script") == 1


def test_a_run_that_disappears_is_missing(
    tmp_path: pathlib.Path,
) -> None:
    made = archives.run(tmp_path, "run")
    with served_reports.serving(tmp_path) as client:
        path = f"/runs/{urllib.parse.quote(made.path.parent.name)}/run"
        assert client.ask(path).status == 200
        made.plan.unlink()
        assert client.ask(path).status == 404
        made.path.rename(tmp_path / "gone")
        assert client.ask(path).status == 404


def test_sizes() -> None:
    assert [files_of.size_text(size) for size in (0, 1023, 1024, 1536 * 1024, 5 << 40)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "1.5 MiB",
        "5120.0 GiB",
    ]
