"""Files are opened without waiting, and nothing but files is."""

import os
import pathlib
import socket

import pytest

from harness import regular_files


def test_a_file_is_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("é\r\nb\n".encode())
    assert regular_files.content(path) == "é\r\nb\n".encode()
    assert regular_files.text(path) == "é\nb\n"
    (tmp_path / "link").symlink_to(path)
    with regular_files.opened(tmp_path / "link", buffer=2) as file:
        assert file.read(2) == "é".encode()


@pytest.mark.parametrize("read", [regular_files.content, regular_files.text, regular_files.require])
def test_anything_else_is_refused_at_once(tmp_path: pathlib.Path, read) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
    for path, kind in (
        (tmp_path / "fifo", "a FIFO"),
        (tmp_path / "link", "a FIFO"),
        (tmp_path / "socket", "a socket"),
        (tmp_path, "a folder"),
        (pathlib.Path("/dev/zero"), "a device"),
    ):
        with pytest.raises(
            regular_files.IrregularFileError, match=f"expected a file, got {kind}"
        ) as refused:
            read(path)
        assert refused.value.filename == str(path)


def test_what_is_missing_is_an_error_of_its_own(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        regular_files.opened(tmp_path / "missing")
