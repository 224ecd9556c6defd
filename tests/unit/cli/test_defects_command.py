"""`flake-hunt defects`: the table on terminals of all widths, and all about one defect."""

from typing import Any

import pytest
import rich.console

from harness.cli.terminal import displaying


@pytest.mark.parametrize(("width", "is_whole"), [(80, False), (200, True)])
def test_the_table_fits_the_terminal(
    flake_hunt: Any, monkeypatch: pytest.MonkeyPatch, width: int, *, is_whole: bool
) -> None:
    """A narrow one shows fewer columns: a column of three characters cannot be read."""
    made = rich.console.Console
    monkeypatch.setattr(displaying, "console", lambda: made(width=width))
    code, out, _ = flake_hunt("defects")
    head, *rows = out.splitlines()
    assert code == 0
    assert head.split()[:3] == [
        "defect",
        *(["part", "breaks"] if is_whole else ["breaks", "reported"]),
    ]
    assert ("shown by" in head) == is_whole
    (row,) = [row for row in rows if row.startswith("gather-not-atomic ")]
    assert "kubernetes#136269" in row
    assert max(map(len, out.splitlines())) <= width
