"""Parts of audit logs: rotated, compressed, torn, with foreign lines, without an end."""

import gzip
import pathlib

import pytest

from harness.checks.witness import audit_history
from harness.compression import zstd
from tests.histories import audit_logs, damages

COMPRESS = {".gz": gzip.compress, "zst": zstd.compress}
LINES = [audit_logs.line(event) for event in audit_logs.events("a+D1 b+D2 a-D1 c+D1 b~")]


def read(*paths: pathlib.Path) -> tuple[list[str], audit_history.AuditReader]:
    reader = audit_history.AuditReader(paths)
    found = []
    for event in reader:
        text = bytes(event.responseObject).decode()
        found.append(text.partition('"resourceVersion":"')[2].partition('"')[0])
    return found, reader


def test_rotated_and_compressed_parts_are_read_oldest_first(tmp_path: pathlib.Path) -> None:
    parts = {
        "a.log": LINES[4:],
        "audit-2026-11-22T15-10-00.000.log": LINES[2:4],
        "audit-2026-11-22T15-00-00.000.log.gz": LINES[1:2],
        "audit-2026-11-22T14-50-00.000.log.zst": LINES[:1],
    }
    for name, lines in parts.items():
        data = b"".join(lines)
        (tmp_path / name).write_bytes(COMPRESS.get(name[-3:], bytes)(data))
    found, reader = read(*tmp_path.iterdir())
    assert found == ["1", "2", "3", "4", "5"]
    assert (reader.events, reader.damaged) == (5, 0)
    assert reader.size_bytes == sum(map(len, LINES))


@pytest.mark.parametrize(
    ("content", "found", "damaged"),
    [
        (b"".join(LINES), "12345", 0),
        (b"".join(LINES)[:-20], "1234", 1),
        (LINES[0] + LINES[1][:50] + LINES[2] + LINES[3], "134", 1),
        (LINES[0] + LINES[1][:50] * 2 + LINES[2] + LINES[3], "134", 1),
        (LINES[0] + LINES[1][:1] + LINES[2] + LINES[3], "134", 1),
        (LINES[0] + b"I1122 klog line\n\n\x00\xff\n" + LINES[1], "12", 2),
        (b"", "", 0),
        (b"\n\n", "", 0),
        (b"x" * 10_000, "", 1),
        (LINES[0] + b"x" * 5_000 + b"\n" + LINES[1], "1", 1),
        (gzip.compress(b"".join(LINES) * 50)[:-30], None, 1),
        (b"\x1f\x8bno gzip", "", 1),
        (gzip.compress(b"", mtime=0)[:10] + b"\xff" * 9, "", 1),
        (b"\x28\xb5\x2f\xfdzstd", "", 1),
        (zstd.compress(b"".join(LINES)), "12345", 0),
        (zstd.compress(b"".join(LINES)) + zstd.compress(LINES[0]), "123451", 0),
        (zstd.compress(b"".join(LINES) * 50)[:-30], None, 1),
        (zstd.compress(b"".join(LINES)) + b"something else", None, 1),
        (damages.bomb(2**16), "", 1),
        (damages.bomb(1, window_log=30), "", 1),
    ],
)
def test_damage_is_noted_and_the_rest_is_read(
    tmp_path: pathlib.Path,
    content: bytes,
    found: str | None,
    damaged: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audit_history, "LINE_MAX", 4_000)
    path = tmp_path / "audit.log"
    path.write_bytes(content)
    versions, reader = read(path)
    assert found is None or "".join(versions) == found
    assert reader.damaged == damaged
    assert all("audit.log" in note for note in reader.notes)


@pytest.mark.timeout(20)
def test_what_is_no_file_is_noted(tmp_path: pathlib.Path) -> None:
    import os

    folder, fifo, gone = tmp_path / "a.log", tmp_path / "b.log", tmp_path / "c.log"
    folder.mkdir()
    os.mkfifo(fifo)
    versions, reader = read(folder, fifo, gone)
    assert not versions
    assert reader.damaged == 3
