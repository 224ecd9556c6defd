"""Files that only the user can read: keys for libraries that read from files only, and tokens."""

import contextlib
import os
import pathlib
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def private_file(content: bytes) -> Iterator[str]:
    """Provide a path from which this process can read the content.

    On Linux nothing is written to a disk. Elsewhere it is a temporary file of mode 0600, which
    remains if the process is killed.
    """
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile() as file:
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
    """Write a file of mode 0600, whole or not at all.

    With `is_durable` the content is synchronised to the disk first. Raises OSError, and leaves
    nothing behind, if the file cannot be written.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:  # mkstemp creates it with mode 0600
            file.write(content)
            file.flush()
            if is_durable:
                os.fsync(file.fileno())
        pathlib.Path(temporary).replace(path)
    except BaseException:
        pathlib.Path(temporary).unlink(missing_ok=True)
        raise
