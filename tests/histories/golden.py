"""Adds a run directory to the golden ones, tests/golden.tar.xz.

    .venv/bin/python -m tests.histories.golden CHECK NAME DIRECTORY

NAME begins with the verdict on the run, which is the verdict of the check: `INVALID-twice`. The
directory is sealed, as `building.build(…, sealed=True)` and `flake-hunt run` leave it. Those that
are there stay as they were written: later versions have to judge them alike.
"""

import argparse
import pathlib
import shutil
import tempfile

from tests.histories import specimens
from tests.support import golden_runs

LEFT_OUT = shutil.ignore_patterns("logs", *{*specimens.NO_EVIDENCE} - {"manifest.json"})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("check")
    parser.add_argument("name", help="VALID, INVALID or UNKNOWN, and what is special")
    parser.add_argument("directory", type=pathlib.Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch, "golden")
        shutil.copytree(golden_runs.FOLDER, folder)
        shutil.copytree(given.directory, folder / given.check / given.name, ignore=LEFT_OUT)
        golden_runs.pack(folder)


if __name__ == "__main__":
    main()
