"""The books of all schedulers of a run, from its steps files."""

import pathlib

from harness.checks.schedulers import written_books
from harness.history import histories
from tests.histories import building

TOTALS = building.step(0, "MainThread", "scheduler.books", 7, devices=0, claims=0, in_flight=["u"])


def test_each_process_that_must_leave_books_has_them_or_none(tmp_path: pathlib.Path) -> None:
    names = [building.SCHEDULER, "scheduler-2", "claim-controller"]
    directory = building.build(
        tmp_path / "run", "a+D1", steps=[TOTALS], changes={"expected_steps": names}
    )
    history = histories.load(directory.path)
    found = written_books.read_all(history, but="claim-controller")
    books = written_books.Books(devices=set(), claims={}, in_flight=["u"], ts_ns=7)
    assert found == {building.SCHEDULER: books, "scheduler-2": None}
