"""The search for double allocations in pandas: sort holds by their begin, look at the ends before.

Holds of a device overlap if two of them that follow each other do. Overlapping pairs are double
allocations if they are of different claims and not both shares.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pandas as pd

from harness.checks import findings
from harness.checks.holds import hold_columns

PAIRS_AT_ONCE = 1_000_000
"""Pairs in memory; a device that thousands of claims hold at once makes millions of them."""
ORDER = ["from_rv", "first", "second"]
"""Columns by which conflicts are listed: by the begin of the second hold, then by the labels."""
LISTED_MAX = findings.IN_FULL_MAX + findings.OTHERS_MAX
"""Pairs that a result lists."""


class Found(NamedTuple):
    """The double allocations among holds."""

    total: int
    """Pairs of holds; not all of them are listed."""
    devices: int
    """Devices that have a pair."""
    listed: pd.DataFrame
    """The first pairs, the longest and the last one, in order; see `conflicts`."""


def examined(holds: pd.DataFrame, is_shareable: Callable[[str], bool | None]) -> pd.DataFrame:
    """Return the holds that let no other claim have the device, and then the proper shares.

    `holds` is as `HoldColumns.frame` returns it. Added are the columns `share`, and `row`, the
    number of the hold. Those with admin access alone exclude no other claim, and are left out.
    """
    is_part = holds.shared & ~holds.exclusive
    if not is_part.any():  # as mostly
        return holds[holds.exclusive].assign(share=False).reset_index(names="row")
    answers = {device: is_shareable(device) for device in holds.device[is_part].unique()}
    offered = [device for device, answer in answers.items() if answer is True]
    refused = [device for device, answer in answers.items() if answer is False]
    alone = holds[holds.exclusive | (is_part & holds.device.isin(refused))]
    shares = holds[is_part & holds.device.isin(offered)]
    parts = [alone.assign(share=False), shares.assign(share=True)]
    return pd.concat(parts).reset_index(names="row")


def overlapping(
    holds: pd.DataFrame, *, begin: str = "from_rv", end: str = "until_rv"
) -> Iterator[pd.DataFrame]:
    """Yield all pairs of holds of one `device` that overlap, a part of them at a time.

    `begin` and `end` (exclusive) name columns of integers; a hold that is empty overlaps nothing.
    A pair is a row with the labels of both in the index of `holds`, `first` the one that began
    first. Pairs are ordered by device, and by the begin of the first and the second hold. Without
    any, the only part is empty.
    """
    lasting = holds.loc[holds[end] > holds[begin], ["device", begin, end]]
    devices, _ = pd.factorize(lasting.device)
    disputed = hold_columns.disputed(devices, lasting[begin].to_numpy(), lasting[end].to_numpy())
    if not disputed.any():  # as mostly
        yield pd.DataFrame({"first": lasting.index[:0], "second": lasting.index[:0]})
        return
    # Of a disputed device, the holds that begin before one ends follow behind it.
    rows = lasting[disputed].sort_values(begin, kind="stable").sort_values("device", kind="stable")
    labels = rows.index
    rows = rows.reset_index(drop=True).reset_index(names="place")
    reached = pd.merge_asof(
        rows[["device", end, "place"]].sort_values(end, kind="stable"),
        rows[["device", begin, "place"]].sort_values(begin, kind="stable"),
        left_on=end,
        right_on=begin,
        by="device",
        allow_exact_matches=False,
        suffixes=("", "_reached"),
    ).sort_values("place")
    later = (reached.place_reached - reached.place).set_axis(reached.place)
    parts = later.cumsum() // PAIRS_AT_ONCE
    for number in range(parts.max() + 1):
        part = later[parts == number]
        first = part.index.repeat(part).to_series().reset_index(drop=True)
        second = first + 1 + first.groupby(first).cumcount()
        yield pd.DataFrame({"first": labels[first], "second": labels[second]})


def conflicts(holds: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Yield the pairs of holds that no correct scheduler makes, a part of them at a time.

    They overlap, are of one device and different claims, and at most one of them is a share.
    `holds` has the columns `device`, `claim`, `from_rv`, `until_rv` and `share`. Pairs have the
    columns `first`, `second`, `device`, and `from_rv` and `until_rv` of the time that both last.
    """
    for pair in overlapping(holds):
        if pair.empty:  # spared: most of the time for a small run
            yield pair.assign(device="", from_rv=0, until_rv=0)
            continue
        first = holds.loc[pair["first"]].reset_index()
        second = holds.loc[pair["second"]].reset_index()
        until = first.until_rv.where(first.until_rv < second.until_rv, second.until_rv)
        found = pair.assign(device=first.device, from_rv=second.from_rv, until_rv=until)
        yield found[(first.claim != second.claim) & ~(first.share & second.share)]


def find(holds: pd.DataFrame) -> Found:
    """Return the double allocations among `examined` holds."""
    total, devices, listed = 0, set[str](), []
    for pairs in conflicts(holds):
        total += len(pairs)
        devices.update(pairs.device.unique())
        listed.append(_listed(pairs))
    return Found(total, len(devices), _listed(pd.concat(listed) if total else listed[0]))


def _listed(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs that are listed, in order."""
    if pairs.empty:
        return pairs
    pairs = pairs.sort_values(ORDER, ignore_index=True)
    at = longest(pairs)
    chosen = {*pairs.index[:LISTED_MAX], *pairs.index[at : at + 1], *pairs.index[-1:]}
    return pairs.loc[sorted(chosen)].reset_index(drop=True)


def longest(pairs: pd.DataFrame) -> int:
    """Return the position of the first of the pairs that overlap longest; 0 if there is none."""
    return int((pairs.until_rv - pairs.from_rv).argmax()) if len(pairs) else 0


def counts_by_second(holds: pd.DataFrame) -> "pd.Series[int]":
    """Return how many double allocations each hold completes, of those that complete some."""
    counts = [pairs.second.value_counts() for pairs in conflicts(holds)]
    return pd.concat(counts).groupby(level=0).sum()


def first_by_second(holds: pd.DataFrame, seconds: Sequence[int]) -> pd.DataFrame:
    """Return the first double allocations that these holds complete, as far as they are listed."""
    parts = [
        pairs[pairs.second.isin(seconds)].sort_values(ORDER).head(LISTED_MAX)
        for pairs in conflicts(holds)
    ]
    return pd.concat(parts).sort_values(ORDER).head(LISTED_MAX)
