"""One run, its tables, and its odd states."""

import html
import pathlib
import re
import urllib.parse

import pytest

from harness.history import directories
from harness.serving import files_of, reading_child, run_pages
from harness.tables import columns, definitions
from tests.histories import archives, building, large
from tests.support import page_markup, served_reports
from tests.unit.serving import conftest

GOOD = "/runs/pods/20260101T000000Z-good"


def rows(text: str) -> list[list[str]]:
    """The cells of the body of the only table."""
    body = text.rpartition("<tbody>")[2]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row, re.S) for row in body.split("<tr>")[1:]]


def test_a_run_has_its_files_tables_and_commands(client: served_reports.Client) -> None:
    page = page_markup.read(client.ask(GOOD).text)
    hrefs = [value for _, name, value in page.attributes if name == "href"]
    for name in ("report.html", "trace.json", "junit.xml", "verdict.json", "plan.json"):
        assert any(href.endswith(f"20260101T000000Z-good/{name}") for href in hrefs), name
    assert not any("pipe.log" in href or "secret" in href for href in hrefs)
    assert {f"{GOOD}/tables/{name}" for name in definitions.TABLES} <= set(hrefs)
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
    for rest in ("", "/tables/runs", "/tables/claims"):
        answer = client.ask(found[1] + rest)
        assert answer.status == 200
        assert "<img" not in answer.text
        assert "\u202e" not in answer.text
        assert page_markup.read(answer.text).tags.count("script") == 1


@pytest.mark.parametrize("name", definitions.TABLES)
def test_every_table_has_its_rows(
    name: str, client: served_reports.Client, reports: pathlib.Path
) -> None:
    place = "pods/20260107T000000Z-unfinished"
    frame = columns.Tables(reports / place)[name]
    wanted = [
        [conftest.shown(value) for value in row]
        for row in frame.drop(columns="run").values.tolist()
    ]
    found = table(directories.RunDirectory(reports / place), table=name)
    assert run_pages._shown(found, is_raw=True) == wanted
    if name == "claims":
        answer = client.ask(f"/runs/{place}/tables/{name}?times=raw")
        assert [[html.unescape(cell) for cell in row] for row in rows(answer.text)] == wanted


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> directories.RunDirectory:
    """A run with 130 claims, each of which holds devices ten times."""
    return large.build(tmp_path_factory.mktemp("many") / "run", 1300)


def table(run: directories.RunDirectory, **ask) -> reading_child.Rows:
    asked = {"parent": 0, "run": str(run.path), "table": "claims", "size": 100, **ask}
    return reading_child._table(reading_child.AskTable(**asked))


def test_tables_are_sorted_and_paged(many: directories.RunDirectory) -> None:
    place = definitions.TABLES["claims"].names[1:].index("name")
    every = [row[place] for row in table(many, size=1000).rows]
    assert len(every) == 130
    for descending in (False, True):
        pages = [
            table(many, sort="name", descending=descending, first=first) for first in (0, 100, 200)
        ]
        assert [page.count for page in pages] == [130, 130, 130]
        assert [len(page.rows) for page in pages] == [100, 30, 0]
        found = [row[place] for page in pages for row in page.rows]
        assert found == sorted(every, reverse=descending)


@pytest.mark.parametrize("descending", [False, True])
def test_what_is_not_known_comes_last(run_with_open_holds, descending: bool) -> None:
    place = definitions.TABLES["holds"].names[1:].index("until_rv")
    rows = table(run_with_open_holds, table="holds", sort="until_rv", descending=descending).rows
    found = [row[place] for row in rows]
    assert [value is None for value in found] == [False, False, True, True]
    assert found[:2] == sorted(found[:2], reverse=descending)


@pytest.fixture
def run_with_open_holds(tmp_path: pathlib.Path) -> directories.RunDirectory:
    """Two holds that end, and two that do not."""
    return building.build(tmp_path / "run", "a+D1 b+D2 c+D3 d+D4 b~ c~")


def test_rows_are_found_by_a_text(many: directories.RunDirectory) -> None:
    every = table(many, size=1000).rows
    wanted = [row for row in every if any("11" in str(cell) for cell in row)]
    found = table(many, text="11", size=5)
    assert (found.count, found.rows) == (len(wanted), wanted[:5])
    assert 5 < found.count < 130


def test_what_is_damaged_is_a_sentence(client: served_reports.Client) -> None:
    answer = client.ask("/runs/pods/20260109T000000Z-torn/tables/claims")
    assert answer.status == 422
    assert "one is damaged" in answer.text
    assert "Traceback" not in answer.text
    for path in (f"{GOOD}/tables/nothing", f"{GOOD}/tables/", f"{GOOD}/tables/{'x' * 500}"):
        assert client.ask(path).status == 404


def test_odd_parameters_change_nothing(client: served_reports.Client) -> None:
    plain = rows(client.ask(f"{GOOD}/tables/claims").text)
    assert plain
    for odd in ("sort=run", "sort='%3B--", "page=-1", "page=1e9", "order=down", "times=x"):
        assert rows(client.ask(f"{GOOD}/tables/claims?{odd}").text) == plain
    last = client.ask(f"{GOOD}/tables/claims?page=99999999")
    assert last.status == 200


def test_a_run_that_disappears_is_missing(
    tmp_path: pathlib.Path,
) -> None:
    made = archives.run(tmp_path, "run")
    with served_reports.serving(tmp_path) as client:
        path = f"/runs/{urllib.parse.quote(made.path.parent.name)}/run"
        assert client.ask(path).status == 200
        made.plan.unlink()
        for rest in ("", "/tables/claims", "/events"):
            assert client.ask(path + rest).status == 404
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
