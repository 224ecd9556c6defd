"""The report in a real browser: its own script runs, and nothing else is said or loaded."""

import asyncio
import pathlib
import subprocess

import pytest

from harness.checks import judging
from harness.report import publishing
from tests.histories import building
from tests.support import browsers

CHROMIUM = browsers.CHROMIUM
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]


def _opened(page: pathlib.Path, folder: pathlib.Path) -> tuple[str, list[str]]:
    """The document after its scripts have run, and what the console says."""
    assert CHROMIUM is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    options += ["--disable-background-networking", "--enable-logging=stderr", "--dump-dom"]
    done = subprocess.run(
        [CHROMIUM, *options, f"--user-data-dir={folder}", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_the_script_runs_and_the_console_is_silent(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "p:a q:b a+D1 a^p p* .9 b+D1 b^q q*")
    publishing.publish(judging.examine(directory))
    document, console = _opened(directory.report, tmp_path / "browser")
    assert console == []
    assert 'class="player"' not in directory.report.read_text()
    assert document.count('class="player"') == 1


def test_a_race_is_replayed_by_keys_and_buttons(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "p:a q:b a+D1 a^p p>n b+D1 b^q q>n a~ b~")
    publishing.publish(judging.examine(directory))
    asyncio.run(_replay(directory.report.as_uri(), tmp_path / "browser"))


async def _replay(url: str, profile: pathlib.Path) -> None:
    async with browsers.page(profile) as page:
        await page.open(url)
        count = await page.value("document.querySelectorAll('.moments tbody tr').length")
        said = "document.querySelector('.player input').getAttribute('aria-valuetext')"
        await page.value("document.querySelector('.player input').focus()")
        assert "gets the device" in await page.value(said), "it begins where both hold it"
        await page.press("Home")
        places = [(await page.value(said)).split(",")[0]]
        for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight", "Home"):
            await page.press(key)
            places.append((await page.value(said)).split(",")[0])
        numbers = [1, 2, 3, 2, count, count, 1]
        assert places == [f"{number} of {count}" for number in numbers]
        await page.press("Tab")
        await page.press("Enter")
        assert (await page.value(said)).startswith(f"2 of {count}, ")
        sentence = await page.value("document.querySelector('.player .now').textContent")
        listed = await page.value(
            "document.querySelectorAll('.moments tr')[2].cells[1].textContent"
        )
        assert sentence.endswith(f": {listed}")
        both = "[...document.querySelectorAll('.player dd.no')].map((one) => one.textContent)"
        seen = []
        for _ in range(count):
            seen += await page.value(both)
            await page.press("Enter")
        assert "claims A and B" in seen
        assert await page.value("document.querySelectorAll('.plot .cursor').length") == 1
        await page.media("print")
        player = "getComputedStyle(document.querySelector('.player')).display"
        assert await page.value(player) == "none"
        assert page.console == []
