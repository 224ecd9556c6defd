"""Lists of runs and campaigns: rows, filters, pages, and hostile names in all of them."""

import re
import urllib.parse

import pytest

from harness.serving import pages
from tests.support import cases, page_markup, served_reports
from tests.unit.serving import conftest


def links(text: str) -> list[str]:
    return re.findall(r'<td class="verdict [^"]*"><a href="([^"]*)/report.html"', text)


def test_all_runs_are_listed_newest_first(client: served_reports.Client) -> None:
    found = [urllib.parse.unquote(link).rpartition("/")[2] for link in links(client.ask("/").text)]
    assert [name[15:].lstrip("-") or name for name in found if "good" in name] == ["Z-good"]
    assert len(found) == 7
    assert "20260110T000000Z-linked" not in found
    assert found.index("20260107T000000Z-unfinished") < found.index("20260103T000000Z-caught")


@pytest.mark.parametrize(("query", "names"), cases.read(__file__, "filters"))
def test_filters(query: str, names: list[str], client: served_reports.Client) -> None:
    text = client.ask(f"/?{query}").text
    found = [urllib.parse.unquote(link) for link in links(text)]
    assert len(found) >= len(names)
    for name in names:
        assert any(link.endswith(name) for link in found), (name, found)
    if query.startswith(("text", "purpose", "verdict", "scenario")):
        assert len(found) == len(names)


def test_the_campaign_of_runs_can_be_chosen(client: served_reports.Client) -> None:
    shown = urllib.parse.quote('"><img src=x onerror=alert(1)>\n\\u202eRTL</script><b>&amp;')
    assert len(links(client.ask(f"/?campaign={shown}").text)) == 1


@pytest.mark.parametrize("path", ["/", "/campaigns", "/running", "/?text=<script>&page=x"])
def test_hostile_names_are_text(path: str, client: served_reports.Client) -> None:
    text = client.ask(path.replace("<", "%3C")).text
    assert "<img" not in text
    assert "<b>&amp" not in text
    assert "\u202e" not in text
    page = page_markup.read(text)
    assert page.unbalanced == []
    assert page.tags.count("script") == 1


def test_campaigns(client: served_reports.Client) -> None:
    page = page_markup.read(client.ask("/campaigns").text)
    assert "it is under way, or was interrupted" in page.texts
    assert "1 of 9" in page.texts
    assert conftest.EVIL.partition("\n")[0] in page.text
    assert "/?campaign=20260104T000000Z-7" in client.ask("/campaigns").text


def test_pages_of_a_list() -> None:
    items = list(range(250))
    for number, first, count in [("1", 1, 100), ("3", 201, 50), ("9", 201, 50), ("-1", 1, 100)]:
        page = pages.page(items, number)
        assert (page.first, len(page.items), page.pages, page.total) == (first, count, 3, 250)
        assert page.items[0] == first - 1
    assert pages.page([], "2") == pages.Page([], 1, 1, 0, 0)
