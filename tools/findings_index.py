"""Write the table of docs/findings/README.md from the front matter of the pages beside it.

    .venv/bin/python tools/findings_index.py

A test compares.
"""

import argparse
import pathlib
import re
from collections.abc import Sequence

from harness.scenario import hazards

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "findings" / "README.md"
SECTION = re.compile(
    r"(?<=<!-- written by tools/findings_index.py -->\n).*?(?=<!-- end -->)", re.DOTALL
)
"""The part of the page that this program writes."""
_HEAD = (
    "| finding | effect | real programs that did it | remedy | status |\n|---|---|---|---|---|\n"
)


def page(text: str) -> str:
    """Return the page with a table of today's findings."""
    rows = "".join(map(_row, hazards.pages().values()))
    return SECTION.sub(lambda _: f"\n{_HEAD}{rows}\n", text)


def _row(page: hazards.Page) -> str:
    hazard = page.hazard
    name = "" if "#" in hazard.id else f"{hazard.id}: "
    cells = (
        f"[{name}{hazard.title}]({page.path.name})",
        ", ".join(hazard.kinds),
        _programs(hazard.seen),
        f"`{hazard.remedy}`" if hazard.remedy else "",
        hazard.status,
    )
    return f"| {' | '.join(cells)} |\n"


def _programs(seen: Sequence[str]) -> str:
    """Return each program once, with its releases."""
    releases: dict[str, list[str]] = {}
    for program, release in (name.rsplit(" ", 1) for name in seen):
        releases.setdefault(program, []).append(release)
    return "; ".join(f"{program} {', '.join(found)}" for program, found in releases.items())


def main() -> None:
    """Write the page."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
