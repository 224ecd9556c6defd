"""The table of releases: states of cells, the exit code, and the page."""

import pathlib
from collections.abc import Sequence
from typing import Any

import pytest

from harness.campaign.releases import cells, documents, ledgers, pages
from tests.unit.campaign.releases import tables

SHOWN = tables.verdict(tables.INVALID, "device_exclusivity")
NOT_SHOWN = tables.verdict(tables.VALID)
NOT_FOLLOWED = tables.verdict(tables.UNKNOWN, script="step 2 did not happen")


def document(
    folder: pathlib.Path, asked: Sequence[cells.Cell], runs: dict[str, list[dict[str, Any]]]
) -> documents.ReleasesDocument:
    """The document of these cells, whose runs by version have these verdicts."""
    with ledgers.opened(folder) as ledger:
        for version, found in runs.items():
            for number, verdict in enumerate(found):
                result = tables.run(folder, f"{version}-{number}", verdict)
                ledger.add(tables.made(result, program=f"kube-scheduler {version}"))
        return documents.document(
            asked, ledger, folder=folder, cluster="embedded", repeat=3, is_whole=False
        )


@pytest.mark.parametrize(
    ("runs", "state", "shown", "decided", "code"),
    [
        ([SHOWN, SHOWN, SHOWN], "shown", 3, 3, 0),
        ([NOT_SHOWN, SHOWN, NOT_FOLLOWED], "shown", 1, 2, 0),
        ([NOT_SHOWN, NOT_SHOWN], "not shown", 0, 2, 0),
        ([NOT_SHOWN, NOT_FOLLOWED], "not shown", 0, 1, 0),
        ([NOT_FOLLOWED], "undecided", 0, 0, 20),
        ([], "undecided", 0, 0, 20),
    ],
)
def test_a_cell_is_what_its_runs_decided(
    tmp_path: pathlib.Path,
    runs: list[dict[str, Any]],
    state: str,
    shown: int,
    decided: int,
    code: int,
) -> None:
    found = document(tmp_path, [tables.cell()], {"1.36.3": runs})
    (cell,) = found.cells
    assert (cell.state, cell.shown, cell.decided) == (state, shown, decided)
    assert (found.exit_code, len(cell.runs)) == (code, len(runs))


def test_the_interval_is_that_of_the_runs_that_decided(tmp_path: pathlib.Path) -> None:
    (cell,) = document(tmp_path, [tables.cell()], {"1.36.3": [SHOWN] * 3 + [NOT_FOLLOWED]}).cells
    assert (round(cell.low, 3), cell.high) == (0.292, 1.0)


def test_a_cell_without_runs_says_why(tmp_path: pathlib.Path) -> None:
    found = document(tmp_path, [tables.cell(), tables.cell("1.34.2", impossible="too old")], {})
    assert [cell.reason for cell in found.cells] == ["no run was made", "too old"]
    assert [cell.state for cell in found.cells] == ["undecided", "not possible"]


def test_what_is_not_possible_is_decided(tmp_path: pathlib.Path) -> None:
    found = document(tmp_path, [tables.cell(impossible="too old")], {})
    assert (found.exit_code, found.planned) == (0, 0)


def test_the_page_has_every_cell_with_links_to_its_runs(tmp_path: pathlib.Path) -> None:
    asked = [
        tables.cell("1.34.2"),
        tables.cell("1.36.3"),
        tables.cell("1.9", impossible="<too old>"),
    ]
    found = document(tmp_path, asked, {"1.34.2": [NOT_SHOWN], "1.36.3": [SHOWN, NOT_FOLLOWED]})
    pages.publish(found, tmp_path)
    text = (tmp_path / pages.NAME).read_text()
    for made in ("1.34.2-0", "1.36.3-0", "1.36.3-1"):
        assert f'href="h01-lost-answer/{made}/report.html"' in text
    assert "&lt;too old&gt;" in text
    assert "src=" not in text
    assert (tmp_path / documents.NAME).is_file()
