"""SQL over chosen runs: answers, files, refusals, and queries that are stopped."""

import html
import pathlib
import re
import socket
import sys
import time
import urllib.parse

import psutil
import pytest

from harness import clocks
from harness.serving import reading_children, sql_pages
from tests.support import page_markup, served_reports

pytest.importorskip("duckdb", reason="needs DuckDB: the extra `analysis`")
ENDLESS = "select count(*) from range(10000000) a, range(10000000) b where a.range * b.range = 7"


def asked(client: served_reports.Client, statement: str, **fields: str) -> tuple[int, str]:
    answer = client.post("/sql", urllib.parse.urlencode({"statement": statement, **fields}))
    return answer.status, html.unescape(answer.text)


def cells(text: str) -> list[str]:
    return re.findall(r"<td[^>]*>(.*?)</td>", text.partition("<tbody>")[2].partition("</tbody>")[0])


def test_an_answer_is_a_table(client: served_reports.Client) -> None:
    statement = "select count(distinct run), 'é', null, 1.5::decimal from runs"
    code, text = asked(client, statement, expected="no")
    assert (code, cells(text)) == (200, ["1", "é", '<span class="soft">NULL</span>', "1.500"])
    assert "1 row." in text
    assert statement in text


@pytest.mark.parametrize("statement", sql_pages.EXAMPLES.values())
def test_the_examples_of_the_page_can_be_asked(statement: str, client) -> None:
    code, text = asked(client, statement, text="bad")
    assert code == 200
    assert cells(text)


def test_runs_may_be_named(client: served_reports.Client) -> None:
    named = [("run", "pods/20260101T000000Z-good"), ("run", "pods/20260102T000000Z-bad")]
    body = urllib.parse.urlencode([("statement", "select count(*) from runs"), *named])
    assert cells(client.post("/sql", body).text) == ["2"]
    form = client.ask("/sql?run=pods/20260101T000000Z-good").text
    assert form.count('type="checkbox"') == 1
    others = urllib.parse.urlencode([("statement", "select 1"), ("run", "../../etc")])
    assert "expected runs" in client.post("/sql", others).text


def test_a_file_has_all_rows(client: served_reports.Client) -> None:
    answer = client.post(
        "/sql",
        urllib.parse.urlencode(
            {"statement": "select range as n from range(3000)", "csv": "1", "verdict": "VALID"}
        ),
    )
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["Content-Disposition"]
    assert answer.text == "n\n" + "".join(f"{number}\n" for number in range(3000))
    code, text = asked(client, "select range as n from range(3000)", verdict="VALID")
    assert (code, len(cells(text))) == (200, sql_pages.ROWS_MAX)
    assert "The first 1,000 rows" in text


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("drop view holds", "expected a single SELECT, got DROP"),
        ("select * from read_text('/etc/hostname')", "cannot be executed"),
        ("select x from holds", "cannot be executed"),
        ("</textarea><script>alert(1)</script>", "cannot be executed"),
    ],
)
def test_what_is_refused(statement: str, why: str, client: served_reports.Client) -> None:
    body = urllib.parse.urlencode({"statement": statement, "text": "good"})
    answer = client.post("/sql", body)
    assert answer.status == 422
    assert why in html.unescape(answer.text)
    assert page_markup.read(answer.text).tags.count("script") == 1


def test_runs_with_links_are_not_asked(client: served_reports.Client) -> None:
    code, text = asked(client, "select count(*) from runs", verdict="VALID")
    assert (code, cells(text)) == (200, ["3"])
    assert "Left out: 1 run," in text
    code, text = asked(client, "select 1 from runs", text="link-inside")
    assert (code, "the filters leave none" in text) == (422, True)


def _readers() -> list[psutil.Process]:
    found = psutil.Process().children(recursive=True)
    return [item for item in found if _is_reader(item)]


def _is_reader(process: psutil.Process) -> bool:
    """A child of another test may end meanwhile."""
    try:
        return "reading_child" in " ".join(process.cmdline())
    except psutil.Error:
        return False


def test_a_query_ends_when_its_page_is_closed(client: served_reports.Client) -> None:
    body = urllib.parse.urlencode({"statement": ENDLESS, "verdict": "VALID"})
    head = (
        f"POST /sql HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\nCookie: {client.cookie}\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    )
    with socket.create_connection(("127.0.0.1", client.port)) as connection:
        connection.sendall(head.encode())
        clocks.wait_until(_readers, timeout_s=60, why="a reader")
    clocks.wait_until(lambda: not _readers(), timeout_s=60, why="the end of the reader")


def test_a_query_that_takes_too_long_is_stopped(
    client: served_reports.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_children, "TIME_S", 1)
    begun = time.monotonic()
    code, text = asked(client, ENDLESS, verdict="VALID")
    assert (code, "longer than 1 s and was stopped" in text) == (422, True)
    assert time.monotonic() - begun < 60
    assert _readers() == []


def test_nothing_is_left_behind(tmp_path: pathlib.Path, monkeypatch, client) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    asked(client, "select count(*) from runs", verdict="VALID")
    assert list(tmp_path.iterdir()) == []


def test_without_duckdb_it_is_told_how_to_get_it(
    client: served_reports.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["importlib.util"], "find_spec", lambda name: None)
    text = html.unescape(client.ask("/sql").text)
    assert "pip install 'flake-hunt[analysis]'" in text
    assert "<textarea" not in text
