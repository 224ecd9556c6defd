"""Keys for libraries that read them from files only: nothing of them is left on a disk, also when the process is killed meanwhile."""

import contextlib
import os
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def private_file(content: bytes) -> Iterator[str]:
    """A path that this process can read the content from, for the time of the block."""
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
