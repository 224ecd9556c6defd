"""Writes the page that lists all runs and campaigns, when a command ends."""

import contextlib
import pathlib
import sys
from collections.abc import Iterator, Sequence


@contextlib.contextmanager
def refreshed(reports: pathlib.Path) -> Iterator[None]:
    """Write the index when the block ends, also by an error; it never changes the outcome."""
    try:
        yield
    finally:
        _refresh(reports)


@contextlib.contextmanager
def refreshed_where_it_is(runs: Sequence[pathlib.Path]) -> Iterator[None]:
    """Write again the indexes that the folders of reports of these runs have."""
    try:
        yield
    finally:
        from harness.report import reports_index

        for reports in dict.fromkeys(run.resolve().parent.parent for run in runs):
            if (reports / reports_index.NAME).is_file():
                _refresh(reports)


def _refresh(reports: pathlib.Path) -> None:
    from harness import errors
    from harness.report import reports_index

    try:
        if reports.is_dir():
            reports_index.write(reports)
    except (errors.StorageError, errors.UnwritableError) as error:
        print(f"flake-hunt: the index was not written: {error}", file=sys.stderr)
