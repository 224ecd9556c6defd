"""Write into docs/findings/releases.md what `flake-hunt releases` found.

    .venv/bin/python tools/releases_table.py reports/releases/releases.json …

Several documents, such as those of an embedded and a local cluster, give a part each. Only what
they say is written: versions, counts, dates, and what was not decided or not asked.
"""

import argparse
import pathlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from harness.campaign.releases import documents, pages, questions
from harness.scenario import hazards

FILE = pathlib.Path(__file__).parents[1] / "docs" / "findings" / "releases.md"
MARK, END = "<!-- written by tools/releases_table.py -->\n", "<!-- end -->\n"
"""Around the part that this program writes."""
_WRITTEN = re.compile(f"(?<={MARK}).*?(?={END})", re.DOTALL)
_WIDTH = 300
"""Characters of a reason."""


def text(found: Sequence[documents.ReleasesDocument]) -> str:
    """Return what is written of these documents."""
    return "\n" + "".join(map(_part, found)) + _left_out()


def _part(document: documents.ReleasesDocument) -> str:
    tables = "".join(_table(table) for table in pages.tables(document))
    return f"{_heading(document)}{tables}{_open(document)}"


def _heading(document: documents.ReleasesDocument) -> str:
    runs = [run for cell in document.cells for run in cell.runs]
    days = sorted({run.made[:10] for run in runs}) or [document.ended[:10]]
    commits = sorted({run.commit.removesuffix("-dirty") for run in runs})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return (
        f"## {_how(document)} on the cluster `{document.cluster}`\n\n"
        f"Measured on {when} with commit {', '.join(commits)}; {document.repeat} runs of each cell were planned. "
        f"{document.summary}.\n\n"
    )


def _how(document: documents.ReleasesDocument) -> str:
    words = {"Scripts" if item.is_script else "Loads" for item in document.findings}
    return " and ".join(sorted(words, reverse=True)).capitalize()


def _table(table: pages.Table) -> str:
    head = ["finding", "by", *(f"{table.program} {item.version}" for item in table.releases)]
    rows = [
        [
            _finding(item.finding, item.scenario),
            "script" if item.is_script else "load",
            *map(_cell, cells),
        ]
        for item, cells in table.rows
    ]
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


def _finding(finding: str, scenario: str) -> str:
    page = hazards.find(finding)
    if page is None:
        return f"`{scenario}`"
    return f"[{finding}]({page.path.name}) `{scenario}`"


def _cell(cell: documents.Cell) -> str:
    others = f"; also {', '.join(f'`{name}`' for name in cell.others)}" if cell.others else ""
    if cell.state in ("shown", "not shown"):
        word = f"**{cell.state}**" if cell.state == "shown" else cell.state
        return f"{word} {cell.shown} of {cell.decided}{others}"
    return "no run" if cell.state == "undecided" and not cell.runs else f"{cell.state}{others}"


def _open(document: documents.ReleasesDocument) -> str:
    """Return why cells have no answer: impossible ones by their reason, others by release too."""
    found: dict[tuple[str, ...], list[documents.Cell]] = defaultdict(list)
    for cell in document.cells:
        reason = _reason(cell.reason)
        if cell.state == "not possible":
            found[cell.state, reason.partition(", got ")[0]].append(cell)
        elif cell.state == "undecided":
            found[cell.state, reason, cell.program, cell.version].append(cell)
    lines = [_line(state, reason, cells) for (state, reason, *_), cells in found.items()]
    return f"Not asked, or not decided:\n\n{''.join(lines)}\n" if lines else ""


def _line(state: str, reason: str, cells: Sequence[documents.Cell]) -> str:
    releases = dict.fromkeys(f"{cell.program} {cell.version}" for cell in cells)
    names = dict.fromkeys(f"`{cell.scenario}`" for cell in cells)
    return f"- {', '.join(releases)}: {', '.join(names)}: {state}: {reason}\n"


def _reason(reason: str) -> str:
    plain = re.sub(r"(?<=\s)/\S*/", "", " ".join(reason.split()))  # the folders of this machine
    return plain if len(plain) <= _WIDTH else f"{plain[:_WIDTH]}…"


def _left_out() -> str:
    """Return the findings about which no release can be asked."""
    lines = [f"- {item.finding}, {item.title}: {item.reason}\n" for item in questions.left_out()]
    return f"## No release was asked about\n\n{''.join(lines)}\n"


def _read(paths: Sequence[pathlib.Path]) -> Iterator[documents.ReleasesDocument]:
    for path in paths:
        yield msgspec.json.decode(path.read_bytes(), type=documents.ReleasesDocument)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("document", nargs="+", type=pathlib.Path, help="a releases.json")
    written = text(list(_read(parser.parse_args().document)))
    FILE.write_text(_WRITTEN.sub(lambda _: written, FILE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
