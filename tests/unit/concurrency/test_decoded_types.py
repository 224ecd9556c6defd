"""Types that threads decode are described to msgspec before, at import.

msgspec describes a type at its first use, without a lock: when two threads decode to a new type
at once, the process dies (signal 11). That ended schedulers in the first second of a run.
"""

import ast
import pathlib
from collections.abc import Iterator

HARNESS = pathlib.Path(__file__).parents[3] / "harness"
OF_THREADS = ("apiserver", "client", "cluster", "fault_proxy", "faults", "subject", "traffic")
"""Packages whose code threads run."""
READ_AT_START = {
    "apiserver/server/identities.py",
    "cluster/cluster_records.py",
    "fault_proxy/settings.py",
    "subject/process/subject_process.py",
}
"""Modules that decode before there are threads, or in one thread only."""
SOURCES = sorted(path for name in OF_THREADS for path in (HARNESS / name).rglob("*.py"))


def undescribed(source: str) -> Iterator[int]:
    """Yield the lines of functions that decode to a struct type which only the call names."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "msgspec.json.decode":
                    types = [item.value for item in node.keywords if item.arg == "type"]
                    yield from (item.lineno for item in types if not is_builtin(item))


def is_builtin(kind: ast.expr) -> bool:
    names = {node.id for node in ast.walk(kind) if isinstance(node, ast.Name)}
    return names <= {"dict", "list", "tuple", "str", "int", "Any"}


def test_threads_decode_to_types_that_are_described_at_import() -> None:
    named = {str(path.relative_to(HARNESS)): path.read_text() for path in SOURCES}
    found = {name for name, source in named.items() if list(undescribed(source))}
    assert found == READ_AT_START


def test_what_the_rule_looks_for_is_found() -> None:
    call = "def read(body):\n    return msgspec.json.decode(body, type={})\n"
    assert list(undescribed(call.format("list[Claim]"))) == [2]
    assert list(undescribed(call.format("dict[str, Any]"))) == []
