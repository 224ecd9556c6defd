"""Instructions under stops: what they do, how long they are, and how a copy has to read."""

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

OBJDUMP = shutil.which("objdump")
EFLAGS, R12, RSP = 18, 3, 19
WORD = (1 << 64) - 1
words = st.integers(0, WORD) | st.integers(0, 300) | st.integers(WORD - 300, WORD)
PADDING = bytes.fromhex("0f0b") * 12
"""Bytes behind an instruction that do not belong to it."""


@pytest.mark.parametrize(
    ("code", "frame", "length"),
    [
        ("49 3b 66 10 76 20", 0, 4),  # cmp 0x10(%r14),%rsp
        ("4c 8d 64 24 c0 4d 3b 66 10", 0x40, 9),  # lea -0x40(%rsp),%r12; cmp 0x10(%r14),%r12
        ("4c 8d 64 24 80 4d 3b 66 10", 0x80, 9),
        ("4c 8d a4 24 00 fc ff ff 4d 3b 66 10", 0x400, 12),
        # mov %rsp,%r12; sub $0x2000,%r12; jb; cmp 0x10(%r14),%r12
        ("49 89 e4 49 81 ec 00 20 00 00 72 2a 4d 3b 66 10", 0x2000, 16),
        ("49 89 e4 49 81 ec 00 20 00 00 0f 82 b9 00 00 00 4d 3b 66 10", 0x2000, 20),
    ],
)
def test_a_function_asks_for_room_on_the_stack(code: str, frame: int, length: int) -> None:
    assert instructions.stack_check(bytes.fromhex(code)) == (frame, length)


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


@pytest.mark.parametrize(
    ("code", "jump"),
    [
        ("e8 00 01 00 00", (5, 0x100, True)),
        ("e8 fb ff ff ff", (5, -5, True)),
        ("e9 10 00 00 00", (5, 0x10, False)),
        ("eb fe", (2, -2, False)),
    ],
)
def test_calls_and_jumps_say_how_far_they_go(code: str, jump: tuple[int, int, bool]) -> None:
    assert instructions.jump(bytes.fromhex(code) + PADDING) == jump


@pytest.mark.parametrize("code", ["74 10", "ff d0", "c3", "90", "0f 84 10 00 00 00"])
def test_others_do_not(code: str) -> None:
    assert instructions.jump(bytes.fromhex(code) + PADDING) is None


COPIED = [
    "55",  # push %rbp
    "41 57",  # push %r15
    "68 66 00 00 00",  # push $0x66, which is no prefix
    "81 66 08 ff 00 00 00",  # andl $0xff,0x8(%rsi)
    "66 81 66 08 ff 00",  # andw $0xff,0x8(%rsi)
    "66 b8 34 12",  # mov $0x1234,%ax
    "48 b8 11 22 33 44 55 66 77 88",  # movabs
    "b8 01 00 00 00",
    "48 83 ec 18",  # sub $0x18,%rsp
    "48 81 c4 88 00 00 00",
    "48 8b 44 24 08",  # mov 0x8(%rsp),%rax
    "48 8b 04 25 00 10 00 00",  # mov 0x1000,%rax
    "48 8b 84 cb 00 01 00 00",  # mov 0x100(%rbx,%rcx,8),%rax
    "64 48 8b 0c 25 f8 ff ff ff",  # mov %fs:-8,%rcx
    "84 00",  # test %al,(%rax)
    "48 85 c0",
    "f6 40 08 01",  # testb $1,0x8(%rax)
    "f7 c1 00 01 00 00",
    "48 f7 d8",  # neg
    "48 c7 44 24 08 00 00 00 00",
    "c6 00 01",
    "0f b6 c0",
    "44 0f 11 7c 24 20",  # movups %xmm15,0x20(%rsp)
    "f2 0f 10 44 24 08",
    "f2 48 0f 2a c0",
    "66 0f ef c0",
    "0f 1f 44 00 00",
    "ff 40 08",  # incl
    "48 6b c0 1f",
    "69 c0 e8 03 00 00",
    "90",
]


def test_an_instruction_is_copied_whole_and_alone() -> None:
    for code in COPIED:
        whole = bytes.fromhex(code)
        assert instructions.relocated(whole + PADDING, by=0x1234) == whole, code


@pytest.mark.parametrize(
    ("code", "moved"),
    [
        ("48 8d 05 00 10 00 00", "48 8d 05 00 0f 00 00"),  # lea 0x1000(%rip),%rax
        ("48 83 3d 00 10 00 00 05", "48 83 3d 00 0f 00 00 05"),  # cmpq $5,0x1000(%rip)
        ("81 3d 00 10 00 00 66 00 00 00", "81 3d 00 0f 00 00 66 00 00 00"),
        ("66 81 3d 00 10 00 00 66 00", "66 81 3d 00 0f 00 00 66 00"),
        ("44 0f 10 05 00 01 00 00", "44 0f 10 05 00 00 00 00"),
    ],
)
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
