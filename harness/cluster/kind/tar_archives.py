"""Files from the tar archives that a container engine returns."""

import io
import pathlib
import shutil
import tarfile
from collections.abc import Iterator
from typing import Any


def only_file(packed: bytes) -> bytes | None:
    """Return the content of the first file in a tar archive; None if there is none."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is not None:
                return stream.read()
    return None


def unpack(chunks: Iterator[bytes], to: pathlib.Path) -> list[pathlib.Path]:
    """Write the files of a chunked archive to this folder under their base names.

    Returns their paths.
    """
    to.mkdir(parents=True, exist_ok=True)
    written = []
    stream = io.BufferedReader(_Chunks(chunks))  # not read at once: audit logs can be gigabytes
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            if member.isfile():
                target = to / pathlib.PurePosixPath(member.name).name
                content = archive.extractfile(member)
                if content is not None:
                    with target.open("wb") as output:
                        shutil.copyfileobj(content, output)
                    written.append(target)
    return written


class _Chunks(io.RawIOBase):
    """A stream of byte strings as a file that can be read once."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            try:
                self._rest = next(self._chunks)
            except StopIteration:
                return 0
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count
