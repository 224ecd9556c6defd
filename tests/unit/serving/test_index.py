"""The first page is the index of the folder, of what is no link; and names in pages are text."""

import re
import urllib.parse

import pytest

from tests.support import page_markup, served_reports
from tests.unit.serving import conftest


def test_runs_and_campaigns_link_to_their_pages_and_links_are_left_out(
    client: served_reports.Client,
) -> None:
    text = client.ask("/").text
    links = [urllib.parse.unquote(link) for link in re.findall(r'<a href="(/files/[^"]*)"', text)]
    runs = [link for link in links if link.endswith("/report.html")]
    assert len(runs) == 7
    assert not [link for link in runs if "linked" in link]
    good = "/files/pods/20260101T000000Z-good/report.html"
    assert (good in runs, client.ask(good).status) == (True, 200)
    page = page_markup.read(text)
    for shown in ("it is under way, or was interrupted", "1 of 9"):
        assert shown in page.texts
    assert conftest.EVIL.partition("\n")[0] in page.text


@pytest.mark.parametrize(("path", "scripts"), [("/", 0), ("/running", 1), ("/nothing", 1)])
def test_hostile_names_are_text(path: str, scripts: int, client: served_reports.Client) -> None:
    text = client.ask(path).text
    assert "<img" not in text
    assert "<b>&amp" not in text
    assert "\u202e" not in text
    page = page_markup.read(text)
    assert page.unbalanced == []
    assert page.tags.count("script") == scripts
