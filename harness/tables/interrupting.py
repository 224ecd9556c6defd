"""Long work of DuckDB that Ctrl-C can end: meanwhile no signal handler of Python is called."""

from collections.abc import Callable
from concurrent import futures
from typing import Any, TypeVar

T = TypeVar("T")
_AGAIN_S = 0.05
"""Seconds after which an interruption is repeated that came before DuckDB had begun."""


def run(connection: Any, work: Callable[[], T]) -> T:
    """Return what the work with a connection returns; a KeyboardInterrupt ends it soon."""
    with futures.ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            while not future.done():
                connection.interrupt()
                futures.wait([future], timeout=_AGAIN_S)
            raise
