"""The figures of runs and campaigns that thresholds can be about, and comparisons compare.

The name of a figure of a run is its place below `figures` in verdict.json. Nothing is measured
here: `checks.run_figures` does that once, for pages, comparisons and thresholds alike.
"""

import dataclasses
import functools
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

_LIVES = {
    "claim_to_allocation": ("claim to allocation", "claims that were allocated"),
    "pod_to_bound": ("pod to node", "pods that were bound to a node"),
    "pod_to_running": ("pod to Running", "pods that were seen Running"),
}
"""Name of a latency -> its title, and its samples."""
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_LARGE = 1e12
"""From here on, numbers are not written with all their digits."""
_LEAST = {"p50": 2, "p90": 10, "p99": 100, "max": 1}
"""Quantile -> least number of samples; of fewer it would be the largest one."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure with a documented name."""

    name: str
    unit: str = ""
    """`ms`, `s`, `MiB`, `pods/s`; empty for a number, and for a share from 0 to 1."""
    title: str
    """Its name in tables."""
    meaning: str
    needs: str
    """Its samples, in the plural: a figure without enough of them is missing."""
    count: str = ""
    """Place of the number of samples, as of a name; empty: one if there is a figure."""
    least: int = 1
    """Least number of samples."""
    file: str = "observations.jsonl"
    """The file that it is measured from: of the run directory, or of a campaign's folder."""
    over_runs: Literal["median", "largest", "sum", ""] = "median"
    """How the figure of a campaign follows from those of its runs; empty: no run has it."""

    @property
    def is_of_runs(self) -> bool:
        return bool(self.over_runs)

    def of_campaign(self, values: Sequence[float]) -> float:
        """Return the figure of a campaign from those of its runs, at least one."""
        if self.over_runs == "median":
            return float(statistics.median(values))
        return float(max(values) if self.over_runs == "largest" else sum(values))

    def text(self, value: float) -> str:
        """Return a value with its unit: `1,840 ms`."""
        is_plain = 1 <= abs(value) < _LARGE
        number = f"{value:,.3f}".rstrip("0").rstrip(".") if is_plain else f"{value:.6g}"
        return f"{number} {self.unit}".rstrip()


def _latencies() -> Iterator[Figure]:
    for life, (title, samples) in _LIVES.items():
        for quantile, least in _LEAST.items():
            is_max = quantile == "max"
            which = "the longest" if is_max else f"{quantile[1:]} % are at most this long"
            yield Figure(
                name=f"{life}.{quantile}_ms",
                unit="ms",
                title=f"{title}, {quantile}",
                meaning=f"time from {title}: {which}",
                needs=samples,
                count=f"{life}.count",
                least=least,
                over_runs="largest" if is_max else "median",
            )


_BY = "calls of the API by the load and the kubelets"
_DECIDED = "runs of the tested subject, VALID or with a violation"
_OF_CALLS = {"needs": "calls", "count": "api_calls", "file": "operations-*.jsonl"}
_OF_MEMORY = {"unit": "MiB", "needs": "samples of memory, which are taken every 2 s"}
_OF_MEMORY |= {"file": "processes.jsonl", "over_runs": "largest"}
_COUNTED = {"needs": "a record", "over_runs": "sum"}
_OF_CAMPAIGNS = {"needs": _DECIDED, "file": "results.jsonl", "over_runs": ""}
_OTHERS: tuple[tuple[str, str, str, Mapping[str, Any]], ...] = (
    (
        "allocations_per_s",
        "throughput",
        "allocations a second, from the first to the last",
        {"unit": "allocations/s", "needs": "allocations", "count": "allocations", "least": 2},
    ),
    (
        "pods_per_s",
        "pods",
        "pods that became Running a second, from the first to the last",
        {
            "unit": "pods/s",
            "needs": _LIVES["pod_to_running"][1],
            "count": "pods_running",
            "least": 2,
        },
    ),
    ("calls_per_s", "calls", f"{_BY} a second, over the run", {**_OF_CALLS, "unit": "calls/s"}),
    ("error_rate", "calls that failed", f"share of the {_BY} that failed, from 0 to 1", _OF_CALLS),
    (
        "conflict_rate",
        "calls that met a conflict (409)",
        f"share of the {_BY} that met a conflict (409), from 0 to 1",
        _OF_CALLS,
    ),
    (
        "peak_memory.scheduler_mib",
        "memory, scheduler",
        "largest resident memory of the scheduler, of several the largest",
        _OF_MEMORY,
    ),
    (
        "peak_memory.api_server_mib",
        "memory, api server",
        "largest resident memory of the API server, and its etcd, where the run starts them",
        _OF_MEMORY,
    ),
    (
        "peak_memory.harness_mib",
        "memory, harness",
        "largest resident memory of recorder, kubelets and load together, each at its largest",
        _OF_MEMORY,
    ),
    ("claims", "", "claims that were seen", _COUNTED),
    ("allocations", "", "devices given to claims", _COUNTED),
    ("pods", "", "pods that were seen", _COUNTED),
    ("pods_running", "", "pods that were seen Running", _COUNTED),
    ("devices_used_again", "", "times a device was given to a claim after another one", _COUNTED),
    (
        "api_calls",
        "calls of the API",
        "calls by the load and the kubelets",
        {**_COUNTED, "file": _OF_CALLS["file"]},
    ),
    (
        "seconds",
        "",
        "time from the first phase of the run to its last",
        {"unit": "s", "needs": "phases", "file": "processes.jsonl"},
    ),
    ("invalid_rate", "", f"share of the {_DECIDED}, with a violation", _OF_CAMPAIGNS),
    (
        "invalid_rate_high",
        "",
        "upper end of the exact 95 % interval of that share",
        _OF_CAMPAIGNS,
    ),
)
"""Name, title, meaning and further words; without a title, the name is it."""
FIGURES = {
    figure.name: figure
    for figure in (
        *_latencies(),
        *(
            Figure(name=name, title=title or name.replace("_", " "), meaning=meaning, **more)
            for name, title, meaning, more in _OTHERS
        ),
    )
}
"""Name -> figure, in the order of the documentation."""


def number(text: str) -> float:
    """Return a number that is written in plain ASCII digits, as `0.05` or `3e3`.

    Raises ValueError for any other text; float() also takes `1_000`, `nan` and other digits.
    """
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"expected a number in plain digits, got {text!r:.60}")
    return float(text)


def value(measured: object, name: str) -> float | None:
    """Return a figure of the measured ones by its name, None if it is missing.

    `measured` has them as attributes, as `figures` of verdict.json does as keys.
    """
    found = functools.reduce(lambda at, part: getattr(at, part, None), name.split("."), measured)
    return None if found is None else float(found)  # type: ignore[arg-type]


def why_missing(measured: object, name: str) -> str:
    """Return what a figure lacks, as a clause; empty: it has enough samples."""
    figure = FIGURES.get(name)
    if figure is None:
        return "this version of Flake Hunt does not know it"
    found = value(measured, name)
    count = value(measured, figure.count) if figure.count else float(found is not None)
    if found is not None and (count or 0) >= figure.least:
        return ""
    least = f"at least {figure.least} " * (figure.least > 1)
    there = {0: "are none", 1: "is one"}.get(int(count or 0), f"are {count or 0:.0f}")
    return f"it needs {least}{figure.needs}, and there {there}"
