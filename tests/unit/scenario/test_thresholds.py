"""`[[thresholds]]` and `--threshold`: what is taken, and what is refused in a sentence."""

import pathlib

from harness.history import plans
from harness.run import run_plan
from harness.scenario import loading, threshold_specs
from tests.unit.scenario import scenario_files

P99 = "pod_to_running.p99_ms"


def load(folder: pathlib.Path, *tables: str, given: list[str] | None = None) -> loading.Loaded:
    text = scenario_files.CHURN + "".join(f"\n[[thresholds]]\n{table}\n" for table in tables)
    return scenario_files.load(folder, text, given_thresholds=given or [])


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
