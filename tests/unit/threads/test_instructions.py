"""Instructions under stops: what they do, how long they are, and how a copy has to read."""

import functools
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.threads import instructions
from tests.support import text_tables

OBJDUMP = shutil.which("objdump")
EFLAGS, R12, RSP = 18, 3, 19
WORD = (1 << 64) - 1
words = st.integers(0, WORD) | st.integers(0, 300) | st.integers(WORD - 300, WORD)
table = functools.partial(text_tables.cases, __file__, "instructions.txt")
PADDING = bytes.fromhex("0f0b") * 12
"""Bytes behind an instruction that do not belong to it."""


@pytest.mark.parametrize(("code", "frame", "length"), table("frames"))
def test_a_function_asks_for_room_on_the_stack(code: str, frame: str, length: str) -> None:
    assert instructions.stack_check(bytes.fromhex(code)) == (int(frame), int(length))


@pytest.mark.parametrize("code", ["55 48 89 e5", "4c 8d 64 24 c0 90 90", "49 89 e4 49 81 ec 00 00"])
def test_other_functions_ask_for_none(code: str) -> None:
    assert instructions.stack_check(bytes.fromhex(code)) is None


def as_bits(number: int) -> list[int]:
    return [number >> bit & 1 for bit in range(64)]


def flags_of_cmp(left: int, right: int) -> int:
    """Return the flags that `cmp` sets, by a subtraction bit by bit as on paper."""
    borrow, borrows, result = 0, [], []
    for one, other in zip(as_bits(left), as_bits(right), strict=True):
        result.append(one ^ other ^ borrow)
        borrow = int(one - other - borrow < 0)
        borrows.append(borrow)
    is_even = sum(result[:8]) % 2 == 0
    is_zero = not any(result)
    overflows = borrows[63] ^ borrows[62]
    bits = {0: borrow, 2: is_even, 4: borrows[3], 6: is_zero, 7: result[63], 11: overflows}
    return sum(1 << bit for bit, is_set in bits.items() if is_set)


@given(words, words, words)
@example(0, 0, WORD)
@example(1 << 63, 1, 0)
@example(0xC000012F00, 0xFFFFFFFFFFFFFADE, 0x246)
def test_the_flags_are_those_of_the_comparison(sp: int, guard: int, before: int) -> None:
    registers = [0] * 27
    registers[EFLAGS], kept = before, 0x8D5
    asked = instructions.StackCheck(0, 4)
    instructions.check(registers, sp, asked, guard)
    assert registers[EFLAGS] & kept == flags_of_cmp(sp, guard)
    assert registers[EFLAGS] & ~kept == before & ~kept
    assert registers[R12] == 0


@given(st.integers(1 << 14, WORD), words)
def test_a_check_of_a_large_frame_loads_the_register(sp: int, guard: int) -> None:
    registers = [0] * 27
    instructions.check(registers, sp, instructions.StackCheck(0x2000, 16), guard)
    assert registers[R12] == sp - 0x2000
    assert registers[EFLAGS] == flags_of_cmp(sp - 0x2000, guard)


@pytest.mark.parametrize(("code", "length", "distance", "is_call"), table("jumps"))
def test_calls_and_jumps_say_how_far_they_go(
    code: str, length: str, distance: str, is_call: str
) -> None:
    told = (int(length), int(distance), is_call == "yes")
    assert instructions.jump(bytes.fromhex(code) + PADDING) == told


@pytest.mark.parametrize("code", ["74 10", "ff d0", "c3", "90", "0f 84 10 00 00 00"])
def test_others_do_not(code: str) -> None:
    assert instructions.jump(bytes.fromhex(code) + PADDING) is None


def test_an_instruction_is_copied_whole_and_alone() -> None:
    for case in table("copied"):
        whole = bytes.fromhex(case.values[0])
        assert instructions.relocated(whole + PADDING, by=0x1234) == whole, case.id


@pytest.mark.parametrize(("code", "moved"), table("moved"))
def test_what_is_relative_to_the_instruction_is_moved(code: str, moved: str) -> None:
    found = instructions.relocated(bytes.fromhex(code) + PADDING, by=0x100)
    assert found == bytes.fromhex(moved)


def test_what_is_too_far_away_is_not_moved() -> None:
    code = bytes.fromhex("48 8d 05 00 00 00 80")
    assert instructions.relocated(code + PADDING, by=1) is None
    assert instructions.relocated(code + PADDING, by=-1) is not None


@pytest.mark.parametrize("code", ["c3", "74 05", "ff d0", "ff 25 00 00 00 00", "0f 05", "c5 f8 77"])
def test_what_depends_on_where_it_is_has_no_copy(code: str) -> None:
    assert instructions.relocated(bytes.fromhex(code) + PADDING, by=0x100) is None


def disassembled(program: pathlib.Path) -> Iterator[tuple[bytes, str]]:
    """Yield the instructions of a program, as bytes and text."""
    assert OBJDUMP
    command = [OBJDUMP, "-d", "-w", "--insn-width=16", "--section=.text", program]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        if found := re.fullmatch(r" +[0-9a-f]+:\t((?:[0-9a-f]{2} )+) *\t(.*)", line):
            yield bytes.fromhex(found[1]), found[2]


@pytest.mark.skipif(OBJDUMP is None, reason="objdump is not on PATH")
def test_lengths_are_those_of_a_disassembler() -> None:
    path = pathlib.Path(shutil.which("gcc") or sys.executable)
    with path.open("rb") as file:
        if file.read(20)[18] != 62:
            pytest.skip(f"{path} is no program for x86-64")
    copied = 0
    seen = dict(disassembled(path))
    for code, text in seen.items():
        if "(bad)" in text or code[0] in {0x26, 0x2E, 0x36, 0x3E} or len(code) > 15:
            continue
        found = instructions.relocated(code + PADDING, by=0)
        assert found in {None, code}, f"{code.hex(' ')}: {text}"
        copied += found is not None
    assert copied > len(seen) / 2
