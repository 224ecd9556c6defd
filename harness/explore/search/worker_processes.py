"""The processes over which random schedules are spread. None of them outlives the one that explores."""

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

from harness import errors, processes
from harness.cluster import cluster_records

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class Pool:
    """Worker processes. Each dies with this process, ignores Ctrl-C, which is for this process, and collects garbage when told to."""

    def __init__(self, executor: concurrent.futures.ProcessPoolExecutor) -> None:
        self._executor = executor

    def submit(
        self,
        call: Callable[_Arguments, _Result],
        *arguments: _Arguments.args,
        **options: _Arguments.kwargs,
    ) -> "concurrent.futures.Future[_Result]":
        """Have a worker make a call. Its process may be started now, and inherits what is blocked."""
        with _uninterrupted():
            return self._executor.submit(call, *arguments, **options)


@contextlib.contextmanager
def pool(count: int) -> Iterator[Pool]:
    """So many worker processes, for the time of the block. ProcessError when one of them dies."""
    resource_tracker.ensure_running()  # unmarked: it ends after the workers, and removes their semaphores
    cluster_records.mark_children()  # `cluster prune` finds workers that had no time to ask the kernel
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
            "expected the worker processes of explore to live, but one has died: was it killed, for want of memory perhaps?"
        ) from error
    finally:
        with _uninterrupted():
            executor.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Interrupt afterwards: an exception in the middle of a message to the executor's thread or to a worker would leave both waiting."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(parent: int) -> None:
    processes.die_with(parent)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # ends workers when one has died
    collect_after_runs_only()


def collect_after_runs_only() -> None:
    """A world is one big cycle: amid its run a collector would look through it in vain, and through all that was there before."""
    gc.freeze()
    gc.disable()
