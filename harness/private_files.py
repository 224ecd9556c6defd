"""Files for the user alone: keys for libraries that read them from files only, and files that hold tokens."""

import contextlib
import os
import pathlib
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def private_file(content: bytes) -> Iterator[str]:
    """Give a path that this process can read the content from; nothing is left on a disk, also when the process is killed."""
    if not hasattr(os, "memfd_create"):
        with (
            tempfile.NamedTemporaryFile() as file
        ):  # not Linux: mode 0600, and gone unless we are killed
            file.write(content)
            file.flush()
            yield file.name
        return
    descriptor = os.memfd_create("flake-hunt")
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def write(path: pathlib.Path, content: bytes, *, is_durable: bool = False) -> None:
    """Write a file of mode 0600, whole or not at all; OSError, and nothing left, when it cannot be written."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:  # mkstemp makes it 0600
            file.write(content)
            file.flush()
            if is_durable:
                os.fsync(file.fileno())
        pathlib.Path(temporary).replace(path)
    except BaseException:
        pathlib.Path(temporary).unlink(missing_ok=True)
        raise
