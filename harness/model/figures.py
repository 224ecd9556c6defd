"""The figures of runs and campaigns that thresholds can be about, and comparisons compare.

The name of a figure of a run is its place below `figures` in verdict.json. Nothing is measured
here: `checks.run_figures` does that once, for pages, comparisons and thresholds alike.
"""

import dataclasses
import functools
import re
import statistics
from collections.abc import Iterator, Sequence
from typing import Literal

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
        """False for a figure that only campaigns have."""
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
            which = (
                "the longest" if quantile == "max" else f"{quantile[1:]} % are at most this long"
            )
            yield Figure(
                name=f"{life}.{quantile}_ms",
                unit="ms",
                title=f"{title}, {quantile}",
                meaning=f"time from {title}: {which}",
                needs=samples,
                count=f"{life}.count",
                least=least,
                over_runs="largest" if quantile == "max" else "median",
            )


def _rates() -> Iterator[Figure]:
    calls, files = "calls of the API by the load and the kubelets", "operations-*.jsonl"
    yield Figure(
        name="allocations_per_s",
        unit="allocations/s",
        title="throughput",
        meaning="allocations a second, from the first to the last",
        needs="allocations",
        count="allocations",
        least=2,
    )
    yield Figure(
        name="pods_per_s",
        unit="pods/s",
        title="pods",
        meaning="pods that became Running a second, from the first to the last",
        needs="pods that were seen Running",
        count="pods_running",
        least=2,
    )
    yield Figure(
        name="calls_per_s",
        unit="calls/s",
        title="calls",
        meaning=f"{calls} a second, over the run",
        needs="calls",
        count="api_calls",
        file=files,
    )
    for name, title in (
        ("error_rate", "that failed"),
        ("conflict_rate", "that met a conflict (409)"),
    ):
        yield Figure(
            name=name,
            title=f"calls {title}",
            meaning=f"share of the {calls} {title}, from 0 to 1",
            needs="calls",
            count="api_calls",
            file=files,
        )


def _memory() -> Iterator[Figure]:
    for name, whose in (
        ("scheduler", "the scheduler, of several the largest"),
        ("api_server", "the API server, and its etcd, where the run starts them"),
        ("harness", "recorder, kubelets and load together, each at its largest"),
    ):
        yield Figure(
            name=f"peak_memory.{name}_mib",
            unit="MiB",
            title=f"memory, {name.replace('_', ' ')}",
            meaning=f"largest resident memory of {whose}",
            needs="samples of memory, which are taken every 2 s",
            file="processes.jsonl",
            over_runs="largest",
        )


def _numbers() -> Iterator[Figure]:
    for name, meaning in (
        ("claims", "claims that were seen"),
        ("allocations", "devices given to claims"),
        ("pods", "pods that were seen"),
        ("pods_running", "pods that were seen Running"),
        ("devices_used_again", "times a device was given to a claim after another one"),
    ):
        yield Figure(
            name=name,
            title=name.replace("_", " "),
            meaning=meaning,
            needs="a record",
            over_runs="sum",
        )
    yield Figure(
        name="api_calls",
        title="calls of the API",
        meaning="calls by the load and the kubelets",
        needs="a record",
        file="operations-*.jsonl",
        over_runs="sum",
    )
    yield Figure(
        name="seconds",
        unit="s",
        title="seconds",
        meaning="time from the first phase of the run to its last",
        needs="phases",
        file="processes.jsonl",
    )


def _of_campaigns() -> Iterator[Figure]:
    counted = "runs of the tested subject, VALID or with a violation"
    for name, meaning in (
        ("invalid_rate", f"share of the {counted}, with a violation"),
        ("invalid_rate_high", "upper end of the exact 95 % interval of that share"),
    ):
        yield Figure(
            name=name,
            title=name.replace("_", " "),
            meaning=meaning,
            needs=counted,
            file="results.jsonl",
            over_runs="",
        )


FIGURES = {
    figure.name: figure
    for figure in (*_latencies(), *_rates(), *_memory(), *_numbers(), *_of_campaigns())
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
    return f"it needs {least}{figure.needs}, and there {_are(int(count or 0))}"


def _are(count: int) -> str:
    return {0: "are none", 1: "is one"}.get(count, f"are {count}")
