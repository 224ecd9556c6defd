"""Changed code in place of loaded code.

A function gets its changed code in place: a table or another module that has the function calls the
changed one. Code that only runs when a module is imported (its constants, the defaults of its
arguments and fields) needs an import: `Importer`.
"""

import ast
import collections
import gc
import importlib.abc
import importlib.machinery
import types
from collections.abc import Iterator, Mapping

Key = tuple[str, int, int]
"""A piece of code: its qualified name, its first line, and which of those that share both."""

Functions = Mapping[Key, list[types.FunctionType]]
"""The loaded functions of a file by their code."""


def functions_of(file: str, source: str) -> Functions:
    """Return the functions that were loaded from a file with this text."""
    whole = compile(source, file, "exec")
    keys = {_fingerprint(code): key for key, code in _keyed(whole).items()}
    found: dict[Key, list[types.FunctionType]] = collections.defaultdict(list)
    gc.unfreeze()  # what the tests' conftest has frozen, is not among the objects
    for item in gc.get_objects():
        if isinstance(item, types.FunctionType) and item.__code__.co_filename == file:
            found[keys[_fingerprint(item.__code__)]].append(item)
    return found


def replace(functions: Functions, changed: ast.Module, file: str) -> None:
    """Give all functions of a file their changed code.

    Raises KeyError or ValueError if the change leaves no such function.
    """
    codes = _keyed(compile(changed, file, "exec"))
    for key, same in functions.items():
        for function in same:
            function.__code__ = codes[key]


def _keyed(code: types.CodeType) -> dict[Key, types.CodeType]:
    seen: collections.Counter[tuple[str, int]] = collections.Counter()
    found = {}
    for item in _inside(code):
        place = item.co_qualname, item.co_firstlineno
        found[*place, seen[place]] = item
        seen[place] += 1
    return found


def _inside(code: types.CodeType) -> Iterator[types.CodeType]:
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            yield item
            yield from _inside(item)


def _fingerprint(code: types.CodeType) -> tuple[object, ...]:
    return code.co_qualname, code.co_firstlineno, tuple(code.co_positions())


class Importer(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from its changed code."""

    def __init__(self, module: str, changed: ast.Module) -> None:
        self._module, self._changed = module, changed

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return how to import the module; None for another one."""
        del path, target
        if fullname != self._module:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the changed code."""
        exec(compile(self._changed, self._module, "exec"), vars(module))  # noqa: S102
