"""Small runs that were judged and have their report, and packs of them."""

import pathlib
import zipfile
from collections.abc import Callable

from harness.checks import judging
from harness.history import directories
from harness.packing import making, packs
from harness.report import publishing
from tests.histories import archives

LIMIT = 25 * packs.MEGABYTE


def run(
    reports: pathlib.Path, name: str = "one", verdict: str = "INVALID", *, scenario: str = "s"
) -> directories.RunDirectory:
    made = archives.run(reports, name, verdict, scenario=scenario)
    publishing.publish(judging.examine(made))
    return made


def file(folder: pathlib.Path, *runs: directories.RunDirectory) -> pathlib.Path:
    path = folder / "pack.zip"
    path.write_bytes(making.make([made.path for made in runs], limit=LIMIT).content)
    return path


def zipped_again(
    pack: pathlib.Path, change: Callable[[zipfile.ZipFile, zipfile.ZipInfo, bytes], None]
) -> pathlib.Path:
    """The files of a pack in a zip of another program; `change` writes each of them."""
    path = pack.with_name("other.zip")
    with zipfile.ZipFile(pack) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.infolist():
            change(new, zipfile.ZipInfo(entry.filename), old.read(entry))
    return path
