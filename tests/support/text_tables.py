"""Cases as text. Lines that begin with `#` are comments, but for headings `## name`.

In a table a line is a case: ` | ` parts its columns, the first one is its title; a heading begins a
part of the table. In a file of scripts a heading begins a case, and each line is a step of it.
"""

import pathlib
import re
from typing import Any

import pytest

_BAR = re.compile(r" \|(?= |$)")


def rows(test_module: str, name: str) -> list[tuple[str, list[str]]]:
    """The part, and the columns, of each case of the table beside a test module."""
    part = ""
    found = []
    for line in _text(test_module, name).splitlines():
        if line.startswith("## "):
            part = line.removeprefix("## ")
        elif line and not line.startswith("#"):
            found.append((part, [column.strip() for column in _BAR.split(line)]))
    titles = [(part, columns[0]) for part, columns in found]
    assert len(set(titles)) == len(titles), f"{name} has a title twice"
    return found


def cases(test_module: str, name: str, part: str = "") -> list[Any]:
    """The cases of a part as parameters of a test: all columns but the title, which is the ID.

    Columns that a line leaves out at its end are empty.
    """
    found = [columns for its_part, columns in rows(test_module, name) if its_part == part]
    width = max(map(len, found))
    return [
        pytest.param(*columns, *[""] * (width - 1 - len(columns)), id=title)
        for title, *columns in found
    ]


def scripts(test_module: str, name: str, *, prefix: str = "") -> list[Any]:
    """The scripts of the file beside a test module, a list of steps each, as parameters."""
    _, *parts = re.split(r"^## ", _text(test_module, name), flags=re.MULTILINE)
    found = [part.splitlines() for part in parts]
    return [
        pytest.param([line for line in lines if line and line[0] != "#"], id=prefix + title)
        for title, *lines in found
    ]


def _text(test_module: str, name: str) -> str:
    return pathlib.Path(test_module).with_name(name).read_text()
