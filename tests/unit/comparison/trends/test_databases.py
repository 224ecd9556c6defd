"""The database of nights: what is kept, the same night twice, and files that are none."""

import pathlib
import sqlite3

import msgspec
import pytest

from harness import errors
from harness.comparison.trends import databases
from tests.histories import nights


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    found = tmp_path / "trends.sqlite"
    with databases.opened(found, is_new_allowed=True) as database:
        for number in (1, 0):
            assert database.add(nights.night(number)).is_new
    return found


def test_nights_come_back_whole_and_the_oldest_first(path: pathlib.Path) -> None:
    with databases.opened(path) as database:
        assert database.nights() == [nights.night(0), nights.night(1)]


def test_the_same_night_again_changes_nothing_and_another_replaces_it(path: pathlib.Path) -> None:
    before = path.read_bytes()
    with databases.opened(path, is_new_allowed=True) as database:
        again = database.add(nights.night(0))
        assert (again.is_new, again.is_replaced) == (False, False)
    assert path.read_bytes() == before
    healed = msgspec.structs.replace(nights.night(0), digest="sha256:other", runs=[])
    with databases.opened(path) as database:
        assert database.add(healed).is_replaced
        assert database.nights() == [healed, nights.night(1)]


def test_a_night_is_added_whole_or_not_at_all(path: pathlib.Path) -> None:
    bad = msgspec.structs.replace(nights.night(5).runs[0], seconds="long")  # type: ignore[arg-type]
    with databases.opened(path) as database:
        with pytest.raises(errors.HarnessError):
            database.add(msgspec.structs.replace(nights.night(5), runs=[bad]))
        assert len(database.nights()) == 2


def test_other_programs_read_its_rates(path: pathlib.Path) -> None:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT subject, runs, invalid FROM rates").fetchall()
    connection.close()
    assert sorted(rows) == [("correct", 10, 0)] * 2 + [("gather-not-atomic", 10, 10)] * 2


def damaged(path: pathlib.Path, kind: str) -> None:
    content = path.read_bytes()
    if kind == "text":
        path.write_text("nights\n" * 100)
    elif kind == "torn":
        path.write_bytes(content[: len(content) // 2])
    elif kind == "short":
        path.write_bytes(content[:40])
    elif kind == "overwritten":
        path.write_bytes(content[:4096] + b"\xff" * 4096 + content[8192:])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "missing":
        path.unlink()
    elif kind == "folder":
        path.unlink()
        path.mkdir()
    else:
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA {kind}")
        connection.commit()
        connection.close()


@pytest.mark.parametrize(
    "kind",
    [
        "text",
        "torn",
        "short",
        "overwritten",
        "empty",
        "missing",
        "folder",
        "application_id = 7",
        "user_version = 2",
    ],
)
def test_what_is_no_database_is_refused_in_one_sentence(path: pathlib.Path, kind: str) -> None:
    damaged(path, kind)
    with (
        pytest.raises(errors.UsageError, match=r"^expected .*: ") as raised,
        databases.opened(path) as database,
    ):
        database.nights()
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("kind", ["text", "torn", "user_version = 2"])
def test_nothing_is_added_to_what_is_no_database(path: pathlib.Path, kind: str) -> None:
    damaged(path, kind)
    before = path.read_bytes()
    with pytest.raises(errors.UsageError), databases.opened(path, is_new_allowed=True) as database:
        database.add(nights.night(9))
    assert path.read_bytes() == before


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: pathlib.Path) -> None:
    with (
        pytest.raises(errors.UnwritableError, match="unable to open"),
        databases.opened(tmp_path / "none" / "x", is_new_allowed=True),
    ):
        pass
