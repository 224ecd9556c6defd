"""Tables of functions as the linker of Go writes them (1.20 and newer)."""

import struct
from collections.abc import Mapping

MAGIC = 0xFFFFFFF1
CHECK = bytes.fromhex("493b6610")
"""How most functions of Go begin on x86-64."""


def table(
    functions: Mapping[str, int], *, text: int, end: int, magic: int = MAGIC, is_told: bool = True
) -> bytes:
    """Return a section .gopclntab of functions: name -> entry.

    `is_told`: the start of the code is in the table, as in older releases.
    """
    ordered = sorted(functions.items(), key=lambda item: item[1])
    names, offsets = bytearray(b"\0"), []
    for name, _ in ordered:
        offsets.append(len(names))
        names += name.encode() + b"\0"
    records_at = (2 * len(ordered) + 1) * 4
    pairs = [(entry - text, records_at + 8 * number) for number, (_, entry) in enumerate(ordered)]
    records = b"".join(
        struct.pack("<Ii", entry - text, offset)
        for (_, entry), offset in zip(ordered, offsets, strict=True)
    )
    begin = 8 + 8 * 8
    head = struct.pack("<IBBBB", magic, 0, 0, 1, 8) + struct.pack(
        "<8Q", len(ordered), 0, text if is_told else 0, begin, 0, 0, 0, begin + len(names)
    )
    index = struct.pack(f"<{2 * len(pairs) + 1}I", *sum(pairs, ()), end - text)
    return head + bytes(names) + index + records


def elf(sections: Mapping[str, tuple[int, bytes]], *, machine: int = 62, start: int = 0) -> bytes:
    """Return an ELF file of sections: name -> address and content."""
    names = bytearray(b"\0")
    contents, headers, at = bytearray(), [bytes(64)], 64
    for name, (address, content) in {**sections, ".shstrtab": (0, b"")}.items():
        name_at = len(names)
        names += name.encode() + b"\0"
        content = bytes(names) if name == ".shstrtab" else content
        headers.append(
            struct.pack("<II6Q", name_at, 1, 0, address, at, len(content), 0, 0) + bytes(8)
        )
        contents += content
        at += len(content)
    head = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9) + struct.pack("<HHI", 2, machine, 1)
    head += struct.pack("<QQQI", start, 0, at, 0)
    head += struct.pack("<6H", 64, 56, 0, 64, len(headers), len(headers) - 1)
    return head + bytes(contents) + b"".join(headers)
