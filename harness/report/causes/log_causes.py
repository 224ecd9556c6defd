"""Causes of double allocations of schedulers without steps: by their logs and the API server's.

Other schedulers than ours record no steps. Their logs show which read was stale, from verbosity 6
on; the log of our API server shows what it has sent them. "Sent" is handed to the connection: when
the program took it from there is not known, nor when it chose the device before it wrote.
"""

from collections.abc import Iterator, Sequence

from harness import errors
from harness.checks import verdicts
from harness.checks.witness import audit_history
from harness.history import directories
from harness.log_analysis import analyses, log_files
from harness.report.explanations import documents, texts

BYTES_MAX = 512 * 2**20
"""Logs of more bytes together are not read for a report."""


def text(found: documents.DoubleAllocationDocument) -> str:
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
        claims = frozenset(f"{item.namespace}/{item.name}" for item in violation.holders)
        return self._found.get((violation.device, claims))


def by_reads(violation: verdicts.DoubleAllocation, reads: audit_history.ProgramReads) -> str:
    """Return what the writer of the second allocation had been sent of the first one.

    Empty if the log does not tell it.
    """
    first, second = violation.holders
    wrote = reads.writes.get(second.held_from_rv)
    if wrote is None:
        return ""
    sent = reads.before(wrote.program, wrote.received_ns, namespace=first.namespace)
    whole = [item for item in sent if not item.is_partial]
    shown = [item for item in sent if item.version >= first.held_from_rv]
    if not whole or (shown and all(item.is_partial for item in shown)):
        return ""
    if not shown and any(whole[-1].ts_ns <= lost <= wrote.received_ns for lost in reads.lost_ns):
        return ""
    return " ".join(_sentences(violation, whole, wrote, reads.writes.get(first.held_from_rv)))


def _sentences(
    violation: verdicts.DoubleAllocation,
    sent: Sequence[audit_history.Sent],
    wrote: audit_history.TimedWrite,
    missed: audit_history.TimedWrite | None,
) -> Iterator[str]:
    first, second = violation.holders
    who = wrote.program[0] or "a program without a name"
    told = f"version {first.held_from_rv}, in which {first.name} has the device"

    def ago(ts_ns: int) -> str:
        return f"{(wrote.received_ns - ts_ns) / 1e6:,.1f} ms before"

    shown = next((item for item in sent if item.version >= first.held_from_rv), None)
    if shown is not None:
        yield (
            f"The API server had sent {who} {told}, by {_by(shown)}, {ago(shown.ts_ns)} its write "
            f"of version {second.held_from_rv} arrived: the device was known as taken, unless it "
            "had been chosen before that was read."
        )
    else:
        yield f"{who} wrote version {second.held_from_rv} without having read {told}."
    followed = {item.namespace for item in sent if item.verb == "watch"}
    for last in {item[2:]: item for item in sent}.values():
        is_stale = last.version < first.held_from_rv
        if is_stale and (last.verb == "watch" or last.namespace not in followed):
            yield (
                f"The last that it was sent by {_by(last)}, {ago(last.ts_ns)}, was version "
                f"{last.version}."
            )
    if shown is None and missed is not None:
        author = "it" if missed.program == wrote.program else "another program"
        yield f"Version {first.held_from_rv} was written by {author}, {ago(missed.answered_ns)}."


def _by(sent: audit_history.Sent) -> str:
    claims = "the claims of its namespace" if sent.namespace else "all claims"
    return f"a {sent.verb} of {claims}"
