"""Builds the conductor of a run: for each planned fault the object that injects it."""

from collections.abc import Callable, Mapping

from harness import concurrency
from harness.client import apis, transports
from harness.cluster import interfaces
from harness.history import directories, plans
from harness.run.faulting import (
    carriers,
    conductor,
    fault_journal,
    injecting,
    object_touching,
    process_faults,
    traffic_faults,
)

_OF_PROCESSES: Mapping[str, type[process_faults.ProcessFault]] = {
    "kill-process": process_faults.EndedProcess,
    "restart-process": process_faults.EndedProcess,
    "pause-process": process_faults.PausedProcess,
    "take-over": process_faults.TakenOverScheduler,
}
