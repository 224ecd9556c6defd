"""Mutation of single modules: is every small change of the code noticed by its tests?

    .venv/bin/python tools/mutations.py harness.checks.claims.reservations tests/unit/checks/claims

changes one comparison, condition, number or call of the module after the other, runs the tests
with each change, and prints those with which all tests pass. A survivor is a change without
effect, or a test that is missing. Texts and the options of classes (`frozen`, `slots`) are left
alone. Each mutant runs in a process of its own, which has the module loaded already; the files are
not touched. If its tests pass, they run once more with all modules imported again, because other
modules may keep functions of the original one. FLAKE_HUNT_HISTORIES limits the random histories of
each run.
"""

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.machinery
import os
import pathlib
import sys
import types
from collections.abc import Callable, Iterator

import pytest

TIMEOUT_S = 60
"""A mutant whose tests take longer counts as noticed: it loops."""
_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
}
_FUNCTIONS = {"any": "all", "all": "any", "min": "max", "max": "min", "sorted": "list"}


def mutants(source: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield each change, as `line: before -> after`, with the changed module."""
    tree = ast.parse(source)
    options = {id(part) for node in ast.walk(tree) for part in _options_of_class(node)}
    for index, node in enumerate(ast.walk(tree)):
        if id(node) in options:
            continue
        for number in range(_changes(node)):
            changed = copy.deepcopy(tree)
            target = next(item for at, item in enumerate(ast.walk(changed)) if at == index)
            before = ast.unparse(target)
            _change(target, number)
            after = ast.unparse(target)
            yield f"{getattr(node, 'lineno', 0)}: {before} -> {after}", changed


def _options_of_class(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a class that say how it is made."""
    if isinstance(node, ast.ClassDef):
        for part in (*node.decorator_list, *node.keywords):
            yield from ast.walk(part)


def _changes(node: ast.AST) -> int:
    """Return the number of ways to change a node."""
    match node:
        case ast.Compare() | ast.BoolOp() | ast.IfExp() | ast.If():
            return 1
        case ast.BinOp(op=operator) if type(operator) in _OPERATORS:
            return 1
        case ast.Constant(value=value) if isinstance(value, int):
            return 1
        case ast.UnaryOp(op=ast.Not()):
            return 1
        case ast.Call(func=ast.Name(id=name)) if name in _FUNCTIONS:
            return 1
        case ast.comprehension(ifs=ifs):
            return len(ifs)
        case _:
            return 0


def _change(node: ast.AST, number: int) -> None:
    match node:
        case ast.Compare():
            node.ops = [_OPPOSITES[type(node.ops[0])](), *node.ops[1:]]
        case ast.BoolOp():
            node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        case ast.BinOp():
            node.op = _OPERATORS[type(node.op)]()
        case ast.Constant(value=bool() | int() as value):
            node.value = not value if isinstance(value, bool) else value + 1
        case ast.UnaryOp():
            node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
        case ast.Call(func=ast.Name(id=name)):
            node.func = ast.Name(_FUNCTIONS[name], ast.Load())
            node.keywords = [] if name == "sorted" else node.keywords
        case ast.comprehension():
            node.ifs[number] = ast.Constant(value=True)
        case ast.IfExp() | ast.If():
            node.test = ast.UnaryOp(ast.Not(), node.test)


def is_noticed(module: str, changed: ast.Module, tests: list[str]) -> bool:
    """Return whether a test fails with the changed module, in a child process."""
    return _fails(_change_in_place, module, changed, tests) or _fails(
        _change_import, module, changed, tests
    )


def _fails(
    change: Callable[[str, ast.Module], None], module: str, changed: ast.Module, tests: list[str]
) -> bool:
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    with pathlib.Path(os.devnull).open("w") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    try:
        change(module, ast.fix_missing_locations(changed))
        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", f"--timeout={TIMEOUT_S}"]
        code = int(pytest.main([*options, *tests]))
    except BaseException:  # noqa: BLE001 - a module that cannot even be loaded is noticed
        code = 1
    os._exit(code)


def _change_in_place(module: str, changed: ast.Module) -> None:
    exec(compile(changed, module, "exec"), vars(sys.modules[module]))  # noqa: S102


def _change_import(module: str, changed: ast.Module) -> None:
    """Forget all modules of this repository, and let the changed one be imported."""
    for name, loaded in list(sys.modules.items()):
        if name.partition(".")[0] in ("harness", "tests", "conftest") or _is_test(loaded):
            del sys.modules[name]
    sys.meta_path.insert(0, _Importer(module, changed))


def _is_test(loaded: types.ModuleType) -> bool:
    """Return whether a module is a file of tests, which pytest imports by names of its own."""
    return str(getattr(loaded, "__file__", "")).startswith(str(pathlib.Path("tests").resolve()))


class _Importer(importlib.abc.MetaPathFinder, importlib.abc.Loader):
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


def main(module: str, *tests: str) -> int:
    """Print the survivors; return their number."""
    loaded = importlib.import_module(module)
    source = pathlib.Path(loaded.__file__ or "").read_text()
    if pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *tests]):
        raise SystemExit("expected tests that pass without a change")
    found = list(mutants(source))
    survivors = [told for told, changed in found if not is_noticed(module, changed, list(tests))]
    print(f"{module}: {len(found)} mutants, {len(survivors)} survived")
    for told in survivors:
        print(f"  {told}")
    return len(survivors)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("module", help="for example harness.checks.claims.reservations")
    parser.add_argument("tests", nargs="+", help="files or folders of tests")
    return parser.parse_args()


if __name__ == "__main__":
    chosen = _arguments()
    raise SystemExit(bool(main(chosen.module, *chosen.tests)))
