"""Thresholds: the figures of a run or a campaign against the bounds that plans ask for.

They decide like checks, but are no guarantee about devices: what is beyond one is no violation. A
figure says something only about a whole run, so that without a certificate all are UNKNOWN.
"""

from collections.abc import Iterable

import msgspec

from harness.checks import run_figures, verdicts
from harness.history import plans
from harness.model import figures

NO_CERTIFICATE = "the certificate of the run does not hold"


class Result(plans.Threshold, frozen=True, kw_only=True):
    """The answer of a threshold."""

    unit: str
    """`ms`, `pods/s`, `MiB`, `s`; empty for a number, and for a share from 0 to 1."""
    measured: float | None
    """None: the figure is missing, or says nothing."""
    verdict: verdicts.Verdict
    reason: str
    """The measured and the wanted value, or what is missing, in a clause."""

    @property
    def meaning(self) -> str:
        figure = figures.FIGURES.get(self.metric)
        return figure.meaning if figure else ""

    @property
    def wanted(self) -> str:
        return wanted(self)

    @property
    def sentence(self) -> str:
        return f"threshold {self.metric}: {self.reason}"


def of_run(
    planned: Iterable[plans.Threshold], measured: run_figures.Figures, *, is_certified: bool
) -> list[Result]:
    return [
        judged(item, *_measured(item.metric, measured, is_certified=is_certified))
        for item in planned
        if item.per == "run"
    ]


def for_campaign(
    planned: Iterable[plans.Threshold], measured: run_figures.Figures, *, is_certified: bool
) -> dict[str, float | None]:
    """Return the figures of a run that thresholds per campaign ask for, by name.

    None: it is missing, or says nothing.
    """
    asked = {item.metric for item in planned if item.per == "campaign"}
    return {
        name: _measured(name, measured, is_certified=is_certified)[0]
        for name, figure in figures.FIGURES.items()
        if name in asked and figure.is_of_runs
    }


def _measured(
    metric: str, measured: run_figures.Figures, *, is_certified: bool
) -> tuple[float | None, str]:
    """Return the value of a figure, or None and what is missing."""
    missing = figures.why_missing(measured, metric) or NO_CERTIFICATE * (not is_certified)
    return (None, missing) if missing else (figures.value(measured, metric), "")


def judged(threshold: plans.Threshold, measured: float | None, missing: str = "") -> Result:
    """Return the answer about a figure; `missing` says why there is none. Bounds are good."""
    figure = figures.FIGURES.get(threshold.metric)
    if measured is None or figure is None:
        verdict, reason = verdicts.Verdict.UNKNOWN, missing
    else:
        low = -float("inf") if threshold.min is None else threshold.min
        high = float("inf") if threshold.max is None else threshold.max
        is_kept = low <= measured <= high
        verdict = verdicts.Verdict.VALID if is_kept else verdicts.Verdict.INVALID
        reason = f"{figure.text(measured)}, wanted {wanted(threshold)}"
    return Result(
        **msgspec.structs.asdict(threshold),
        unit=figure.unit if figure else "",
        measured=measured,
        verdict=verdict,
        reason=reason,
    )


def wanted(threshold: plans.Threshold) -> str:
    """Return the bound in words: `at most 2,000 ms`."""
    bound, word = (threshold.min, "least") if threshold.max is None else (threshold.max, "most")
    figure = figures.FIGURES.get(threshold.metric)
    return f"at {word} {figure.text(bound or 0.0) if figure else bound}"


def worst(found: Iterable[Result]) -> verdicts.Verdict:
    """Return the worst verdict of thresholds; VALID without any."""
    return verdicts.worst([verdicts.Verdict.VALID, *(item.verdict for item in found)])


def sentences(found: Iterable[Result], verdict: verdicts.Verdict) -> list[str]:
    return [item.sentence for item in found if item.verdict is verdict]
