"""The runs that a folder of releases has: which count, and what a killed session leaves."""

import pathlib

import pytest

from harness import errors
from harness.campaign.releases import ledgers
from tests.unit.campaign.releases import tables


def add(folder: pathlib.Path, *names: str, **fields: str) -> None:
    with ledgers.opened(folder) as ledger:
        for name in names:
            result = tables.run(folder, name, tables.verdict(tables.VALID), **fields)
            ledger.add(tables.made(result))


def names(folder: pathlib.Path, **of: str) -> list[str]:
    """The names of the runs of a key that count."""
    with ledgers.opened(folder) as ledger:
        found = ledger.of(tables.key(**of))
    return [pathlib.Path(item.result.directory).name for item in found]


def test_runs_are_kept_for_the_next_session(tmp_path: pathlib.Path) -> None:
    add(tmp_path, "one", "two")
    assert names(tmp_path) == ["one", "two"]


@pytest.mark.parametrize("field", ["scenario", "program", "binary", "text", "harness", "cluster"])
def test_a_run_of_something_else_does_not_count(tmp_path: pathlib.Path, field: str) -> None:
    add(tmp_path, "one")
    assert names(tmp_path, **{field: "other"}) == []


def test_a_run_whose_verdict_is_gone_does_not_count(tmp_path: pathlib.Path) -> None:
    add(tmp_path, "one", "two")
    (tmp_path / "h01-lost-answer" / "one" / "verdict.json").unlink()
    assert names(tmp_path) == ["two"]


def test_a_run_that_could_not_be_executed_is_made_again_and_its_reason_known(
    tmp_path: pathlib.Path,
) -> None:
    add(tmp_path, "one", error="it ended at once")
    assert names(tmp_path) == []
    with ledgers.opened(tmp_path) as ledger:
        assert [item.result.error for item in ledger.errors_of(tables.key())] == [
            "it ended at once"
        ]


def test_a_folder_can_be_moved(tmp_path: pathlib.Path) -> None:
    add(tmp_path / "old", "one")
    (tmp_path / "old").rename(tmp_path / "new")
    assert names(tmp_path / "new") == ["one"]


def test_the_line_that_a_killed_session_did_not_finish_is_left_out(tmp_path: pathlib.Path) -> None:
    add(tmp_path, "one")
    path = tmp_path / ledgers.NAME
    path.write_bytes(path.read_bytes() + b'{"key":{"scen')
    add(tmp_path, "two")
    assert names(tmp_path) == ["one", "two"]


def test_a_damaged_line_is_an_error(tmp_path: pathlib.Path) -> None:
    add(tmp_path, "one")
    path = tmp_path / ledgers.NAME
    path.write_bytes(b"{}\n" + path.read_bytes())
    with pytest.raises(errors.HistoryError, match=r"runs\.jsonl: expected a run on each line"):
        names(tmp_path)


def test_one_process_has_it_at_a_time(tmp_path: pathlib.Path) -> None:
    with ledgers.opened(tmp_path), pytest.raises(errors.UsageError, match="another one works in"):
        names(tmp_path)
    assert names(tmp_path) == []
