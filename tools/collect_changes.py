"""Put the sentences of changes/*.md into CHANGELOG.md, under Unreleased, and remove the files.

.venv/bin/python tools/collect_changes.py
"""

import argparse
import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).parents[1]
WIDTH = 120
"""Columns of the changelog."""


def collected(changelog: str, changes: list[str]) -> str:
    """Return the changelog with changes at the end of the list of its first section."""
    items = "".join(f"{_item(change)}\n" for change in changes)
    head, list_, rest = re.split(
        r"(?s)(?<=\n)(## Unreleased.*?\n)(?=\n## |\Z)", changelog, maxsplit=1
    )
    return head + list_ + items + rest


def _item(change: str) -> str:
    flat = " ".join(change.split())
    return textwrap.fill(
        flat,
        WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def main() -> None:
    """Collect the changes of the checkout."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    files = [path for path in sorted((ROOT / "changes").glob("*.md")) if path.name != "README.md"]
    changelog = ROOT / "CHANGELOG.md"
    text = collected(changelog.read_text("utf-8"), [path.read_text("utf-8") for path in files])
    changelog.write_text(text, "utf-8")
    for path in files:
        path.unlink()
    print(f"{len(files)} changes are in CHANGELOG.md")


if __name__ == "__main__":
    main()
