"""Writes the golden run directories again, from `golden_cases`.

    .venv/bin/python -m tests.histories.golden

The same bytes wherever and whenever it runs, until the format or a case changes. They are packed
as tests/golden.tar.xz. `flake-hunt check 'build/golden-*/*/*'` prints for each what its folder's
name says.
"""

import argparse
import os
import pathlib
import shutil
import tempfile
from unittest import mock

import msgspec

from harness import clocks
from harness.history import records
from tests.histories import audit_logs, building, recording
from tests.histories.golden_cases import catalogue, words
from tests.histories.golden_cases.case import Case
from tests.support import golden_runs


def write(case: Case, folder: pathlib.Path) -> pathlib.Path:
    path = folder / case.check / case.name
    with (
        mock.patch.object(clocks, "boot_id", return_value="golden"),
        mock.patch.object(clocks, "wall_ns", return_value=0),
        mock.patch.object(clocks, "monotonic_ns", return_value=words.LATE_NS),
        mock.patch.object(os, "getpid", return_value=1),
    ):
        observations = _observations(case)
        directory = building.build(
            path,
            case.text,
            observations=observations,
            changes={**_plan(case), **case.plan},
            phases=case.phases,
            steps=case.steps,
            preparations=case.preparations,
            scenario=f"golden-{case.check}".replace("_", "-"),
            sealed=True,
            audited=_is_audited(case),
        )
    directory.logs.rmdir()
    return path


def _observations(case: Case) -> list[records.Body] | None:
    """The records of the commits; None: the history is a text."""
    if not case.commits:
        return None
    resources = case.plan.get("resources", recording.RESOURCES)
    return recording.record(case.commits, resources)


def _is_audited(case: Case) -> bool:
    """Return whether anything is committed that an audit log is compared about."""
    return bool(audit_logs.events(case.text)) or any(
        commit.resource in audit_logs.GROUPS for commit in case.commits
    )


def _plan(case: Case) -> dict[str, object]:
    """The run owes an answer of its check, and its cluster numbers commits without gaps."""
    return {
        "versions": {"python": "3"},
        "requirements": msgspec.structs.replace(building.NOTHING, examined=[case.check]),
        "dense_revisions": True,
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for case in catalogue.CASES:
            print(write(case, folder).relative_to(folder))
        golden_runs.pack(folder)
    shutil.rmtree(golden_runs.FOLDER)
    golden_runs.unpacked()


if __name__ == "__main__":
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    main()
