"""`[[thresholds]]` of scenarios: what figures of runs and campaigns have to be for VALID."""

import contextlib
import re
from collections.abc import Sequence
from typing import Annotated, Literal, Self

import pydantic

from harness import errors, suggestions
from harness.model import figures
from harness.scenario.fields import Spec
from harness.scenario.toml_files import documents

THRESHOLDS_MAX = 64
OPTION = "--threshold"
_EXPRESSION = re.compile(r"\s*(campaign:)?\s*([\w.]+)\s*(<=|>=)\s*(\S+)\s*")


def _known(name: str) -> str:
    if name in figures.FIGURES:
        return name
    below = [known for known in figures.FIGURES if known.startswith(f"{name}.")]
    near = "" if below else suggestions.did_you_mean(name, figures.FIGURES)
    listed = f" The figures are: {', '.join(below or figures.FIGURES)}"
    raise ValueError(f"expected the name of a figure, with its unit, got {name!r}.{near or listed}")


Metric = Annotated[
    str,
    pydantic.AfterValidator(_known),
    pydantic.Field(json_schema_extra={"enum": list(figures.FIGURES)}),
]
Bound = Annotated[float, pydantic.Field(allow_inf_nan=False)]


class ThresholdSpec(Spec):
    """A bound of a figure. A run whose figure is beyond it is INVALID; one without it, UNKNOWN."""

    metric: Metric
    """Name of the figure, such as `pod_to_running.p99_ms`; the name ends with the unit."""
    max: Bound | None = None
    """The largest value that is good; a threshold has either `max` or `min`."""
    min: Bound | None = None
    """The smallest value that is good."""
    per: Literal["run", "campaign"] = "run"
    """`run`: each run is judged. `campaign`: all runs of the scenario with the tested subject are
    judged together, by the median of a time, rate or share, by the sum of a number, and by the
    largest memory."""

    @pydantic.model_validator(mode="after")
    def _require_one_bound(self) -> Self:
        if (self.max is None) == (self.min is None):
            got = "neither" if self.max is None else "both: two thresholds can share a metric"
            raise ValueError(f"{self.metric}: expected either max or min, got {got}")
        if self.per == "run" and not figures.FIGURES[self.metric].is_of_runs:
            raise ValueError(
                f"{self.metric}: expected per = 'campaign' (as an option, campaign:{self.metric}), "
                "since no single run has it, got 'run'"
            )
        return self


def with_options(own: Sequence[ThresholdSpec], expressions: Sequence[str]) -> list[ThresholdSpec]:
    """Return the thresholds of a scenario, with those of options in place of its own on a figure.

    An option is `pod_to_running.p99_ms<=2000`, or `campaign:claims>=900`. Raises UsageError if it
    is neither.
    """
    given = [_parsed(expression) for expression in expressions]
    replaced = {(item.metric, item.per) for item in given}
    return [*(item for item in own if (item.metric, item.per) not in replaced), *given]


def _parsed(expression: str) -> ThresholdSpec:
    match = _EXPRESSION.fullmatch(expression)
    if match is None:
        raise errors.UsageError(
            f"expected {OPTION} FIGURE<=NUMBER or FIGURE>=NUMBER, as in "
            f"'pod_to_running.p99_ms<=2000', got {expression!r:.80}"
        )
    scope, metric, comparison, number = match.groups()
    bound: float | str = number
    with contextlib.suppress(ValueError):
        bound = figures.number(number)
    keys = {"metric": metric, "max" if comparison == "<=" else "min": bound}
    try:
        return ThresholdSpec.model_validate({**keys, "per": "campaign" if scope else "run"})
    except pydantic.ValidationError as error:
        expected = documents.expectation(error.errors(include_url=False)[0])
        raise errors.UsageError(f"{OPTION} {expression!r:.80}: {expected}") from error
