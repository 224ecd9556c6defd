"""`[[thresholds]]` and `--threshold`: what is taken, and what is refused in a sentence."""

import pathlib

import pytest

from harness import errors
from harness.history import plans
from harness.model import figures
from harness.run import run_plan
from harness.scenario import loading, schemas, threshold_specs

BASE = """
schema_version = 1
name = "mine"
title = "a title"

[traffic]
profile = "churn"
users = 4

[load]
allocations_min = 1
"""
P99 = "pod_to_running.p99_ms"


def load(folder: pathlib.Path, *tables: str, given: list[str] | None = None) -> loading.Loaded:
    path = folder / "mine.toml"
    path.write_text(BASE + "".join(f"\n[[thresholds]]\n{table}\n" for table in tables))
    return loading.load(str(path), given_thresholds=given or [])


def texts(loaded: loading.Loaded) -> list[str]:
    plan = run_plan.plan(loaded, seed=1)
    return [threshold.text for threshold in plan.thresholds]


def test_they_travel_with_the_plan(tmp_path: pathlib.Path) -> None:
    loaded = load(
        tmp_path, f'metric = "{P99}"\nmax = 2000', 'metric = "claims"\nmin = 5\nper = "campaign"'
    )
    assert texts(loaded) == [f"{P99}<=2000", "campaign:claims>=5"]


def test_an_option_takes_the_place_of_those_of_its_figure(tmp_path: pathlib.Path) -> None:
    own = (
        f'metric = "{P99}"\nmax = 2000',
        f'metric = "{P99}"\nmin = 1',
        'metric = "claims"\nmin = 5',
    )
    loaded = load(tmp_path, *own, given=[f"{P99} <= 3e3", "campaign:claims>=0.5"])
    assert texts(loaded) == ["claims>=5", f"{P99}<=3000", "campaign:claims>=0.5"]
    again = run_plan.plan(loaded, seed=1).again
    assert again[again.index("--threshold") :][:4] == [
        "--threshold",
        f"{P99} <= 3e3",
        "--threshold",
        "campaign:claims>=0.5",
    ]


def test_what_a_plan_calls_it_is_the_option(tmp_path: pathlib.Path) -> None:
    for number in (0.1, 2000.0, 1e300, 123456.789):
        threshold = plans.Threshold(metric="claims", max=number)
        [found] = threshold_specs.with_options([], [threshold.text])
        assert found.max == number


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('metric = "pod_to_running.p99_s"\nmax = 2', f"its unit, got 'pod_to_running.p99_s'. Did you mean '{P99}'?"),
        ('metric = "pod_to_runing.p99_ms"\nmax = 2', f"Did you mean '{P99}'?"),
        ('metric = "pod_to_running"\nmax = 2', "The figures are: pod_to_running.p50_ms, pod_to_running.p90_ms"),
        ('metric = "foo"\nmax = 2', "The figures are: claim_to_allocation.p50_ms"),
        ('metric = "claims"', "claims: expected either max or min, got neither"),
        ('metric = "claims"\nmax = 2\nmin = 1', "claims: expected either max or min, got both"),
        ('metric = "claims"\nmax = nan', "thresholds.0.max: expected a finite number, got nan"),
        ('metric = "claims"\nmin = -inf', "thresholds.0.min: expected a finite number, got -inf"),
        ('metric = "claims"\nmax = "2"', "thresholds.0.max: expected a valid number, got '2'"),
        ('metric = "claims"\nmax = true', "thresholds.0.max: expected a valid number, got True"),
        ('metric = "invalid_rate"\nmax = 0', "invalid_rate: expected per = 'campaign'"),
        ('metric = "claims"\nmin = 1\nper = "campain"', "Did you mean 'campaign'?"),
        ('metrik = "claims"\nmin = 1', "Did you mean 'thresholds.metric'?"),
    ],
)  # fmt: skip
def test_mistakes(tmp_path: pathlib.Path, table: str, message: str) -> None:
    with pytest.raises(errors.ScenarioError) as caught:
        load(tmp_path, table)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("claims<4", "expected --threshold FIGURE<=NUMBER or FIGURE>=NUMBER, as in"),
        ("", "expected --threshold FIGURE<=NUMBER"),
        ("clams<=4", "--threshold 'clams<=4': expected the name of a figure, with its unit"),
        ("claims<=4ms", "--threshold 'claims<=4ms': expected a valid number, got '4ms'"),
        ("claims<=nan", "--threshold 'claims<=nan': expected a valid number, got 'nan'"),
        ("claims<=1e999", "expected a finite number, got inf"),
        ("claims>=1_000", "expected a valid number, got '1_000'"),
        ("claims>=١٠", "expected a valid number, got '١٠'"),
        ("claims>=１", "expected a valid number, got '１'"),
        ("invalid_rate<=0", "(as an option, campaign:invalid_rate)"),
    ],
)
def test_options_that_are_none(tmp_path: pathlib.Path, option: str, message: str) -> None:
    with pytest.raises(errors.UsageError) as caught:
        load(tmp_path, given=[option])
    assert message in str(caught.value)


def test_the_schema_knows_the_figures() -> None:
    table = schemas.schema("scenario")["$defs"]["ThresholdSpec"]
    assert table["properties"]["metric"]["enum"] == list(figures.FIGURES)
