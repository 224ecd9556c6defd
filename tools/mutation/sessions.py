"""The tests of some modules, collected once and forked for each mutant.

A first child runs all tests and tells which lines each of them runs. A mutant's child runs only
those that run its line, the fastest first, until one fails. A mutant whose line runs when modules
are imported (a constant, a default, what tests compute when they are collected) cannot be changed
in place: its child begins before any module of the repository is imported.
"""

import dataclasses
import functools
import gc
import importlib
import os
import pathlib
import sys
import tempfile
import time
import types
from collections.abc import Iterable, Iterator, Mapping

import pytest
from _pytest import runner

from mutation import changes, children, loaded_code

TEST_S_MAX = 60
"""A mutant one of whose tests takes longer is noticed: it waits for ever."""
_NAMED_MAX = 5
"""Failing tests that an error names."""
CPU_S_MIN, CPU_FACTOR = 10, 10
"""CPU time of a mutant: ten times that of its tests, and 10 s. More is noticed: it loops."""
Lines = dict[str, frozenset[int]]
"""Lines that were run, by file."""


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """A mutant that was tried."""

    mutant: changes.Mutant
    is_noticed: bool
    is_run: bool = True
    """False: no test runs its line. True for all lines that an import runs."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Ran:
    """A test that ran without any change."""

    passed: bool
    seconds: float
    lines: Lines


class TestsFailError(Exception):
    """The tests fail without any change."""


def results(modules: Iterable[str], tests: list[str]) -> Iterator[tuple[str, list[Result]]]:
    """Yield each module with its results.

    Raises TestsFailError if a test fails without any change.
    """
    files = {name: file_of(name) for name in modules}
    sources = {file: pathlib.Path(file).read_text() for file in files.values()}
    session = children.answer(functools.partial(_in_session, files, sources, tests))
    if not session or session.failed or not children.answer(lambda: _pytest(tests) == 0):
        named = session.failed if session and session.failed else tests
        more = f" and {len(named) - _NAMED_MAX} more fail" if len(named) > _NAMED_MAX else ""
        told = ", ".join(named[:_NAMED_MAX])
        raise TestsFailError(f"expected tests that pass without a change: {told}{more}")
    for name, found in session.found.items():
        source = sources[files[name]]
        yield name, [item or _imported(name, source, mutant, tests) for mutant, item in found]


def file_of(module: str) -> str:
    """Return the file of a module, which is not imported."""
    file = pathlib.Path(*module.split("."))
    file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    return str(file.resolve())


def _imported(module: str, source: str, mutant: changes.Mutant, tests: list[str]) -> Result:
    """Return what becomes of a mutant that is imported with its change."""

    def run() -> bool:
        sys.meta_path.insert(0, loaded_code.Importer(module, changes.changed(source, mutant)))
        return _pytest(["-x", *tests]) == 0

    return Result(mutant, is_noticed=not children.answer(run, cpu_s=CPU_S_MIN * CPU_FACTOR))


@dataclasses.dataclass(frozen=True, slots=True)
class _Answer:
    """The findings of a session of pytest."""

    found: dict[str, list[tuple[changes.Mutant, Result | None]]]
    """The mutants of each module with their results; None for those that need an import."""
    failed: list[str]
    """The tests that fail without any change."""


def _in_session(
    files: Mapping[str, str], sources: Mapping[str, str], tests: list[str]
) -> _Answer | None:
    """Return what a session finds; None if the tests cannot be collected."""
    session = _Session(files, sources)
    with _Tracing(frozenset(sources)) as session.importing:
        _pytest(tests, session)
    return session.answer


def _pytest(arguments: list[str], *plugins: object) -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
        options = [
            *("-q", "-n", "0", "-p", "no:cacheprovider", f"--timeout={TEST_S_MAX}"),
            *(f"--basetemp={folder}/tests", "-o", "tmp_path_retention_policy=none"),
            *("--capture=no", "--hypothesis-seed=0"),
        ]
        return int(pytest.main([*options, *arguments], [*plugins]))


class _Session:
    """A pytest plugin that runs mutants in place of the tests."""

    def __init__(self, files: Mapping[str, str], sources: Mapping[str, str]) -> None:
        """`files` of the modules; `sources` of the files, which may change while this runs."""
        self.importing: _Tracing
        self.answer: _Answer | None = None
        self._files, self._sources = files, sources
        self._items: list[pytest.Item] = []
        self._ran: list[_Ran] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all mutants that can be changed in place."""
        self.importing.stop()
        # Each mutant would start a template, which takes longer than most tests.
        importlib.import_module("harness.processes").prepare = lambda: None
        self._items = session.items
        ran = None if session.testsfailed else children.answer(self._run_all)
        if ran is not None:
            self._ran = ran
            failed = [
                one.nodeid for one, done in zip(self._items, ran, strict=True) if not done.passed
            ]
            self.answer = _Answer({} if failed else self._mutants(), failed)
        return True

    def _mutants(self) -> dict[str, list[tuple[changes.Mutant, Result | None]]]:
        functions = {
            file: loaded_code.functions_of(file, source) for file, source in self._sources.items()
        }
        gc.freeze()  # or else each child would copy the pages that its collections look at
        return {
            name: list(self._mutants_of(file, functions[file]))
            for name, file in self._files.items()
        }

    def _run_all(self) -> list[_Ran]:
        return [_run(item, after, self._sources) for item, after in _pairs(self._items)]

    def _mutants_of(
        self, file: str, functions: loaded_code.Functions
    ) -> Iterator[tuple[changes.Mutant, Result | None]]:
        at_import = self.importing.lines.get(file, set())
        for mutant in changes.mutants(self._sources[file]):
            if not mutant.is_in_function:
                yield mutant, None
                continue
            result = self._result(mutant, file, functions)
            is_settled = result.is_noticed or not mutant.lines & at_import
            yield mutant, result if is_settled else None

    def _result(
        self, mutant: changes.Mutant, file: str, functions: loaded_code.Functions
    ) -> Result:
        chosen = [
            at for at, ran in enumerate(self._ran) if mutant.lines & ran.lines.get(file, set())
        ]
        if not chosen:
            return Result(mutant, is_noticed=False, is_run=False)
        chosen.sort(key=lambda at: self._ran[at].seconds)
        changed = changes.changed(self._sources[file], mutant)
        cpu_s = CPU_S_MIN + CPU_FACTOR * sum(self._ran[at].seconds for at in chosen)

        def run() -> bool:
            loaded_code.replace(functions, changed, file)
            return all(
                _passes(item, after) for item, after in _pairs([self._items[at] for at in chosen])
            )

        return Result(mutant, is_noticed=not children.answer(run, cpu_s=cpu_s))


def _pairs(items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Yield each test and the one after it, for which fixtures may stay."""
    return zip(items, [*items[1:], None], strict=True)


def _run(item: pytest.Item, after: pytest.Item | None, files: Iterable[str]) -> _Ran:
    begun = time.process_time()
    with _Tracing(frozenset(files)) as tracing:
        passed = _passes(item, after)
    lines = {file: frozenset(found) for file, found in tracing.lines.items()}
    return _Ran(passed, time.process_time() - begun, lines)


def _passes(item: pytest.Item, after: pytest.Item | None) -> bool:
    reports = runner.runtestprotocol(item, nextitem=after, log=False)
    return not any(report.failed for report in reports)


class _Tracing:
    """Notes which lines of some files are run."""

    def __init__(self, files: frozenset[str]) -> None:
        self._files = files
        self.lines: dict[str, set[int]] = {}

    def __enter__(self) -> "_Tracing":
        sys.settrace(self._call)
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        sys.settrace(None)

    def _call(self, frame: types.FrameType, _event: str, _given: object) -> object:
        file = frame.f_code.co_filename
        if file not in self._files:
            return None
        note = self.lines.setdefault(file, set()).add

        def line(frame: types.FrameType, _event: str, _given: object) -> object:
            note(frame.f_lineno)
            return line

        note(frame.f_lineno)
        return line
