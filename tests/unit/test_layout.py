"""Tests share helpers by a few packages, or from the folder around theirs, and never import each
other's modules.
"""

import ast
import pathlib
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[2]
FILES = sorted((ROOT / "tests").rglob("*.py"))
SHARED = ("tests.support", "tests.histories", "tests.stand_ins")
"""Packages that several folders of tests use."""


def imported(source: str) -> Iterator[str]:
    """Yield modules of tests that are imported, by their full names."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] == "tests":
                yield from (f"{module}.{alias.name}" for alias in node.names)


def is_allowed(importer: pathlib.PurePath, name: str) -> bool:
    """Return whether a file, named from the root, may import a module of tests."""
    folder, _, module = name.rpartition(".")
    around = [".".join(parent.parts) for parent in importer.parents if len(parent.parts) > 1]
    return not module.startswith("test_") and (folder in around or folder.startswith(SHARED))


def test_no_tests_import_those_of_another_folder() -> None:
    for path in FILES:
        importer = path.relative_to(ROOT)
        names = imported(path.read_text())
        assert [name for name in names if not is_allowed(importer, name)] == [], importer


def test_other_imports_are_found() -> None:
    importer = pathlib.PurePath("tests/e2e/runs/test_runs.py")
    allowed = ["tests.e2e.running", "tests.support.api_objects", "tests.histories.language"]
    others = ["tests.e2e.kubectl.scripts", "tests.unit.report.pages", "tests.support.test_x"]
    assert [name for name in allowed + others if is_allowed(importer, name)] == allowed
