"""The objects of `pools.from` as a run directory has them."""

import pathlib
from collections.abc import Iterator

from harness import errors, regular_files, writing
from harness.model.objects import Object
from harness.scenario.imported import importing


def save(compressed: bytes, path: pathlib.Path) -> None:
    """Write the objects of an `importing.Imported`.

    Raises StorageError or UnwritableError if that is not possible.
    """
    with writing.explained(path), path.open("wb") as file:
        for chunk in importing.chunks(compressed):
            file.write(chunk)


class SavedObjects:
    """The objects of a file; each iteration reads it again."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Object]:
        """Yield the objects. Raises RunDirectoryError if the file is missing."""
        try:
            lines = regular_files.opened(self._path)
        except OSError as error:
            raise errors.RunDirectoryError(
                f"expected the objects of pools.from in {self._path} ({error.strerror})"
            ) from error
        with lines:
            yield from importing.of_lines(lines)
