"""Zip files whose last characters are the digest of everything before them.

Any zip program reads them. A changed byte is noticed wherever it is, also in the headers of the
zip, which its own checksums do not cover.
"""

import hashlib
import io
import pathlib
import zipfile
from collections.abc import Mapping

from harness import errors
from harness.history import files

_DATE = (1980, 1, 1, 0, 0, 0)
"""The first date of zip files: a pack says nothing of when it was made."""
_MODE = 0o100644 << 16
_UNIX = 3
SIGN = b"flake-hunt-pack"
_EXTRA = b"FH" + len(SIGN).to_bytes(2, "little") + SIGN
"""A field that zip programs pass over, in the header of each file."""
_SEAL = SIGN + b" sha256:"
"""Before the digest, in the comment of the zip."""
_DIGEST = 64
_EDGE = 256
"""Bytes at the beginning and at the end of a pack, one of which has the sign after any one change.
"""
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""How zip files begin, the second one if it has no file."""
_COMPRESSED = (".zst", ".gz")


def content(entries: Mapping[str, bytes]) -> bytes:
    """Return the zip of these files in their order; the same bytes for the same files."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in entries.items():
            archive.writestr(_header(name), data)
        archive.comment = _SEAL + b"0" * _DIGEST
    sealed = file.getvalue()[:-_DIGEST]
    return sealed + hashlib.sha256(sealed).hexdigest().encode()


def _header(name: str) -> zipfile.ZipInfo:
    header = zipfile.ZipInfo(name, _DATE)
    header.external_attr, header.create_system, header.extra = _MODE, _UNIX, _EXTRA
    is_compressed = name.endswith(_COMPRESSED)
    header.compress_type = zipfile.ZIP_STORED if is_compressed else zipfile.ZIP_DEFLATED
    return header


def is_one(path: pathlib.Path) -> bool:
    """Return whether a path is a file that is a zip, or was one before it was changed."""
    if not path.is_file():
        return False
    try:
        begin, end = _edges(path)
    except (errors.HistoryError, OSError):
        return False
    return begin.startswith(_ZIP) or _is_sealed(begin, end)


def require_unchanged(path: pathlib.Path) -> bool:
    """Return whether a file is a pack as it was made; False: another program has packed it.

    Raises HistoryError if it was changed.
    """
    if not _is_sealed(*_edges(path)):
        return False
    whole = hashlib.sha256()
    with files.open_regular(path) as file:
        left = path.stat().st_size - _DIGEST
        while left > 0 and (piece := file.read(min(left, 2**20))):
            whole.update(piece)
            left -= len(piece)
        digest = file.read()
    if digest != whole.hexdigest().encode():
        raise errors.HistoryError("it was changed after it was made, or is not whole")
    return True


def _is_sealed(begin: bytes, end: bytes) -> bool:
    return SIGN in begin or SIGN in end


def _edges(path: pathlib.Path) -> tuple[bytes, bytes]:
    with files.open_regular(path) as file:
        begin = file.read(_EDGE)
        file.seek(max(path.stat().st_size - _EDGE, 0))
        return begin, file.read()
