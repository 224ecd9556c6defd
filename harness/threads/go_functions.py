"""The functions of a Go program, from the table that it keeps for its own stack traces.

A stripped program keeps `.gopclntab`, too. Its format is that of Go 1.18 and newer, see
runtime/symtab.go and internal/abi/symtab.go of Go.
"""

import bisect
import mmap
import pathlib
import re
import struct
from collections.abc import Sequence

from harness import errors, suggestions
from harness.model import thread_places

MACHINES = {62: "x86_64", 183: "aarch64"}
_MAGIC = (0xFFFFFFF0, 0xFFFFFFF1)
"""Of Go 1.18 and 1.20."""
_TABLES = (".gopclntab", ".data.rel.ro.gopclntab")
_PROLOGUES = (b"\x49\x3b\x66\x10", b"\x4c\x8d\x64\x24", b"\x4c\x8d\xa4\x24", b"\x55")
_TELLING = re.compile(r"claim|device|alloc|assum|cache|in_?flight|reserv|pending", re.IGNORECASE)
_OTHERS = re.compile(
    r"deferwrap|-fm$|-range|\.func\d|DeepCopy|\.String$|\.init(\.|$)|/apis?/|/metrics\.|^type:"
)
"""Functions that a compiler or generator has made, and types of the API."""
_LOOKED_AT, _USUAL = 2000, 0.3
"""Functions whose first bytes are looked at, and the least share of usual ones."""


class GoFunctions:
    """Names and addresses of the functions of a program, without its load address."""

    def __init__(self, path: pathlib.Path) -> None:
        """Raises UsageError for a file that is no Go program for Linux with tables."""
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                raise _unusable(path, "it is no ELF file, as scripts are not: name the program")
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with data:
            try:
                self._look(path, data)
            except (struct.error, LookupError, ValueError, OverflowError) as error:
                raise _unusable(path, "its tables are cut off, or are none") from error

    def _look(self, path: pathlib.Path, data: mmap.mmap) -> None:
        machine, self.start = struct.unpack_from("<H4xQ", data, 18)
        self.machine = MACHINES.get(machine, f"machine {machine}")
        sections = _sections(data)
        self.module = _module(data)
        table = next((sections[name] for name in _TABLES if name in sections), None)
        if table is None:
            raise _unusable(path, "it has no table .gopclntab, as programs in Go have")
        self._read(path, data, table[1], sections[".text"])

    def _read(
        self, path: pathlib.Path, data: mmap.mmap, base: int, code: tuple[int, int, int]
    ) -> None:
        (magic,) = struct.unpack_from("<I", data, base)
        if magic not in _MAGIC or data[base + 7] != struct.calcsize("P"):
            raise _unusable(path, "its .gopclntab is not that of Go 1.18 or newer")
        count, _, text, names_at, _, _, _, functions_at = struct.unpack_from("<8Q", data, base + 8)
        text = text or code[0]
        table = base + functions_at
        pairs = struct.unpack_from(f"<{2 * count + 1}I", data, table)
        self.entries = [text + offset for offset in pairs[:-1:2]]
        self.end = text + pairs[-1]
        self.names = [
            _text(data, base + names_at + struct.unpack_from("<i", data, table + record + 4)[0])
            for record in pairs[1::2]
        ]
        if self.machine == "x86_64":
            self._require_code(path, data, code)

    def _require_code(
        self, path: pathlib.Path, data: mmap.mmap, code: tuple[int, int, int]
    ) -> None:
        address, offset, size = code
        places = [
            entry - address + offset
            for entry in self.entries[:: max(1, len(self.entries) // _LOOKED_AT)]
            if 0 <= entry - address < size
        ]
        usual = sum(data[place : place + 4].startswith(_PROLOGUES) for place in places)
        if usual < _USUAL * len(places) or not places:
            raise _unusable(path, "its .gopclntab does not fit its code")

    def at(self, address: int) -> str:
        """Return the name of the function at an address; empty: there is none."""
        index = bisect.bisect_right(self.entries, address) - 1
        return self.names[index] if index >= 0 and address < self.end else ""

    def matching(self, pattern: str) -> list[tuple[str, int]]:
        """Return names and entries of the functions of a pattern.

        Raises UsageError if there are none, or if they are of Go's runtime, which must not stop.
        """
        # Most names are passed over without a regular expression: there are a hundred thousand.
        parts = [max(part.split("*"), key=len).strip() for part in pattern.split("|")]
        found = [
            (name, entry)
            for name, entry in zip(self.names, self.entries, strict=True)
            if any(part in name for part in parts) and thread_places.matches(pattern, name)
        ]
        if not found:
            wanted = pattern.partition("|")[0].strip().replace("*", "")
            near = suggestions.did_you_mean(wanted, self._like(wanted))
            raise errors.UsageError(
                f"expected a function of the program, got {pattern!r}: none is called so, or it is "
                f"inlined everywhere.{near}"
            )
        for name, _ in found:
            if is_of_runtime(name):
                raise errors.UsageError(
                    f"expected a function outside Go's runtime, got {pattern!r}, which is {name}: "
                    "a thread that stands there may stop all others"
                )
        return found

    def of_interest(self) -> list[tuple[str, int]]:
        """Return the functions of the program's own module whose names speak of what may race."""
        own = ("main.", f"{self.module}/", f"{self.module}.")
        return [
            (name, entry)
            for name, entry in zip(self.names, self.entries, strict=True)
            if name.startswith(own)
            and not _OTHERS.search(name)
            and _TELLING.search(thread_places.short(name))
        ]

    def _like(self, wanted: str) -> Sequence[str]:
        """Return the ends of names that begin or end as a name does, for a suggestion."""
        key = wanted.rpartition(".")[2].lower()
        ends = {thread_places.short(name).partition(".")[2] for name in self.names}
        if "." not in wanted:
            ends = {end.rpartition(".")[2] for end in ends}
        lasts = {end: end.rpartition(".")[2].lower() for end in ends}
        near = (key[:3], key[-3:])
        return [end for end, last in lasts.items() if near[0] == last[:3] or near[1] == last[-3:]]


def is_of_runtime(name: str) -> bool:
    """Return whether a function belongs to Go's runtime, or to what it is built from."""
    package = name.partition(".")[0] if "/" not in name else name.rpartition("/")[0]
    return package in {"runtime", "sync", "syscall"} or name.startswith(("internal/", "runtime/"))


def _sections(data: mmap.mmap) -> dict[str, tuple[int, int, int]]:
    """Return the sections of an ELF file by name: address, offset and size."""
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<II4Q", data, table + i * size) for i in range(count)]
    if not headers:
        return {}
    names_at = headers[names_index][4]
    return {_text(data, names_at + item[0]): item[3:6] for item in headers}


def _module(data: mmap.mmap) -> str:
    """Return the module of the program, from what Go says about its build; empty: it says none."""
    at = data.find(b"\nmod\t")
    return data[at + 5 : at + 300].partition(b"\t")[0].decode(errors="replace") if at > 0 else ""


def _text(data: mmap.mmap, at: int) -> str:
    return data[at : data.find(b"\0", at)].decode(errors="replace")


def _unusable(path: pathlib.Path, why: str) -> errors.UsageError:
    return errors.UsageError(f"expected a program in Go for Linux, got {path}: {why}")
