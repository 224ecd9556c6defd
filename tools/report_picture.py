"""Take the picture of a report for the README: docs/report.png.

    .venv/bin/flake-hunt run answer-lost
    .venv/bin/python tools/report_picture.py reports/latest

Needs Chromium. The picture begins at the first section about violations: the
strip, and the moment from which on two claims hold the device.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import tempfile

PICTURE = pathlib.Path(__file__).parents[1] / "docs" / "report.png"
WIDTH, HEIGHT = 1040, 1170
"""Pixels."""


def from_violations(page: str) -> str:
    """Return a report that begins with its violations. Raises ValueError if it has none."""
    short, count = re.subn(r'(?s)(<main>).*?(?=<h2 id="\w+">Violations of )', r"\1", page, count=1)
    if not count:
        raise ValueError("expected a report with violations")
    return short


def take(page: pathlib.Path, browser: str) -> None:
    """Write the picture of a page."""
    with tempfile.TemporaryDirectory() as folder:
        short = pathlib.Path(folder) / "report.html"
        short.write_text(from_violations(page.read_text("utf-8")), "utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options += [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={PICTURE}"]
        profile = f"--user-data-dir={folder}/profile"
        subprocess.run([browser, *options, profile, short.as_uri()], check=True, timeout=90)


def main() -> None:
    """Take the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=pathlib.Path, help="run directory with a report")
    run = parser.parse_args().run
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        parser.error("Chromium is not installed")
    take(run / "report.html", browser)


if __name__ == "__main__":
    main()
