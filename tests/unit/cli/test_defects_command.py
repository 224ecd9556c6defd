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


def test_hazards_are_listed_and_one_is_shown_with_its_page(flake_hunt: Any) -> None:
    _, out, _ = flake_hunt("defects")
    assert "H12 " in out
    code, out, _ = flake_hunt("defects", "h3")
    assert code == 0
    assert "  scenarios                                  failover, stale-list\n" in out
    assert "\n  2.  scheduler to API server, under way: UpdateStatus claim-1: dev-1\n" in out
    assert "\n# H3: a scheduler takes over" in out
    assert "written by" not in out
