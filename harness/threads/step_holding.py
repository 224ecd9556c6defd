"""Threads of a program in Python, held at its named steps by the same commands."""

import contextlib
import pathlib
import select
import socket
import threading
import traceback
from typing import Any

from harness.threads import hold_rules, messages, traced_program, tracer

_LOOK_S = 0.02
_PIECE = 1 << 16


class StepHolder:
    """A listener of named steps, which a run commands as it commands a tracer."""

    def __init__(self, path: pathlib.Path) -> None:
        self._guard = threading.Lock()
        self._told = bytearray()
        self._rules = hold_rules.HoldRules(self._tell)
        self._held: dict[int, threading.Event] = {}
        threading.Thread(target=self._serve, args=(path,), name="step-holder", daemon=True).start()

    def __call__(self, name: str, fields: Any) -> None:
        del fields
        thread = threading.get_ident()
        visit = traced_program.Visit(thread, thread, "step", name, "", _stack)
        with self._guard:
            if not self._rules.decide(visit):
                return
            released = self._held[thread] = threading.Event()
        released.wait()

    def _serve(self, path: pathlib.Path) -> None:
        try:
            with (
                tracer.listening(path) as listener,
                tracer.accepted(listener) as connection,
                contextlib.suppress(OSError),
            ):
                self._obey(connection)
        finally:
            with self._guard:  # the run has closed the connection
                self._rules = hold_rules.HoldRules(self._tell)
                for released in self._held.values():
                    released.set()

    def _obey(self, connection: socket.socket) -> None:
        lines = messages.Lines()
        while True:
            readable, _, _ = select.select([connection], [], [], _LOOK_S)
            data = connection.recv(_PIECE) if readable else None
            if data == b"":
                return
            with self._guard:
                for line in lines.of(data or b""):
                    self._do(messages.command(line))
                self._release(self._rules.over())
                told, self._told = self._told, bytearray()
            connection.sendall(told)

    def _do(self, command: messages.Command) -> None:
        try:
            self._release(self._rules.obey(command))
        except ValueError as error:
            self._rules.refuse(command, str(error))

    def _release(self, threads: list[int]) -> None:
        for thread in threads:
            self._held.pop(thread).set()

    def _tell(self, happened: messages.Happened) -> None:
        self._told += messages.encoded(happened)


def _stack() -> list[str]:
    frames = traceback.extract_stack(limit=traced_program.STACK_MAX)
    return [frame.name for frame in reversed(frames[:-5])]
