"""Memory of the processes of a run, by the number of pods that had run: figures, never verdicts."""

from collections.abc import Iterable, Sequence

import msgspec

from harness.history import records

MARKS = (1_000, 10_000, 100_000)
"""Numbers of pods at which the memory is compared."""
_MIB = 2**20


class ProcessMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of one process, with its descendants."""

    process: str
    mib: dict[int, float]
    """Number of pods that had run -> resident memory in MiB, for the marks that were reached."""
    most_mib: float
    """The largest sample of the run."""


def measure(processes: Iterable[records.Body]) -> list[ProcessMemory]:
    """Return the memory of each process of the record, in the order of their first samples."""
    samples: dict[str, list[records.MemoryUsed]] = {}
    for item in processes:
        if isinstance(item, records.MemoryUsed):
            samples.setdefault(item.process, []).append(item)
    return [_of_process(name, found) for name, found in samples.items()]


def _of_process(name: str, samples: Sequence[records.MemoryUsed]) -> ProcessMemory:
    mib: dict[int, float] = {}
    for mark in MARKS:
        later = (item for item in samples if item.pods_ran >= mark)
        first = next(later, None)
        if first is not None:
            mib[mark] = _in_mib(first.resident_bytes)
    most = max(item.resident_bytes for item in samples)
    return ProcessMemory(process=name, mib=mib, most_mib=_in_mib(most))


def _in_mib(resident_bytes: int) -> float:
    return round(resident_bytes / _MIB, 1)


def lines(memory: Iterable[ProcessMemory]) -> list[str]:
    """Return a line for each process that has samples at two marks or more: `scheduler: …`."""
    return [
        f"{item.process}: {', '.join(f'{mib:g} MiB at {mark:,} pods' for mark, mib in item.mib.items())}"
        for item in memory
        if len(item.mib) > 1
    ]
