"""Files of interrupted searches, with which they can be resumed.

A file belongs to one world with its sizes, defects and remedies, and to one version of the code:
with another one the same decisions would lead elsewhere.
"""

import concurrent.futures
import functools
import hashlib
import pathlib
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

import harness
from harness import errors, regular_files, writing
from harness.explore.search import worker_processes
from harness.explore.search.whole import branches, divided_search

R = TypeVar("R")
BRANCHES_PER_JOB = 2
"""Number of branches for each process, so that one is ready when another is over."""
Work = Callable[[branches.Branch], tuple[branches.Branch, list[R]]]
"""Makes some runs of a branch; returns what is left of it, and the results."""


class Frontier:
    """Branches that wait, those that processes are working on, and the places above them."""

    def __init__(self, rest: divided_search.DividedSearch) -> None:
        """Begin with what is left of a search."""
        self._rest = rest
        self._working: dict[object, branches.Branch] = {}

    @property
    def remaining(self) -> divided_search.DividedSearch:
        """All that is left, with every branch as it was when its last results came."""
        rest = self._rest
        known = [*rest.waiting, *self._working.values()]
        left = [branch for branch in known if not branch.is_over]
        return divided_search.DividedSearch(left, rest.shared, rest.unused)

    def search(self, make: branches.Make[R], is_cut: branches.IsCut[R]) -> Iterator[R]:
        """Make every run that is left, in this process."""
        waiting = self._rest.waiting
        while self.have(1):
            for run in branches.runs(waiting[-1], make, is_cut):
                self._rest.learn(waiting[-1])
                yield run
            waiting.pop()

    def search_in(self, pool: worker_processes.Pool, jobs: int, work: Work[R]) -> Iterator[list[R]]:
        """Make every run that is left, in the processes of a pool."""
        calls: set[concurrent.futures.Future[tuple[branches.Branch, list[R]]]] = set()
        waiting = self._rest.waiting
        while self.have(jobs * BRANCHES_PER_JOB - len(calls)) or calls:
            while waiting and len(calls) < jobs:
                branch = waiting.pop(0)
                call = pool.submit(work, branch)
                calls.add(call)
                self._working[call] = branch
            first = concurrent.futures.FIRST_COMPLETED
            for call in concurrent.futures.wait(calls, return_when=first).done:
                branch, results = call.result()
                calls.remove(call)
                del self._working[call]
                self._rest.learn(branch)
                if not branch.is_over:
                    waiting.append(branch)
                yield results

    def have(self, wanted: int) -> bool:
        """Have as many branches waiting as wanted, if there is enough; return False for none."""
        waiting = self._rest.waiting
        while len(waiting) < wanted:
            branch = self._rest.new_branch()
            if branch is not None:
                waiting.append(branch)
            elif not any(self._rest.divide(branch) for branch in waiting):
                break
        return bool(waiting)


FORMAT, VERSION = "flake-hunt-search", 3


class SearchFile(msgspec.Struct, kw_only=True):
    """An interrupted search."""

    format: str = FORMAT
    version: int = VERSION
    code: str
    """Digest of the code that made the runs; see `code_digest`."""
    world: str
    sizes: dict[str, int]
    defects: list[str]
    remedies: list[str]
    schedules: int = 0
    """Number of runs so far."""
    given_up: int = 0
    """Number of runs that ended early because all that could follow had been tried."""
    distinct: int = 0
    """Number of interleavings so far that differ in more than the order of independent steps."""
    rest: divided_search.DividedSearch
    """The rest of the search."""


def write(path: pathlib.Path, search: SearchFile) -> None:
    """Write a search. Raises StorageError or UnwritableError."""
    writing.replace(path, msgspec.json.encode(search))


def read(path: pathlib.Path, expected: SearchFile) -> SearchFile:
    """Return the search of a file; raise UsageError if it is not the expected one."""
    search = _decoded(path)
    for what, got, wanted in (
        ("world", search.world, expected.world),
        ("sizes", search.sizes, expected.sizes),
        ("defects", search.defects, expected.defects),
        ("remedies", search.remedies, expected.remedies),
    ):
        if got != wanted:
            raise errors.UsageError(
                f"expected {path} to be of a search with {what} {_shown(wanted)}, "
                f"got {_shown(got)}: name another file with --resume"
            )
    if search.code != expected.code:
        raise errors.UsageError(
            f"expected {path} to be of this version of the code ({expected.code}), "
            f"got {search.code}: resume with that version, or remove the file to begin again"
        )
    return search


def _decoded(path: pathlib.Path) -> SearchFile:
    try:
        search = msgspec.json.decode(regular_files.content(path), type=SearchFile)
    except OSError as error:
        raise errors.UsageError(
            f"expected a readable search in {path}: {(error.strerror or '').lower()}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.UsageError(
            f"expected {path} to be a search that --resume has written, got {error}"
        ) from error
    if (search.format, search.version) != (FORMAT, VERSION):
        raise errors.UsageError(
            f"expected {path} to have format {FORMAT} {VERSION}, "
            f"got {search.format} {search.version}: use the version that wrote it"
        )
    return search


def _shown(value: object) -> str:
    if isinstance(value, dict):
        value = [f"{key}={number}" for key, number in value.items()]
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)


@functools.cache
def code_digest() -> str:
    """Return a digest of all source files of the harness, as 16 hexadecimal digits."""
    root, digest = pathlib.Path(harness.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
