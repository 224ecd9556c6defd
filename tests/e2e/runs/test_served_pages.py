"""The pages of `serve` in a real browser: by the keyboard, silently, and safe from reports."""

import asyncio
import os
import pathlib

import pytest

from harness import clocks
from harness.checks import judging
from harness.report import publishing
from tests.histories import archives
from tests.support import browsers, served_reports

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(browsers.CHROMIUM is None, reason="chromium is not installed"),
]
EVIL = '"><img src=x onerror=alert(1)>\n\u202e</script><b>'
FOCUS = """(() => {
  const element = document.activeElement, style = getComputedStyle(element);
  return [element.tagName, element.name || element.textContent.trim(), style.outlineStyle !== 'none'];
})()"""
ATTACK = pathlib.Path(__file__).with_suffix(".html").read_text()
"""A report that asks for all it can, and says in its title what it got."""


def folder(path: pathlib.Path) -> None:
    good = archives.run(path, "20260101T000000Z-good")
    publishing.publish(judging.examine(good))
    archives.run(path, "20260103T000000Z-%2f", scenario=EVIL[:20], changes={"subject": EVIL})
    archives.campaign(
        path, "20260102T000000Z-1", [good], document={"verdict": "VALID", "summary": EVIL}
    )


def test_every_page_is_silent_and_can_be_used_by_the_keyboard(tmp_path: pathlib.Path) -> None:
    folder(tmp_path / "reports")

    async def look(client: served_reports.Client) -> None:
        async with browsers.page(tmp_path / "browser") as tab:
            await tab.enter(f"{client.origin}/")
            await tab.until("document.querySelector('main h1')?.textContent === 'Reports'")
            assert await tab.value("document.querySelectorAll('img').length") == 0
            for name in ("What runs now", "verdict", "subject"):
                await tab.until(f"document.body.textContent.includes('{name}')")
            await tab.press("Tab")
            assert await tab.value(FOCUS) == ["A", "What runs now", True]
            await tab.press("Enter")
            await tab.until("location.pathname === '/running'")
            assert tab.console == []
            assert await tab.value("document.documentElement.scrollWidth <= innerWidth")
            await tab.press("Tab")
            assert await tab.value(FOCUS) == ["A", "Skip to the content", True]
            for name in ("Reports", "Running now"):
                await tab.press("Tab")
                assert await tab.value(FOCUS) == ["A", name, True]
            await tab.open(f"{client.origin}/running")
            await tab.press("Tab")
            await tab.press("Enter")
            await tab.until("document.activeElement.id === 'content'")

    with served_reports.serving(tmp_path / "reports") as client:
        asyncio.run(look(client))


def test_a_report_can_ask_for_nothing(tmp_path: pathlib.Path) -> None:
    reports = tmp_path / "reports"
    folder(reports)
    (reports / "written-by-hand" / "20260101T000000Z-good" / "report.html").write_text(ATTACK)

    async def look(client: served_reports.Client) -> None:
        async with browsers.page(tmp_path / "browser") as tab:
            await tab.enter(f"{client.origin}/")
            address = await tab.until("document.querySelector('td.verdict a')?.href")
            await tab.open(address)
            assert await tab.until("document.title.startsWith('got:') && document.title") == "got:"
            # The same script as a page of the server itself gets some of it.
            await tab.open(f"{client.origin}/running")
            script = ATTACK.partition("<script>")[2].partition("</script>")[0]
            await tab.value(f"void {script.strip()}")
            got = await tab.until("document.title.startsWith('got:') && document.title")
            assert {"fetch", "request", "opaque"} <= set(got.split())

    with served_reports.serving(reports) as client:
        asyncio.run(look(client))


def test_a_run_under_way_is_brought_up_to_date_until_it_ends(tmp_path: pathlib.Path) -> None:
    own = {"pid": os.getpid(), "boot_id": clocks.boot_id(), "created_wall_ns": clocks.wall_ns()}
    run = archives.run(tmp_path / "reports", "run", "INVALID", changes=own)
    content = {path: path.read_bytes() for path in (run.manifest, run.verdict)}
    for path in content:
        path.unlink()

    async def look(client: served_reports.Client) -> None:
        async with browsers.page(tmp_path / "browser") as tab:
            await tab.enter(f"{client.origin}/running")
            state = "document.querySelector('[data-live] strong')?.textContent"
            assert await tab.until(state) == "running"
            for path, written in content.items():
                path.write_bytes(written)
            await tab.until(f"{state} === undefined")
            assert tab.console == []

    with served_reports.serving(tmp_path / "reports") as client:
        asyncio.run(look(client))
