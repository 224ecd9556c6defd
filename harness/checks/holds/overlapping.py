"""Pairs of holds that overlap, in pandas: sort by begin, compare with the latest end so far."""

from collections.abc import Iterator

import pandas as pd

PAIRS_AT_ONCE = 1_000_000
"""Pairs in memory; a device that thousands of claims hold at once makes millions of them."""
_NEVER = -(2**63)
"""A revision before all others; NaN in its place would make all of them inexact."""


def pairs(
    holds: pd.DataFrame, *, begin: str = "from_rv", end: str = "until_rv"
) -> Iterator[pd.DataFrame]:
    """Yield all pairs of holds of one `device` that overlap, a part of them at a time.

    `begin` and `end` (exclusive) name columns of integers; a hold that is empty overlaps nothing.
    A pair is a row with the labels of both in the index of `holds`, `first` the one that began
    first. Pairs are ordered by device, and by the begin of the first and the second hold. Without
    any, the only part is empty.
    """
    lasting = holds.loc[holds[end] > holds[begin], ["device", begin, end]]
    lasting = lasting.sort_values(begin, kind="stable")
    of_device = lasting.groupby("device", observed=True)
    latest_end = of_device[end].cummax().groupby(lasting.device, observed=True)
    disputed = lasting.device[lasting[begin] < latest_end.shift(fill_value=_NEVER)].unique()
    if not len(disputed):  # as mostly
        yield pd.DataFrame({"first": lasting.index[:0], "second": lasting.index[:0]})
        return
    # Of a disputed device, the holds that begin before one ends follow behind it.
    rows = lasting[lasting.device.isin(disputed)].sort_values("device", kind="stable")
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
    for number in range(parts.max() + 1 if len(parts) else 1):
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
    for pair in pairs(holds):
        first = holds.loc[pair["first"]].reset_index()
        second = holds.loc[pair["second"]].reset_index()
        until = first.until_rv.where(first.until_rv < second.until_rv, second.until_rv)
        found = pair.assign(device=first.device, from_rv=second.from_rv, until_rv=until)
        yield found[(first.claim != second.claim) & ~(first.share & second.share)]


ORDER = ["from_rv", "first", "second"]
"""Columns by which conflicts are listed: by the begin of the second hold, then by the labels."""
