"""The report in a real browser: its own script runs, and nothing else is said or loaded."""

import pathlib
import re
import shutil
import subprocess

import pytest

from harness.checks import judging
from harness.report import publishing
from tests.histories import building

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
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


def test_plots_get_buttons_and_the_console_is_silent(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", "p:a q:b a+D1 a^p p* .9 b+D1 b^q q*")
    publishing.publish(judging.examine(directory))
    written = directory.report.read_text()
    document, console = _opened(directory.report, tmp_path / "browser")
    assert console == []
    assert "bar-of-buttons" not in written.replace(".bar-of-buttons", "").partition("<script>")[0]
    over_time = len(re.findall(r'data-unit="\w+"', written))
    assert document.count('class="bar-of-buttons"') == over_time >= 6
