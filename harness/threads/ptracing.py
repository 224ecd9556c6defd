"""ptrace(2) of x86-64 and aarch64: threads that are stopped, their registers and memory.

No library of PyPI fits: gdb and its kin are programs of their own, frida's hooks run on the small
stacks of goroutines, and others stop the whole process where one thread has to stand still.
"""

import ctypes
import dataclasses
import os
import platform
import signal
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from harness import bound_processes, errors

WAIT_ALL = 0x40000000  # __WALL
_TRACEME, _CONT, _STEP, _SET_OPTIONS = 0, 7, 9, 0x4200
_GET_REGISTERS, _SET_REGISTERS, _GENERAL = 0x4204, 0x4205, 1
_OPTIONS = 0x100000 | 8 | 0x10  # EXITKILL, TRACECLONE, TRACEEXEC
EVENT_EXEC = 4
_AT_ENTRY = 9
_FAULTS = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL})
"""Signals that an instruction itself causes, and would cause again."""


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """The differences between kinds of processors."""

    stop: bytes
    """The instruction at which a thread stops."""
    behind: int
    """Bytes by which the program counter is behind the stop then."""
    words: int
    pc: int
    sp: int
    frame: int
    g: int
    """Register of the goroutine in functions of Go."""
    link: int | None
    """Register of the return address at an entry; None: it is on the stack."""


MACHINES: Mapping[str, Machine] = {
    "x86_64": Machine(b"\xcc", 1, words=27, pc=16, sp=19, frame=4, g=1, link=None),
    "aarch64": Machine(b"\x00\x00\x20\xd4", 0, words=34, pc=32, sp=31, frame=29, g=28, link=30),
}
"""By the name of the machine; numbers are those of words in its registers."""


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


Registers = Any
"""An array of 64-bit words."""


def require_possible() -> None:
    """Raise UsageError if this machine is none on which threads can be stopped."""
    if os.uname().sysname != "Linux" or platform.machine() not in MACHINES:
        raise errors.UsageError(
            "expected Linux on x86-64 or aarch64 to hold threads of a program, got "
            f"{os.uname().sysname} on {platform.machine()}: play scripts without places there"
        )


def tgkill(pid: int, thread: int, number: int) -> None:
    """Send a signal to a thread; does nothing if it has ended."""
    ctypes.CDLL(None).tgkill(pid, thread, number)


class Traced:
    """A program that was started to be traced, its threads, registers and memory."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start the program; it stands before its first instruction then.

        Raises OSError if it cannot be executed, and UsageError if tracing it is forbidden.
        """
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.ptrace.restype = ctypes.c_long
        self._libc.ptrace.argtypes = [
            ctypes.c_long,
            ctypes.c_long,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]
        self.machine = MACHINES[platform.machine()]
        self.pid = self._start(argv, environment)
        self._ptrace(_SET_OPTIONS, self.pid, data=_OPTIONS)
        self._memory = os.open(f"/proc/{self.pid}/mem", os.O_RDWR | os.O_CLOEXEC)

    def entry_point(self) -> int:
        """Return the address of the program's first instruction; it is executed only once."""
        with open(f"/proc/{self.pid}/auxv", "rb") as file:  # noqa: PTH123 - not a regular file
            pairs = dict(struct.iter_unpack("<QQ", file.read()))
        return int(pairs[_AT_ENTRY])

    def read(self, address: int, size: int) -> bytes:
        return os.pread(self._memory, size, address)

    def word(self, address: int) -> int:
        return int.from_bytes(os.pread(self._memory, 8, address), "little")

    def write(self, address: int, data: bytes) -> None:
        os.pwrite(self._memory, data, address)

    def registers(self, thread: int) -> Registers:
        found = (ctypes.c_uint64 * self.machine.words)()
        self._exchange(_GET_REGISTERS, thread, found)
        return found

    def set_registers(self, thread: int, registers: Registers) -> None:
        self._exchange(_SET_REGISTERS, thread, registers)

    def go_on(self, thread: int, number: int = 0) -> None:
        self._ptrace(_CONT, thread, data=number)

    def step(self, thread: int) -> list[int]:
        """Let a thread execute one instruction; return the signals that came meanwhile.

        Raises ProcessLookupError if it has ended.
        """
        came: list[int] = []
        while True:
            self._ptrace(_STEP, thread)
            _, status = os.waitpid(thread, WAIT_ALL)
            if not os.WIFSTOPPED(status):
                raise ProcessLookupError(thread)
            number = os.WSTOPSIG(status)
            if number == signal.SIGTRAP:
                return came
            if number in _FAULTS:  # first, as the kernel then tells the program what it was
                return [number, *came]
            came.append(number)

    def _exchange(self, request: int, thread: int, registers: Registers) -> None:
        vector = _Vector(ctypes.addressof(registers), ctypes.sizeof(registers))
        self._ptrace(request, thread, address=_GENERAL, data=ctypes.addressof(vector))

    def _ptrace(self, request: int, thread: int, *, address: int = 0, data: int = 0) -> None:
        if self._libc.ptrace(request, thread, address, data) == -1:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def _start(self, argv: Sequence[str], environment: Mapping[str, str]) -> int:
        tracer, (told, tell) = os.getpid(), os.pipe()
        pid = os.fork()
        if pid == 0:
            self._become(tracer, tell, argv, environment)
        os.close(tell)
        os.waitpid(pid, WAIT_ALL)
        with os.fdopen(told, "rb") as failures:
            if failure := failures.read():
                step, number = failure.decode().split()
                error = OSError(int(number), os.strerror(int(number)), argv[0])
                raise error if step == "exec" else _forbidden(argv[0], error)
        return pid

    def _become(
        self, tracer: int, tell: int, argv: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        """In the child: become the program. Only this thread is left, so that no lock is held."""
        step = "trace"
        try:
            bound_processes.die_with(tracer)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            self._ptrace(_TRACEME, 0)
            step = "exec"
            os.execvpe(argv[0], list(argv), environment)  # noqa: S606
        except OSError as error:
            os.write(tell, f"{step} {error.errno}".encode())
        finally:
            os._exit(127)


def _forbidden(program: str, error: OSError) -> errors.UsageError:
    return errors.UsageError(
        f"expected the right to trace {program}, got {error.strerror}: is it traced already, or is "
        "ptrace forbidden here (kernel.yama.ptrace_scope=3, a container without SYS_PTRACE)?"
    )
