"""Amount and form of a command's output; with JSON, standard output has one document only."""

import contextlib
import dataclasses
import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TextIO

import msgspec

from harness.cli import options
from harness.report import escaping

Form = Literal["text", "json"]
FORM = options.of(
    "json: one JSON document on standard output, everything else on standard error.",
    "--output",
    default="text",
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """The options about a command's output."""

    output: Form = FORM
    verbose: bool | None = options.more(
        "Also print the phases with their times, every item of the certificate, and the logs; "
        "or only the verdict.",
        "--verbose/--quiet",
        "-v/-q",
        show_default=False,
    )

    def chosen(self) -> "contextlib.AbstractContextManager[Output]":
        return chosen(self.output, quiet=self.verbose is False, verbose=self.verbose is True)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The output that a user has chosen."""

    document_file: TextIO | None = None
    """File for the JSON document; None: text output."""
    is_quiet: bool = False
    is_verbose: bool = False

    @property
    def is_json(self) -> bool:
        return self.document_file is not None

    def note(self, text: str) -> None:
        if not self.is_quiet:
            print(text, flush=True)

    def document(self, value: Any) -> None:
        text = msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode()
        print(escaping.in_json(text), file=self.document_file, flush=True)


@contextlib.contextmanager
def chosen(form: str = "text", *, quiet: bool = False, verbose: bool = False) -> Iterator[Output]:
    if form == "text":
        yield Output(is_quiet=quiet, is_verbose=verbose)
        return
    file = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        yield Output(document_file=file, is_quiet=quiet, is_verbose=verbose)


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join([*cells[:-1], row[-1]]).rstrip()


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class LenientStream(io.TextIOWrapper):
    """A stream to a pipe that discards its text once the pipe has no reader."""

    has_reader = True

    def write(self, text: str, /) -> int:
        with self._discarding():
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with self._discarding():
            super().flush()

    @contextlib.contextmanager
    def _discarding(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self.has_reader = False
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)


def be_lenient() -> None:
    """Replace the streams of this process; keep those that a test has put in their place."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is getattr(sys, f"__{name}__") and isinstance(stream, io.TextIOWrapper):
            kept = {key: getattr(stream, key) for key in _KEPT}
            setattr(sys, name, LenientStream(stream.detach(), **kept))


_KEPT = ("encoding", "errors", "line_buffering", "write_through")


def has_reader() -> bool:
    """Return False once standard output is a pipe without a reader."""
    return getattr(sys.stdout, "has_reader", True)
