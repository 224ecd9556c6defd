"""Files that cannot be written: one sentence that names the file, the right exit code, and nothing
left behind.
"""

import errno
import os
import pathlib
import stat

import pytest

from harness import errors, writing


@pytest.mark.parametrize(
    ("number", "kind", "exit_code"),
    [
        (errno.ENOSPC, errors.StorageError, 1),
        (errno.EDQUOT, errors.StorageError, 1),
        (errno.EIO, errors.StorageError, 1),
        (errno.EFBIG, errors.StorageError, 1),
        (errno.EROFS, errors.UnwritableError, 2),
        (errno.EACCES, errors.UnwritableError, 2),
        (errno.EPERM, errors.UnwritableError, 2),
        (errno.ENOENT, errors.UnwritableError, 2),
        (errno.ENOTDIR, errors.UnwritableError, 2),
        (errno.EISDIR, errors.UnwritableError, 2),
    ],
)
def test_every_kind_of_failure(
    number: int, kind: type[errors.HarnessError], exit_code: int
) -> None:
    error = OSError(number, os.strerror(number))
    with pytest.raises(kind) as caught, writing.explained(pathlib.Path("page.html")):
        raise error
    assert str(caught.value).startswith(f"cannot write page.html: {os.strerror(number).lower()}; ")
    assert caught.value.exit_code == exit_code


def test_an_error_without_a_name_says_what_it_can() -> None:
    error = OSError(errno.ENOSPC, "No space left on device")
    assert str(writing.explain(error)).startswith("cannot write: no space left")


def test_a_file_is_replaced_whole(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "page.html"
    writing.replace(path, b"old")
    writing.replace(path, b"new")
    assert path.read_bytes() == b"new"
    assert [item.name for item in tmp_path.iterdir()] == ["page.html"]


def test_what_fails_leaves_the_old_one_and_nothing_else(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "replace", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        writing.replace(path, b"new")
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["page.html"]


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_link_still_means_the_same_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    writing.replace(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_device_is_written_to_and_not_replaced() -> None:
    before = pathlib.Path("/dev/full").stat()
    with pytest.raises(errors.StorageError, match="cannot write /dev/full: no space left"):
        writing.replace(pathlib.Path("/dev/full"), b"much")
    after = pathlib.Path("/dev/full").stat()
    assert stat.S_ISCHR(after.st_mode)
    assert after.st_ino == before.st_ino


@pytest.mark.parametrize("name", ["missing/page.html", "file/page.html", "folder"])
def test_a_place_that_is_none_is_named(tmp_path: pathlib.Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(errors.UnwritableError, match=f"cannot write .*{name}: "):
        writing.replace(tmp_path / name, b"page")
