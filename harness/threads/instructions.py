"""x86-64 instructions at stops: what they do, or how they can be executed elsewhere.

The instruction under a stop is not put back: another thread could pass meanwhile. Those that begin
most functions of Go are done by the tracer; most others are executed as a copy. For the rest
`relocated` returns None.
"""

import struct
from typing import Any

CHECK = b"\x49\x3b\x66\x10"
"""`cmp 0x10(%r14),%rsp`: is there room on the stack of this goroutine?"""
_LARGE_CHECK = b"\x4d\x3b\x66\x10"
"""The same with %r12, which the instruction before has loaded."""
_LEA_8, _LEA_32 = b"\x4c\x8d\x64\x24", b"\x4c\x8d\xa4\x24"
"""`lea -n(%rsp),%r12`."""
_R12, _EFLAGS, _WORD = 3, 18, (1 << 64) - 1
"""Numbers of registers, see `ptracing`, and the largest word."""
_PREFIXES = frozenset(b"\x66\xf2\xf3\x2e\x36\x3e\x26\x64\x65")
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


def frame_size(code: bytes) -> int | None:
    """Return the bytes that the function that begins so asks room for; None: it does not ask."""
    if code.startswith(CHECK):
        return 0
    for begin, form in ((_LEA_8, "<b"), (_LEA_32, "<i")):
        size = len(begin) + struct.calcsize(form)
        if code.startswith(begin) and code[size:].startswith(_LARGE_CHECK):
            return -int(struct.unpack_from(form, code, len(begin))[0])
    return None


_FLAGS = 0x8D5
"""Bits of eflags that a comparison sets: carry, parity, adjust, zero, sign, overflow."""


def check(registers: Any, sp: int, size: int, guard: int) -> int:
    """Do the check of a frame of this size; return the length of its instructions."""
    if not size:
        _compare(registers, sp, guard)
        return len(CHECK)
    registers[_R12] = sp - size
    _compare(registers, sp - size, guard)
    is_short = size <= 0x80
    return len(_LEA_8) + (1 if is_short else 4) + len(_LARGE_CHECK)


def _compare(registers: Any, left: int, right: int) -> None:
    """Set the flags as `cmp` of two unsigned words does."""
    result = (left - right) & _WORD
    flags = (left < right) | (result == 0) << 6 | (result >> 63) << 7
    flags |= (not (result & 0xFF).bit_count() & 1) << 2
    flags |= ((left ^ right ^ result) & 0x10) | (((left ^ right) & (left ^ result)) >> 63) << 11
    registers[_EFLAGS] = registers[_EFLAGS] & ~_FLAGS | flags


def relocated(code: bytes, *, by: int) -> bytes | None:
    """Return the first instruction as it has to read `by` bytes further on; None: it cannot."""
    at = 0
    while code[at] in _PREFIXES:
        at += 1
    is_wide = has_rex = 0x40 <= code[at] < 0x50
    if has_rex:
        is_wide, at = bool(code[at] & 8), at + 1
    opcode, at = code[at], at + 1
    if 0xB8 <= opcode < 0xC0:
        return code[: at + (8 if is_wide else 4)]
    operands = _MODRM
    if opcode == 0x0F:
        operands, opcode, at = _MODRM_0F, code[at], at + 1
    elif opcode in _PLAIN:
        return code[: at + _immediate(_PLAIN[opcode], code)]
    immediate = _of_group(opcode, code[at]) if operands is _MODRM else operands.get(opcode)
    if immediate is None:
        return None
    return _with_operand(code, at, _immediate(immediate, code), by)


def _of_group(opcode: int, modrm: int) -> int | None:
    """Return the immediate operand of an opcode that is several instructions, by its ModRM byte."""
    number = modrm >> 3 & 7
    if opcode in (0xF6, 0xF7):
        return (_BYTE if opcode == 0xF6 else _LONG) if number < 2 else 0
    if opcode == 0xFF:
        return None if 2 <= number <= 5 else 0  # calls and jumps
    return _MODRM.get(opcode)


def _immediate(size: int, code: bytes) -> int:
    has_short_operands = b"\x66" in code[:2]
    return 2 if size == _LONG and has_short_operands else size


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
