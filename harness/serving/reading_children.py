"""Asks children to read journals (`reading_child`), a few at a time, each for a limited time."""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator

import msgspec

from harness import errors, processes
from harness.serving import reading_child

TIME_S = 60
"""Seconds after which a reader is ended."""
AT_ONCE = 2
"""Readers at a time; others wait for one to end."""
ANSWER_MAX = 32 * 2**20
"""Most bytes of an answer for a page."""
_PIECE = 64 * 2**10
_ERROR_MAX = 4_000


class TimeUpError(errors.UsageError):
    """A reader took too long, and was ended."""


class Readers:
    """Starts children."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(AT_ONCE)

    async def rows(
        self, ask: reading_child.AskTable | reading_child.AskQuery
    ) -> reading_child.Rows:
        """Return the answer of a child; if this is cancelled, the child is ended.

        Raises UsageError with the child's sentence, or if it took too long or answers too much.
        """
        async with self._started(ask) as child:
            answer = bytearray()
            async for piece in _pieces(child):
                answer += piece
                if len(answer) > ANSWER_MAX:
                    raise errors.UsageError(
                        f"the answer has more than {ANSWER_MAX >> 20} MiB: ask for less, or "
                        "download it"
                    )
        return msgspec.json.decode(answer, type=reading_child.Rows)

    async def pieces(self, ask: reading_child.AskQuery) -> AsyncIterator[bytes]:
        """Yield the answer of a child as it comes; raises as `rows` does."""
        async with self._started(ask) as child:
            async for piece in _pieces(child):
                yield piece

    @contextlib.asynccontextmanager
    async def _started(
        self, ask: reading_child.AskTable | reading_child.AskQuery
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        async with self._free:
            with tempfile.TemporaryDirectory(prefix="flake-hunt-serve-") as folder:
                child = await asyncio.create_subprocess_exec(
                    *processes.python(reading_child.__name__),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    env={**os.environ, "TMPDIR": folder},
                )
                try:
                    async with asyncio.timeout(TIME_S):
                        await _give(child, msgspec.json.encode(ask))
                        yield child
                        await _require_success(child)
                except TimeoutError as error:
                    raise TimeUpError(
                        f"it took longer than {TIME_S} s and was stopped: choose fewer runs, or "
                        "use `flake-hunt query` in a terminal, which has no such limit"
                    ) from error
                finally:
                    with contextlib.suppress(ProcessLookupError):
                        child.kill()
                    await child.wait()


async def _give(child: asyncio.subprocess.Process, content: bytes) -> None:
    assert child.stdin is not None  # noqa: S101 - it was asked for
    with contextlib.suppress(ConnectionError):
        child.stdin.write(content)
        await child.stdin.drain()
        child.stdin.close()


async def _pieces(child: asyncio.subprocess.Process) -> AsyncIterator[bytes]:
    assert child.stdout is not None  # noqa: S101 - it was asked for
    while piece := await child.stdout.read(_PIECE):
        yield piece


async def _require_success(child: asyncio.subprocess.Process) -> None:
    """Raise UsageError with the sentence of a child that has failed."""
    assert child.stderr is not None  # noqa: S101 - it was asked for
    said = (await child.stderr.read(_ERROR_MAX)).decode(errors="replace").strip()
    code = await child.wait()
    if code:
        last = said.splitlines()[-1] if said else f"the reader {processes.how_ended(code)}"
        raise errors.UsageError(last if code != 1 else f"it cannot be read: {last}")
