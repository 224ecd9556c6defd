"""The golden run directories, one archive for all of them; `FOLDER` has them unpacked.

They are unpacked once for each state of the archive, below build/, by whichever process is first.
"""

import io
import pathlib
import tarfile
import tempfile
import zlib

from tests.support import archives

ROOT = pathlib.Path(__file__).parents[2]
ARCHIVE = ROOT / "tests" / "golden.tar.xz"
BUILD = ROOT / "build"


def unpacked() -> pathlib.Path:
    """Return the folder with a folder for each check, and in it one for each run."""
    folder = BUILD / f"golden-{zlib.crc32(ARCHIVE.read_bytes()):08x}"
    if folder.is_dir():
        return folder
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as scratch:
        made = pathlib.Path(scratch) / "golden"
        archives.unpack(ARCHIVE, made)
        try:
            made.rename(folder)
        except OSError:
            if not folder.is_dir():  # not another process, which was faster
                raise
    return folder


def pack(folder: pathlib.Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, path.relative_to(folder).as_posix(), recursive=False, filter=_plain)
    ARCHIVE.write_bytes(packed.getvalue())


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mtime, member.mode = 0, 0o755 if member.isdir() else 0o644
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


FOLDER = unpacked()
