"""A Go program whose threads stop at places, and are held there."""

import dataclasses
import functools
import os
import pathlib
import signal
from collections.abc import Callable, Mapping, Sequence

from harness import errors
from harness.model import thread_places
from harness.threads import go_functions, instructions, ptracing

STACK_MAX = 16
"""Functions of a stack that are told."""
_GUARD = 16
"""Offset of `stackguard0` in the goroutine, the word that Go's check of the stack reads."""
_OF_TRACER = frozenset({signal.SIGSTOP, signal.SIGTSTP})
"""Signals that the program does not get: its tracer stops it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Visit:
    """A thread has come to a place, and stands there."""

    thread: int
    goroutine: int
    """Address of the goroutine, which another one may have later."""
    point: thread_places.Point
    function: str
    caller: str
    stack: Callable[[], list[str]]
    """Returns the functions that the thread is in, the newest first."""


@dataclasses.dataclass(slots=True)
class _Stop:
    """An address at which threads stop."""

    address: int
    code: bytes
    """The instructions that stood there."""
    returns: set[str] = dataclasses.field(default_factory=set)
    """Names of the functions from which threads return to here; empty: a function begins here."""


Decide = Callable[[Visit], bool]
"""Returns whether the thread is held."""
_Key = tuple[int, int]


class TracedProgram:
    """A program with stops. All methods are called by one thread."""

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        *,
        decide: Decide,
        wants_return: Callable[[str, str], bool],
    ) -> None:
        """`wants_return` of a function and its caller: does its return count as a place?

        The program stands before its first instruction until `start`. Raises UsageError if it is
        none whose threads can be held.
        """
        self.functions = go_functions.GoFunctions(pathlib.Path(argv[0]))
        self._decide, self._wants_return = decide, wants_return
        self._traced = ptracing.Traced(argv, environment)
        self.pid = self._traced.pid
        self._machine, self._start = self._traced.machine, self._traced.entry_point()
        self._moved = self._start - self.functions.start
        self._stops: dict[int, _Stop] = {}
        self._left: set[int] = set()
        """Addresses that were stops before: threads may have come to them meanwhile."""
        self._returning: dict[_Key, list[str]] = {}
        """Goroutine and address of return -> functions that are to return there, the newest last.
        """
        self._again: set[_Key] = set()
        """Goroutine and entry at which it comes once more without a new call."""
        self.held: set[int] = set()
        """The threads that stand at places."""
        self.exit_status: int | None = None

    def start(self) -> None:
        self._traced.go_on(self.pid)

    # ------------------------------------------------------------------------------ stops

    def stop_at(self, entry: int) -> None:
        self._set(entry + self._moved)

    def leave(self, entry: int) -> None:
        """Let no more threads stop at a function, nor where it returns to."""
        name = self.functions.at(entry)
        for stop in list(self._stops.values()):
            is_return = name in stop.returns
            stop.returns.discard(name)
            if stop.address == entry + self._moved or (is_return and not stop.returns):
                self._unset(stop)

    def leave_all(self) -> None:
        for stop in list(self._stops.values()):
            self._unset(stop)
        for thread in list(self.held):
            self.release(thread)

    def _set(self, address: int) -> _Stop:
        if address not in self._stops:
            code = self._traced.read(address, 32)
            self._stops[address] = _Stop(address, code)
            self._traced.write(address, self._machine.stop)
        return self._stops[address]

    def _unset(self, stop: _Stop) -> None:
        del self._stops[stop.address]
        self._left.add(stop.address)
        self._traced.write(stop.address, stop.code[: len(self._machine.stop)])

    # ----------------------------------------------------------------------------- threads

    def handle(self) -> bool:
        """Handle one thing that has happened; return False if there is none."""
        try:
            thread, status = os.waitpid(-1, ptracing.WAIT_ALL | os.WNOHANG)
        except ChildProcessError:
            return False
        if not thread:
            return False
        try:
            self._happened(thread, status)
        except ProcessLookupError:
            self.held.discard(thread)  # it was killed where it stood
        return True

    def release(self, thread: int) -> None:
        if thread in self.held:
            self.held.discard(thread)
            self._go_on(thread, [])

    def _stack(self, registers: ptracing.Registers, visited: tuple[str, str]) -> list[str]:
        """Return the functions that a thread is in; it has not pushed its frame pointer yet if a
        function begins."""
        names, frame = [name for name in visited if name], registers[self._machine.frame]
        while frame and len(names) < STACK_MAX:
            try:
                name = self._name(self._traced.word(frame + 8))
                frame = self._traced.word(frame)
            except OSError:
                break
            names += [name] * bool(name)
        return names

    def _name(self, address: int) -> str:
        return self.functions.at(address - self._moved)

    def _return_address(self, registers: ptracing.Registers) -> int:
        link = self._machine.link
        if link is not None:
            return int(registers[link])
        return self._traced.word(registers[self._machine.sp])

    def _happened(self, thread: int, status: int) -> None:
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            self.held.discard(thread)
            if thread == self.pid:
                self.exit_status = status
            return
        number, event = os.WSTOPSIG(status), status >> 16
        if event == ptracing.EVENT_EXEC:
            raise errors.ProcessError(
                "expected the program to stay the one whose threads are held, but it has executed "
                f"another one: {pathlib.Path(f'/proc/{self.pid}/exe').readlink()}"
            )
        if number == signal.SIGTRAP and not event and self._at_stop(thread):
            return
        passed_on = [number] if not event and number not in _OF_TRACER else []
        self._go_on(thread, passed_on, is_at_stop=False)

    def _at_stop(self, thread: int) -> bool:
        """Handle a thread at a stop; return False if there is none."""
        registers = self._traced.registers(thread)
        address = registers[self._machine.pc] - self._machine.behind
        stop = self._stops.get(address)
        if stop is None:
            if address not in self._left:
                return False  # the program's own
            registers[self._machine.pc] = address  # the stop was removed meanwhile
            self._traced.set_registers(thread, registers)
            self._go_on(thread, [], is_at_stop=False)
            return True
        registers[self._machine.pc] = address
        if self._visit(thread, stop, registers):
            self._traced.set_registers(thread, registers)
            self.held.add(thread)
        else:
            self._over(thread, stop, registers, [])
        return True

    def _visit(self, thread: int, stop: _Stop, registers: ptracing.Registers) -> bool:
        g = registers[self._machine.g]
        key = g, stop.address
        if stop.returns:
            function, here = self._returned(key), self._name(stop.address)
            stack = functools.partial(self._stack, registers, (here, ""))
            visit = Visit(thread, g, "return", function, here, stack)
            return function in stop.returns and self._decide(visit)
        if key in self._again:
            self._again.discard(key)
            return False
        back = self._return_address(registers)
        function, caller = self._name(stop.address), self._name(back)
        if caller and self._wants_return(function, caller):
            self._set(back).returns.add(function)
            self._returning.setdefault((g, back), []).append(function)
        stack = functools.partial(self._stack, registers, (function, caller))
        return self._decide(Visit(thread, g, "entry", function, caller, stack))

    def _returned(self, key: _Key) -> str:
        """Return the function that has returned; empty: its call was not seen."""
        calls = self._returning.get(key, [])
        function = calls.pop() if calls else ""
        if not calls:
            self._returning.pop(key, None)
        return function

    # ------------------------------------------------------------------ over the instruction

    def _go_on(self, thread: int, signals: list[int], *, is_at_stop: bool = True) -> None:
        if is_at_stop:
            registers = self._traced.registers(thread)
            stop = self._stops.get(registers[self._machine.pc])
            if stop is not None:
                self._over(thread, stop, registers, signals)
                return
        self._deliver(thread, signals)

    def _deliver(self, thread: int, signals: list[int]) -> None:
        for number in signals[1:]:
            ptracing.tgkill(self.pid, thread, number)
        self._traced.go_on(thread, signals[0] if signals else 0)

    def _over(
        self, thread: int, stop: _Stop, registers: ptracing.Registers, signals: list[int]
    ) -> None:
        """Let a thread execute the instruction under a stop, and go on.

        Go asks a goroutine to yield, or gives it a larger stack, in the check at the beginning of a
        function: it begins once more then, which is no other visit.
        """
        if stop.returns or not self._has_checked(thread, stop, registers):
            signals += self._executed(thread, stop, registers)
        self._deliver(thread, [number for number in signals if number not in _OF_TRACER])

    def _has_checked(self, thread: int, stop: _Stop, registers: ptracing.Registers) -> bool:
        """Do the check of the stack at the beginning of a function; return False if it has none."""
        machine, asked = self._machine, instructions.stack_check(stop.code)
        g, sp = registers[machine.g], registers[machine.sp]
        if asked is None and machine.link is None:
            return False
        guard = self._traced.word(g + _GUARD)
        if sp - (asked.frame if asked else 0) <= guard:
            self._again.add((g, stop.address))
        if asked is None:
            return False
        instructions.check(registers, sp, asked, guard)
        registers[machine.pc] += asked.length
        self._traced.set_registers(thread, registers)
        return True

    def _executed(self, thread: int, stop: _Stop, registers: ptracing.Registers) -> list[int]:
        """Execute the instruction under a stop; return the signals that came meanwhile."""
        machine, code = self._machine, stop.code
        moved = None
        if machine.link is None:
            if jump := instructions.jump(code):
                self._jump(thread, stop, registers, jump)
                return []
            moved = instructions.relocated(code, by=self._start - stop.address)
        if moved is None:
            return self._executed_in_place(thread, stop, registers)
        self._traced.write(self._start, moved)
        registers[machine.pc] = self._start
        self._traced.set_registers(thread, registers)
        came = self._traced.step(thread)
        after = self._traced.registers(thread)
        after[machine.pc] += stop.address - self._start
        self._traced.set_registers(thread, after)
        return came

    def _jump(
        self,
        thread: int,
        stop: _Stop,
        registers: ptracing.Registers,
        jump: instructions.Jump,
    ) -> None:
        machine, after = self._machine, stop.address + jump.length
        if jump.is_call:
            registers[machine.sp] -= 8
            self._traced.write(registers[machine.sp], after.to_bytes(8, "little"))
        registers[machine.pc] = after + jump.distance
        self._traced.set_registers(thread, registers)

    def _executed_in_place(
        self, thread: int, stop: _Stop, registers: ptracing.Registers
    ) -> list[int]:
        """Put the instruction back for one step; another thread could pass unseen meanwhile."""
        self._traced.set_registers(thread, registers)
        self._traced.write(stop.address, stop.code[: len(self._machine.stop)])
        try:
            return self._traced.step(thread)
        finally:
            self._traced.write(stop.address, self._machine.stop)
