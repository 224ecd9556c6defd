"""The cause of double allocations according to the schedulers' logs, if there are no steps.

Other schedulers than ours record no steps. Their logs show which read was stale, from verbosity 6
on.
"""

from harness import errors
from harness.checks import verdicts
from harness.history import directories
from harness.log_analysis import analyses, log_files
from harness.report.explanations import documents, texts

BYTES_MAX = 512 * 2**20
"""Logs of more bytes together are not read for a report."""


def text(found: documents.DoubleAllocationDocument) -> str:
    """Return the race with its reasons and its window, in one paragraph."""
    why = " ".join(found.why)
    window = f" Window: {texts.window(found.window)}." if found.window else ""
    return f"According to the scheduler's log: {texts.signature(found)}. {why}{window}"


class LogCauses:
    """The double allocations that the logs of a run show."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, frozenset[str]], documents.DoubleAllocationDocument] = {}

    def read(self, directory: directories.RunDirectory) -> None:
        """Read the logs of the schedulers; nothing if there are none, or none can be used."""
        names = log_files.of_run(directory)
        if not names or sum(log_files.size(directory.path / name) for name in names) > BYTES_MAX:
            return
        try:
            analysis = analyses.analyse(names, folder=directory.path)
        except errors.HarnessError:
            return
        for found in documents.document(analysis).double_allocations:
            claims = frozenset((found.first.claim, found.second.claim))
            self._found[found.device, claims] = found

    def of(self, violation: verdicts.DoubleAllocation) -> documents.DoubleAllocationDocument | None:
        """Return what the logs say of a double allocation; None: nothing."""
        claims = frozenset(f"{item.namespace}/{item.name}" for item in violation.holders)
        return self._found.get((violation.device, claims))
