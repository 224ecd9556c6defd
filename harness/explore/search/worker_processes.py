"""Worker processes for random schedules. None outlives the process that explores."""

import concurrent.futures
import contextlib
import gc
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import process
from multiprocessing import resource_tracker
from typing import ParamSpec, TypeVar

from harness import bound_processes, errors, processes
from harness.cluster import cluster_records

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class Pool:
    """Worker processes that die with this process and collect garbage only between runs.

    They ignore Ctrl-C, which is meant for this process.
    """

    def __init__(self, executor: concurrent.futures.ProcessPoolExecutor) -> None:
        self._executor = executor

    def submit(
        self,
        call: Callable[_Arguments, _Result],
        *arguments: _Arguments.args,
        **options: _Arguments.kwargs,
    ) -> "concurrent.futures.Future[_Result]":
        """Have a worker make a call.

        The worker process may be started now and inherits the signal mask, so signals are blocked
        meanwhile.
        """
        with _uninterrupted():
            return self._executor.submit(call, *arguments, **options)


@contextlib.contextmanager
def pool(count: int) -> Iterator[Pool]:
    """Provide `count` worker processes for the `with` block.

    Raises ProcessError if one of them dies.
    """
    with processes.safe_path():
        yield from _pool(count)


def _pool(count: int) -> Iterator[Pool]:
    # The tracker starts unmarked: it must end after the workers, whose semaphores it removes.
    resource_tracker.ensure_running()
    # Prune finds workers that could not arrange to die with this process.
    cluster_records.mark_children()
    executor = concurrent.futures.ProcessPoolExecutor(
        count,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(os.getpid(),),
    )
    try:
        yield Pool(executor)
    except process.BrokenProcessPool as error:
        raise errors.ProcessError(
            "expected the worker processes of explore to keep running, but one died: was it killed, perhaps for lack of memory?"
        ) from error
    finally:
        with _uninterrupted():
            executor.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay signals until the block ends.

    An exception in the middle of a message to the executor's thread or a worker would leave both
    waiting.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(parent: int) -> None:
    bound_processes.die_with(parent)
    # The executor ends the other workers by SIGTERM if one dies.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    collect_after_runs_only()


def collect_after_runs_only() -> None:
    """Disable automatic garbage collection.

    A world is one big cycle: during its run a collector would search it, and everything older, in
    vain.
    """
    gc.freeze()
    gc.disable()
