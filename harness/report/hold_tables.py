"""The holds of a run as arrays, for pictures and traces of any number of holds."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from harness.checks import device_exclusivity, verdict_files, verdicts
from harness.checks.holds import hold_columns, hold_history

Integers = npt.NDArray[np.int64]
_DIGITS = re.compile(r"([0-9]{1,18})")
PAIRS_MAX = 200_000
"""Double allocations that are marked; more are so close that no picture can separate them."""


class HoldTable(NamedTuple):
    """One element for each hold; times are nanoseconds since the start of the run."""

    devices: Sequence[str]
    """`driver/pool/device`, sorted; numbers within names count as numbers."""
    device: Integers
    """Index within `devices`."""
    claim: Integers
    """Index within `lives`."""
    lives: Sequence[hold_history.Life]
    """The claims, in the order in which they were seen."""
    uids: Sequence[str]
    """UIDs of the claims."""
    from_ns: Integers
    until_ns: Integers
    """The end of the run for holds that never end; not before `from_ns`."""
    from_rv: Integers
    until_rv: Integers
    """One more than the last resourceVersion for holds that never end."""
    end_rv: int
    """One more than the last resourceVersion."""
    begins_of_doubles: Integers
    """The times at which double allocations began; ascending."""
    doubled: Integers
    """Rows of all holds of double allocations, the earlier ones too; ascending."""


def table(
    folded: hold_history.HoldHistory,
    judgement: verdict_files.Judgement,
    *,
    started_ns: int,
    ended_ns: int,
) -> HoldTable:
    holds, end_rv = folded.holds, folded.last_rv + 1
    names = list(holds.device_names)
    order = sorted(range(len(names)), key=lambda index: _natural(names[index]))
    rank = np.zeros(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    from_ns, until = holds.column("from_ts_ns") - started_ns, holds.column("until_ts_ns")
    until_rv = holds.column("until_rv")
    until_ns = np.where(until == hold_columns.OPEN, ended_ns, until) - started_ns
    first, second = _pairs(judgement, holds, end_rv)
    return HoldTable(
        devices=[names[index] for index in order],
        device=rank[holds.column("device")],
        claim=holds.column("claim").astype(np.int64),
        lives=list(folded.claims.values()),
        uids=list(folded.claims),
        from_ns=from_ns,
        until_ns=np.maximum(until_ns, from_ns),
        from_rv=holds.column("from_rv"),
        until_rv=np.where(until_rv == hold_columns.OPEN, end_rv, until_rv),
        end_rv=end_rv,
        begins_of_doubles=np.sort(from_ns[np.unique(second)]),
        doubled=np.unique(np.concatenate([first, second])),
    )


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return what names are sorted by: `worker-9` before `worker-10`."""
    parts = _DIGITS.split(name)
    return [
        (1, int(part), part) if number % 2 else (0, 0, part) for number, part in enumerate(parts)
    ]


def _pairs(
    judgement: verdict_files.Judgement, holds: hold_columns.HoldColumns, end_rv: int
) -> tuple[Integers, Integers]:
    """Return the earlier and the later hold of each double allocation, if the judge found some.

    The judge lists only some in full; the pictures mark them all.
    """
    bad = {check.check for check in judgement.checks if check.verdict is verdicts.Verdict.INVALID}
    if device_exclusivity.CHECK.name not in bad:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing
    from harness.checks.holds import double_allocations  # imports pandas

    table = holds.frame(end_rv=end_rv)
    pairs = next(double_allocations.overlapping(table[table.exclusive])).head(PAIRS_MAX)
    return pairs["first"].to_numpy(), pairs["second"].to_numpy()
