"""Writes a journal: a file of records with a header and a trailer.

A writer hands every line to the kernel before it goes on, so a killed process loses nothing that
it had written.
"""

import os
import pathlib
from collections.abc import Sequence

import msgspec

from harness import clocks
from harness.history import records, zstd_frames

_encoder = msgspec.json.Encoder()


class Writer:
    """Appends records to one new file.

    Every method raises OSError if the file cannot be written. Each record is written by one
    write(2). Not thread-safe: the caller has to lock.
    A file whose name ends with `.zst` is compressed.
    """

    def __init__(self, path: pathlib.Path, *, process: str, run_id: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._path, self._fd = path, os.open(path, flags, 0o644)
        self._frames = zstd_frames.Compressor() if path.suffix == zstd_frames.SUFFIX else None
        self._count = 0
        self._put(
            records.Header(
                process=process,
                run_id=run_id,
                boot_id=clocks.boot_id(),
                pid=os.getpid(),
                started_wall_ns=clocks.wall_ns(),
            )
        )

    def write(self, record: records.Body) -> None:
        self._put(record)
        self._count += 1

    def write_many(self, batch: Sequence[records.Body]) -> None:
        if batch:
            self._append(_encoder.encode_lines(batch))
        self._count += len(batch)

    def close(self, *, reason: str = "stopped") -> None:
        trailer = records.Trailer(count=self._count, ts_ns=clocks.monotonic_ns(), reason=reason)
        line = _line(trailer)
        # A frame of its own, so that `journal_reader.last_trailer` finds it without the others.
        self._write_all(line if self._frames is None else self._frames.append_frame(line))
        os.close(self._fd)

    def _put(self, record: records.Record) -> None:
        self._append(_line(record))

    def _append(self, lines: bytes) -> None:
        self._write_all(lines if self._frames is None else self._frames.append(lines))

    def _write_all(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            error.filename = str(self._path)  # os.write does not know the name
            raise


def _line(record: records.Record) -> bytes:
    return _encoder.encode(record) + b"\n"
