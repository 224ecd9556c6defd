"""The folder of reports as it is served: names in addresses, and files that are opened by them.

No link is followed, and nothing outside of the folder is read.
"""

import contextlib
import os
import pathlib
import stat
import urllib.parse
from collections.abc import Iterator, Sequence

from aiohttp import web

from harness import errors
from harness.history import campaign_folders, directories

PLAN = "plan.json"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class MissingError(errors.UsageError):
    """There is no such run, campaign or file; or it is a link, which is not followed."""


class ServedFolder:
    """A folder of reports."""

    def __init__(self, path: pathlib.Path) -> None:
        try:
            self.path = path.resolve(strict=True)
            with os.scandir(self.path):
                pass
        except (OSError, ValueError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise errors.UsageError(
                f"expected a folder of reports, but {path} cannot be read ({reason}): name the "
                "folder that `flake-hunt hunt` and `run` write to, which is `reports` by default"
            ) from error

    def run(self, scenario: str, name: str) -> directories.RunDirectory:
        """Return a run directory that has a plan and no links. Raises MissingError."""
        if scenario == campaign_folders.FOLDER:
            raise MissingError(f"expected a run, but {scenario} has campaigns")
        return directories.RunDirectory(self._plain((scenario, name), with_file=PLAN))

    def _plain(self, parts: Sequence[str], *, with_file: str) -> pathlib.Path:
        if any("\ud800" <= char <= "\udfff" for part in parts for char in part):
            raise MissingError(f"{'/'.join(parts)!r} has bytes that are no UTF-8: rename it")
        with self._entered(parts) as folder, os.scandir(folder) as entries:
            found = {entry.name: entry for entry in entries}
            link = next((name for name, entry in found.items() if entry.is_symlink()), None)
            if link is not None:
                raise MissingError(f"{'/'.join(parts)}/{link} is a link, which is not followed")
            if with_file not in found:
                raise MissingError(f"{'/'.join(parts)} has no {with_file}")
        return self.path.joinpath(*parts)

    def open(self, parts: Sequence[str]) -> int:
        with self._entered(parts[:-1]) as folder:
            descriptor = _opened(parts[-1:], _FILE, folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise MissingError(f"{'/'.join(parts)} is no file")
        return descriptor

    @contextlib.contextmanager
    def _entered(self, parts: Sequence[str]) -> Iterator[int]:
        """Yield a descriptor of a folder. Raises MissingError."""
        folder = os.open(self.path, _FOLDER)
        try:
            for part in parts:
                folder, before = _opened([part], _FOLDER, folder), folder
                os.close(before)
            yield folder
        finally:
            os.close(folder)


def _opened(parts: Sequence[str], flags: int, folder: int) -> int:
    (name,) = parts or ("",)
    try:
        if name in ("", ".", "..") or "/" in name:
            raise MissingError(f"{name!r:.100} is no name of a file")
        return os.open(name, flags, dir_fd=folder)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MissingError(f"{name!r:.100} cannot be opened ({reason})") from error


def names(request: web.BaseRequest) -> list[str]:
    """Return the names in the path of a request, decoded after they are divided."""
    parts = request.rel_url.raw_path.split("/")[1:]
    return [os.fsdecode(urllib.parse.unquote_to_bytes(part)) for part in parts]
