"""Standard output and standard error whose reader may leave, as in `flake-hunt check … | head -1`.

Without a reader the command goes on without printing: it writes its reports, and its exit code is
that of the verdict.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator


class LenientStream(io.TextIOWrapper):
    """A stream to a pipe that discards its text once the pipe has no reader."""

    has_reader = True

    def write(self, text: str, /) -> int:
        """Write the text, or discard it."""
        with self._discarding():
            super().write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered, or discard it."""
        with self._discarding():
            super().flush()

    @contextlib.contextmanager
    def _discarding(self) -> Iterator[None]:
        """Turn the file into /dev/null when the pipe has no reader."""
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
            setattr(sys, name, _lenient(stream))


def _lenient(stream: io.TextIOWrapper) -> LenientStream:
    encoding, errors = stream.encoding, stream.errors
    line_buffering, write_through = stream.line_buffering, stream.write_through
    return LenientStream(
        stream.detach(),
        encoding=encoding,
        errors=errors,
        line_buffering=line_buffering,
        write_through=write_through,
    )


def has_reader() -> bool:
    """Return False once standard output is a pipe without a reader."""
    return getattr(sys.stdout, "has_reader", True)
