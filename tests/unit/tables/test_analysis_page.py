"""The page about pandas has the output of its code on a recorded run.

With FLAKE_HUNT_WRITE=1, the output is written into the page.
"""

import contextlib
import io
import os
import pathlib
import re

import pandas as pd
import pytest

from tests.histories import specimens
from tests.support import archives

PAGE = pathlib.Path(__file__).parents[3] / "docs/how-to/analyse-with-pandas.md"
RECORDED = specimens.RECORDED / "INVALID-pod-churn.tar.xz"
BLOCK = re.compile(r"(?<=```pycon\n).*?(?=```)", re.DOTALL)
WIDTH = 100


def executed(block: str, names: dict[str, object]) -> str:
    """Return the lines of code of a block with what an interpreter prints for each."""
    shown = []
    for line in block.splitlines():
        if line.startswith(">>> "):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(line.removeprefix(">>> "), str(PAGE), "single"), names)
            shown.append(f"{line}\n{printed.getvalue()}")
    return "".join(shown)


def test_the_page_shows_what_its_code_prints(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archives.unpack(RECORDED, tmp_path / "reports" / "latest")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    page = PAGE.read_text()
    with pd.option_context("display.width", WIDTH, "display.max_columns", 20):
        shown = BLOCK.sub(lambda match: executed(match[0], names), page)
    if os.environ.get("FLAKE_HUNT_WRITE"):
        PAGE.write_text(shown)
    assert shown == page
