"""Reduces any number of events over time to bins of equal length."""

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float64]


def counts(times: Times, edges: Times) -> Floats:
    return np.histogram(times, edges)[0].astype(np.float64)


def highest(begins: Times, ends: Times, edges: Times) -> Floats:
    """Return the highest number of open intervals in each bin; those that never end have no end."""
    times = np.concatenate([begins, ends])
    changes = np.concatenate([np.ones(len(begins)), -np.ones(len(ends))])
    order = np.lexsort((changes, times))  # ends first, so that what follows on is not counted twice
    times, level = times[order], np.cumsum(changes[order])
    at_start = _level_at(times, level, edges[:-1])
    found = at_start.copy()
    bins = np.searchsorted(edges, times, side="right") - 1
    inside = (bins >= 0) & (bins < len(found))
    np.maximum.at(found, bins[inside], level[inside])
    return found


def _level_at(times: Times, level: Floats, moments: Times) -> Floats:
    index = np.searchsorted(times, moments, side="right") - 1
    padded = np.concatenate([[0.0], level])
    found: Floats = padded[index + 1]
    return found


def quantiles(times: Times, values: Floats, edges: Times, shares: tuple[float, ...]) -> Floats:
    """Return a row for each share with its quantile in each bin; NaN for bins without events."""
    bins = np.searchsorted(edges, times, side="right") - 1
    order = np.argsort(bins, kind="stable")
    bins, values = bins[order], values[order]
    found = np.full((len(shares), len(edges) - 1), np.nan)
    borders = np.searchsorted(bins, np.arange(len(edges)))
    for index in range(len(edges) - 1):
        mine = values[borders[index] : borders[index + 1]]
        if len(mine):
            found[:, index] = np.quantile(mine, shares)
    return found
