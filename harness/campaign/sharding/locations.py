"""Small files of a shard, in a folder of this machine or at a URL that fsspec can read."""

import importlib
import os
import pathlib
from collections.abc import Sequence
from typing import Any, Protocol

from harness import errors
from harness.history import files, report_folders

EXTRA = "remote"
"""Extra of the package that installs fsspec."""


class Location(Protocol):
    """A folder."""

    name: str
    """Its path or URL, for messages and links."""

    def read(self, file: str) -> bytes | None:
        """Return a file's content; None if it is not there.

        Raises HistoryError if it cannot be read.
        """

    def folder(self, name: str) -> "Location":
        """Return a folder in it, which may be missing."""

    def folders(self) -> Sequence["Location"]:
        """Return the folders in it, sorted by name; none if it is missing."""

    def parent(self) -> "Location":
        """Return the folder that it is in."""

    def exists(self) -> bool:
        """Return whether it is a folder; where that takes a request, assume so."""


def at(given: str) -> Location:
    """Return the location of a path or URL.

    Raises UsageError for a URL that cannot be read here.
    """
    return _Remote.of(given) if "://" in given else _Local(pathlib.Path(given).resolve())


def matching(given: str) -> Sequence[Location]:
    """Return the location of a path or URL; of a URL with `*`, as shells have it, all that match.

    Raises UsageError for a URL that cannot be read here; HistoryError if it cannot be listed.
    """
    if "://" in given and "*" in given:
        return _Remote.of(given).matching()
    return [at(given)]


class _Local:
    """A folder of this machine."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path, self.name = path, str(path)

    def read(self, file: str) -> bytes | None:
        path = self._path / file
        return files.read_small(path) if os.path.lexists(path) else None

    def folder(self, name: str) -> "_Local":
        return _Local(self._path / name)

    def folders(self) -> Sequence["_Local"]:
        return [_Local(path) for path in sorted(report_folders.folders(self._path))]

    def parent(self) -> "_Local":
        return _Local(self._path.parent)

    def exists(self) -> bool:
        return os.path.isdir(self._path)  # noqa: PTH112 - never raises


class _Remote:
    """A folder at a URL."""

    def __init__(self, system: Any, path: str, url: str) -> None:
        self._system, self._path, self.name = system, path, url

    @classmethod
    def of(cls, url: str) -> "_Remote":
        url = url.rstrip("/")
        try:
            system, path = importlib.import_module("fsspec").url_to_fs(url)
        except ImportError as error:
            raise errors.UsageError(
                f"expected a package that reads {url}, but it is not installed ({error}): "
                f"{errors.install_command(EXTRA)} and the package of the protocol (s3fs for s3://), "
                "or copy the folder here and name the copy"
            ) from error
        except ValueError as error:
            raise errors.UsageError(
                f"expected a folder or a URL that fsspec reads, got {url} ({error})"
            ) from error
        return cls(system, str(path).rstrip("/"), url)

    def read(self, file: str) -> bytes | None:
        try:
            return bytes(self._system.cat_file(f"{self._path}/{file}"))
        except FileNotFoundError:
            return None
        except Exception as error:
            raise errors.HistoryError(f"{self.name}/{file}: cannot be read ({error})") from error

    def matching(self) -> Sequence["_Remote"]:
        """Return the folders whose paths match this one, sorted by path."""
        try:
            found = self._system.glob(self._path, detail=True)
        except Exception as error:
            raise errors.HistoryError(f"{self.name}: cannot be listed ({error})") from error
        paths = sorted(path for path, entry in found.items() if entry["type"] == "directory")
        return [_Remote(self._system, path, self._system.unstrip_protocol(path)) for path in paths]

    def folder(self, name: str) -> "_Remote":
        return _Remote(self._system, f"{self._path}/{name}", f"{self.name}/{name}")

    def folders(self) -> Sequence["_Remote"]:
        try:
            entries = self._system.ls(self._path, detail=True)
        except FileNotFoundError:
            return []
        except Exception as error:
            raise errors.HistoryError(f"{self.name}: cannot be listed ({error})") from error
        names = [
            str(entry["name"]).rstrip("/").rpartition("/")[2]
            for entry in entries
            if entry["type"] == "directory"
        ]
        return [self.folder(name) for name in sorted(names)]

    def parent(self) -> "_Remote":
        return _Remote(self._system, self._path.rpartition("/")[0], self.name.rpartition("/")[0])

    def exists(self) -> bool:
        return True
