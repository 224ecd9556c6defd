"""Every known defect, remedy and difference of a release overrides something that runs.

A class that overrides a method which has moved, or which the correct code no longer calls, changes
nothing without a word. So each name that a replacement overrides must exist in the correct class
and be used by the correct code, and each name that it adds must be used by the replacement itself.
"""

import ast
import functools
import inspect
import itertools
import pathlib
import sys
from collections.abc import Iterable, Iterator

import pytest

import harness
from harness.cluster.dra import kubelet_defects
from harness.subject import defects, releases, remedies

pytestmark = [pytest.mark.detection, pytest.mark.slow]
HARNESS = pathlib.Path(harness.__file__).parent
REPLACING = ("subject/defects/", "subject/remedies/", "subject/releases/", "cluster/dra/kubelet_de")
"""Beginnings of the paths of modules that replace correct code."""
Pair = tuple[type, type]
"""A replacement, and the correct class that it replaces."""


def every_replacement() -> Iterator[tuple[str, Pair]]:
    named = {
        name: known.named(name)
        for known in (defects.CATALOGUE, remedies.CATALOGUE, releases.DIFFERENCES)
        for name in known.names()
    }
    for release in releases.names():
        named |= releases.replacements_of(release)
    for name in kubelet_defects.CATALOGUE.names():
        named[name] = kubelet_defects.CATALOGUE.named(name)
    for name, item in named.items():
        for part, kind in item.parts.items():
            yield f"{name}-{part}", (kind, getattr(item.whole(), part))


# ------------------------------------------------------------------------------- what is wrong


def unused(replacement: type, correct: type) -> Iterator[str]:
    own = [kind for kind in replacement.__mro__ if kind not in correct.__mro__]
    names = set(_own(replacement, correct))
    overridden = {name for name in names if hasattr(correct, name)}
    if not overridden:
        yield f"{replacement.__name__} overrides nothing of {correct.__name__}"
    for name in sorted(names):
        users = _users(correct, name) if name in overridden else _modules(own)
        if name not in itertools.chain.from_iterable(map(_used, users)):
            yield f"{replacement.__name__}.{name} is never used"
        inner, inner_correct = getattr(replacement, name), getattr(correct, name, None)
        if inspect.isclass(inner) and inspect.isclass(inner_correct):
            yield from unused(inner, inner_correct)


def _own(replacement: type, correct: type) -> Iterator[str]:
    """The names that a replacement defines and does not inherit from correct code."""
    for kind in replacement.__mro__:
        if kind not in correct.__mro__:
            yield from (
                name for name in vars(kind) if not name.startswith("__") and name != "known_as"
            )


def _users(correct: type, name: str) -> Iterable[pathlib.Path]:
    """The modules that may use a name of a correct class: its own if the name is private."""
    return _modules(correct.__mro__) if name.startswith("_") else _correct_modules()


def _modules(kinds: Iterable[type]) -> list[pathlib.Path]:
    files = {sys.modules[kind.__module__].__file__ for kind in kinds if kind is not object}
    return [pathlib.Path(file) for file in files if file]


@functools.cache
def _correct_modules() -> tuple[pathlib.Path, ...]:
    return tuple(
        path
        for path in sorted(HARNESS.rglob("*.py"))
        if not path.relative_to(HARNESS).as_posix().startswith(REPLACING)
    )


@functools.cache
def _used(path: pathlib.Path) -> frozenset[str]:
    """The names of attributes that a module reads, apart from a method's calls of itself."""
    found: set[str] = set()
    waiting: list[tuple[ast.AST, str]] = [(ast.parse(path.read_bytes()), "")]
    while waiting:
        node, function = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            function = node.name
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            found |= {node.attr} - {function}
        waiting += [(child, function) for child in ast.iter_child_nodes(node)]
    return frozenset(found)


# -------------------------------------------------------------------------------------- the tests


def test_replacements_override_what_runs() -> None:
    wrong = {name: [*unused(*pair)] for name, pair in every_replacement()}
    assert len(wrong) > 100
    assert {name: found for name, found in wrong.items() if found} == {}


class _Correct:
    def run(self) -> int:
        return self._seam()

    def _seam(self) -> int:
        return 1

    def _left_behind(self) -> int:
        return 2


class _Moved(_Correct):
    def _seam_of_yesterday(self) -> int:
        return 0


class _Vain(_Correct):
    def _left_behind(self) -> int:
        return 0


class _Sound(_Correct):
    def _seam(self) -> int:
        return self._added()

    def _added(self) -> int:
        return 0


def test_a_replacement_that_changes_nothing_is_found() -> None:
    """The positive controls."""
    assert list(unused(_Sound, _Correct)) == []
    assert list(unused(_Vain, _Correct)) == ["_Vain._left_behind is never used"]
    assert list(unused(_Moved, _Correct)) == [
        "_Moved overrides nothing of _Correct",
        "_Moved._seam_of_yesterday is never used",
    ]


def test_a_method_that_only_calls_itself_is_not_used(tmp_path: pathlib.Path) -> None:
    alone, called = tmp_path / "alone.py", tmp_path / "called.py"
    alone.write_text("class A:\n    def one(self): return self.one()\n")
    called.write_text(f"{alone.read_text()}    def two(self): return self.one()\n")
    assert _used(alone) == set()
    assert _used(called) == {"one"}
