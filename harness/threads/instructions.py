"""x86-64 instructions at stops: what they do, or how they can be executed elsewhere.

The instruction under a stop is not put back: another thread could pass meanwhile. Those that begin
most functions of Go are done by the tracer; most others are executed as a copy. For the rest
`relocated` returns None.
"""

import struct
from typing import Any, NamedTuple

CHECK = b"\x49\x3b\x66\x10"
"""`cmp 0x10(%r14),%rsp`: is there room on the stack of this goroutine?"""
_LARGE_CHECK = b"\x4d\x3b\x66\x10"
"""The same with %r12, which the instruction before has loaded."""
_FRAMES = (
    (b"\x4c\x8d\x64\x24", "<b", b"", -1),
    (b"\x4c\x8d\xa4\x24", "<i", b"", -1),
    (b"\x49\x89\xe4\x49\x81\xec", "<i", b"\x72", 1),
    (b"\x49\x89\xe4\x49\x81\xec", "<i", b"\x0f\x82", 1),
)
"""How %r12 is loaded: `lea -n(%rsp),%r12`, or `mov %rsp,%r12`, `sub n,%r12` and a jump that is not
taken. Each with the form of n, the jump's opcode, and the sign of n."""
_JUMP_LENGTHS = {b"": 0, b"\x72": 2, b"\x0f\x82": 6}
_R12, _EFLAGS, _WORD = 3, 18, (1 << 64) - 1
"""Numbers of registers, see `ptracing`, and the largest word."""
_PREFIXES = frozenset(b"\x66\xf2\xf3\x2e\x36\x3e\x26\x64\x65")
_CALL = 0xE8
_BYTE, _LONG = 1, 4
_PLAIN = {**dict.fromkeys([*range(0x50, 0x60), *range(0x90, 0x9A)], 0), 0x68: _LONG, 0x6A: _BYTE}
_PLAIN |= {0xA8: _BYTE, 0xA9: _LONG, **dict.fromkeys(range(0xB0, 0xB8), _BYTE)}
_PLAIN |= {op + 4: _BYTE for op in range(0, 0x40, 8)} | {op + 5: _LONG for op in range(0, 0x40, 8)}
"""Opcodes without operands in memory -> bytes of their immediate operand."""
_MODRM = {op + low: 0 for op in range(0, 0x40, 8) for low in range(4)}
_MODRM |= {0x63: 0, 0x69: _LONG, 0x6B: _BYTE, 0x80: _BYTE, 0x81: _LONG, 0x83: _BYTE}
_MODRM |= {**dict.fromkeys(range(0x84, 0x8C), 0), 0x8D: 0, 0x8F: 0, 0xC0: _BYTE, 0xC1: _BYTE}
_MODRM |= {0xC6: _BYTE, 0xC7: _LONG, **dict.fromkeys(range(0xD0, 0xD4), 0), 0xFE: 0}
_MODRM_0F = dict.fromkeys([*range(0x10, 0x18), 0x1F, *range(0x28, 0x30), *range(0x40, 0x70)], 0)
_MODRM_0F |= dict.fromkeys([0x6E, 0x6F, 0x7E, 0x7F, *range(0x90, 0xA0), 0xA3, 0xAB, 0xAF], 0)
_MODRM_0F |= dict.fromkeys([0xB0, 0xB1, 0xB3, 0xB6, 0xB7, *range(0xBB, 0xC2), 0xD6, 0xEF], 0)
_MODRM_0F |= dict.fromkeys([0x70, 0xBA, 0xC2, 0xC6], _BYTE)
"""Opcodes with a ModRM byte -> bytes of their immediate operand; those behind a byte 0x0f apart."""


class StackCheck(NamedTuple):
    """The beginning of a function that asks for room on the stack."""

    frame: int
    """Bytes that it asks for."""
    length: int
    """Of its instructions, with the comparison."""


def stack_check(code: bytes) -> StackCheck | None:
    """Return the check that a function begins with; None: it has none."""
    if code.startswith(CHECK):
        return StackCheck(0, len(CHECK))
    for begin, form, jump, sign in _FRAMES:
        end = len(begin) + struct.calcsize(form)
        if not code.startswith(begin) or not code[end:].startswith(jump):
            continue
        end += _JUMP_LENGTHS[jump]
        if code[end:].startswith(_LARGE_CHECK):
            frame = sign * int(struct.unpack_from(form, code, len(begin))[0])
            return StackCheck(frame, end + len(_LARGE_CHECK))
    return None


_FLAGS = 0x8D5
"""Bits of eflags that a comparison sets: carry, parity, adjust, zero, sign, overflow."""


def check(registers: Any, sp: int, asked: StackCheck, guard: int) -> None:
    """Do what the instructions of a check do, but for the program counter."""
    if asked.length > len(CHECK):
        registers[_R12] = sp - asked.frame
    _compare(registers, sp - asked.frame, guard)


def _compare(registers: Any, left: int, right: int) -> None:
    result = (left - right) & _WORD
    flags = (left < right) | (result == 0) << 6 | (result >> 63) << 7
    flags |= (not (result & 0xFF).bit_count() & 1) << 2
    flags |= ((left ^ right ^ result) & 0x10) | (((left ^ right) & (left ^ result)) >> 63) << 11
    registers[_EFLAGS] = registers[_EFLAGS] & ~_FLAGS | flags


class Jump(NamedTuple):
    """An instruction that goes elsewhere in any case."""

    length: int
    distance: int
    """From its end."""
    is_call: bool = False


def jump(code: bytes) -> Jump | None:
    """Return the first instruction as a jump or call; None: it is none, or depends on registers."""
    form = {0xE8: "<i", 0xE9: "<i", 0xEB: "<b"}.get(code[0])
    if form is None:
        return None
    (distance,) = struct.unpack_from(form, code, 1)
    return Jump(1 + struct.calcsize(form), distance, is_call=code[0] == _CALL)


def relocated(code: bytes, *, by: int) -> bytes | None:
    """Return the first instruction as it has to read `by` bytes further on; None: it cannot."""
    at = 0
    while code[at] in _PREFIXES:
        at += 1
    long = 2 if b"\x66" in code[:at] else 4
    is_wide = has_rex = 0x40 <= code[at] < 0x50
    if has_rex:
        is_wide, at = bool(code[at] & 8), at + 1
    opcode, at = code[at], at + 1
    if 0xB8 <= opcode < 0xC0:
        return code[: at + (8 if is_wide else long)]
    operands = _MODRM
    if opcode == 0x0F:
        operands, opcode, at = _MODRM_0F, code[at], at + 1
    elif opcode in _PLAIN:
        return code[: at + _immediate(_PLAIN[opcode], long)]
    immediate = _of_group(opcode, code[at]) if operands is _MODRM else operands.get(opcode)
    if immediate is None:
        return None
    return _with_operand(code, at, _immediate(immediate, long), by)


def _of_group(opcode: int, modrm: int) -> int | None:
    """Return the immediate operand of an opcode that is several instructions, by its ModRM byte."""
    number = modrm >> 3 & 7
    if opcode in (0xF6, 0xF7):
        return (_BYTE if opcode == 0xF6 else _LONG) if number < 2 else 0
    if opcode == 0xFF:
        return None if 2 <= number <= 5 else 0  # calls and jumps
    return _MODRM.get(opcode)


def _immediate(size: int, long: int) -> int:
    return long if size == _LONG else size


def _with_operand(code: bytes, at: int, immediate: int, by: int) -> bytes | None:
    mode, register = code[at] >> 6, code[at] & 7
    end = at + 1
    base = register
    if mode != 3 and register == 4:
        base, end = code[end] & 7, end + 1
    if mode == 0 and register == 5:  # relative to the program counter
        (distance,) = struct.unpack_from("<i", code, end)
        moved = distance - by
        if not -(1 << 31) <= moved < 1 << 31:
            return None
        return code[:end] + struct.pack("<i", moved) + code[end + 4 : end + 4 + immediate]
    end += {0: 4 if base == 5 else 0, 1: 1, 2: 4, 3: 0}[mode]
    return code[: end + immediate]
