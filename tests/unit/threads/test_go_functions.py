"""Names and addresses of the functions of a program, read from the table that Go writes."""

import pathlib
import re
import shutil
from typing import Any

import pytest

from harness import errors
from harness.threads import go_functions
from tests.support import cases, go_tables

TEXT = 0x401000
NAMES = [
    "main.main",
    "example.org/claims/cache.(*Book).Assume",
    "example.org/claims/cache.(*Book).assumeLocked",
    "example.org/claims/cache.(*Shelf).Assume",
    "example.org/claims/cache.Map[...]",
    "sync.(*Mutex).Lock",
    "internal/sync.(*HashTrieMap[...]).Load",
    "runtime.mallocgc",
    "golang.org/x/sync/errgroup.(*Group).Go",
]
FUNCTIONS = {name: TEXT + 0x20 * number for number, name in enumerate(NAMES)}
END = TEXT + 0x20 * len(NAMES)
CODE = (go_tables.CHECK + bytes(0x1C)) * len(NAMES)
TABLE = go_tables.table(FUNCTIONS, text=TEXT, end=END)


def program(
    folder: pathlib.Path,
    *,
    table: bytes = TABLE,
    code: bytes = CODE,
    section: str = ".gopclntab",
    machine: int = 62,
) -> pathlib.Path:
    path = folder / "program"
    sections = {".text": (TEXT, code), section: (0x500000, table)}
    path.write_bytes(go_tables.elf(sections, machine=machine, start=TEXT + 0x40))
    return path


@pytest.mark.parametrize("keys", [{}, {"is_told": False}, {"magic": 0xFFFFFFF0}])
@pytest.mark.parametrize("section", [".gopclntab", ".data.rel.ro.gopclntab"])
def test_the_table_is_read(tmp_path: pathlib.Path, section: str, keys: dict[str, Any]) -> None:
    """With and without the address of the code; of Go 1.20, and of an older release."""
    table = go_tables.table(FUNCTIONS, text=TEXT, end=END, **keys)
    found = go_functions.GoFunctions(program(tmp_path, table=table, section=section))
    assert dict(zip(found.names, found.entries, strict=True)) == FUNCTIONS
    assert (found.machine, found.start, found.end) == ("x86_64", TEXT + 0x40, END)


def test_an_address_is_in_the_function_that_begins_before_it(tmp_path: pathlib.Path) -> None:
    functions = go_functions.GoFunctions(program(tmp_path))
    assert functions.at(TEXT) == functions.at(TEXT + 0x1F) == "main.main"
    assert functions.at(TEXT + 0x20) == NAMES[1]
    assert functions.at(END - 1) == NAMES[-1]
    assert functions.at(END) == functions.at(TEXT - 1) == functions.at(-5) == ""


def test_the_code_of_another_machine_is_not_looked_at(tmp_path: pathlib.Path) -> None:
    path = program(tmp_path, code=bytes(len(CODE)), machine=183)
    assert go_functions.GoFunctions(path).machine == "aarch64"


@pytest.mark.parametrize(("pattern", "names"), cases.read(__file__, "found"))
def test_a_pattern_finds_functions(tmp_path: pathlib.Path, pattern: str, names: list[str]) -> None:
    found = go_functions.GoFunctions(program(tmp_path)).matching(pattern)
    assert found == [(name, FUNCTIONS[name]) for name in names]


@pytest.mark.parametrize(("pattern", "words"), cases.read(__file__, "refused"))
def test_no_function_and_the_runtime_are_refused(
    tmp_path: pathlib.Path, pattern: str, words: str
) -> None:
    functions = go_functions.GoFunctions(program(tmp_path))
    with pytest.raises(errors.UsageError, match=re.escape(words)):
        functions.matching(pattern)


def refusal(path: pathlib.Path) -> str:
    with pytest.raises(errors.UsageError, match="expected a program in Go for Linux") as caught:
        go_functions.GoFunctions(path)
    return str(caught.value)


def test_what_is_no_program_in_go_is_refused(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexec ./program\n")
    assert "it is no ELF file" in refusal(script)
    script.write_bytes(b"")
    assert "it is no ELF file" in refusal(script)
    assert "it has no table .gopclntab" in refusal(program(tmp_path, section=".rodata"))
    assert "not that of Go 1.18 or newer" in refusal(program(tmp_path, table=b"\xfb" * 80))
    assert "it has no table .gopclntab" in refusal(pathlib.Path(shutil.which("sh") or "").resolve())
    assert "does not fit its code" in refusal(program(tmp_path, code=bytes(len(CODE))))
    elsewhere = go_tables.table(FUNCTIONS, text=TEXT - 0x1000, end=END, is_told=False)
    assert "does not fit its code" in refusal(program(tmp_path, table=elsewhere))


def test_a_table_that_is_cut_off_is_refused(tmp_path: pathlib.Path) -> None:
    whole = program(tmp_path).read_bytes()
    path = tmp_path / "cut"
    for size in (4, 20, 63, 100, len(whole) // 2, len(whole) - 200):
        path.write_bytes(whole[:size])
        refusal(path)


@pytest.mark.parametrize("at", [8, 16, 32, 64])
def test_a_table_of_nonsense_is_refused(tmp_path: pathlib.Path, at: int) -> None:
    table = bytearray(TABLE)
    table[at : at + 8] = b"\xff" * 8
    path = program(tmp_path, table=bytes(table))
    try:
        found = go_functions.GoFunctions(path)
    except errors.UsageError:
        return
    assert found.names  # a field that nobody reads


@pytest.mark.parametrize(("name", "is_of_runtime"), cases.read(__file__, "of_runtime"))
def test_the_runtime_is_what_go_itself_is_built_from(name: str, is_of_runtime: bool) -> None:
    assert go_functions.is_of_runtime(name) is is_of_runtime


def test_functions_of_interest_are_those_of_the_module_that_speak_of_claims(
    tmp_path: pathlib.Path,
) -> None:
    names = [
        "main.(*book).reserve",
        "main.main",
        "example.org/s/cache.(*Book).Get",
        "example.org/s/cache.(*Book).Get.func1",
        "example.org/s/cache.(*Book).Get-fm",
        "example.org/s/api/types.(*Claim).DeepCopy",
        "example.org/s/other.(*Claim).Hold",
        "example.org/other/cache.Assume",
        "sync.(*Pool).pinCache",
    ]
    functions = {name: TEXT + 0x20 * number for number, name in enumerate(names)}
    path = program(tmp_path, table=go_tables.table(functions, text=TEXT, end=END))
    path.write_bytes(path.read_bytes() + b"path\tx\nmod\texample.org/s\tv1.0.0\t\n")
    found = go_functions.GoFunctions(path).of_interest()
    assert found == [(names[index], functions[names[index]]) for index in (0, 2, 6)]
