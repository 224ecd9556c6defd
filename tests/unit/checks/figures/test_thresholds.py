"""Thresholds decide like checks, and are no violations; without a figure they are UNKNOWN."""

import pathlib
from typing import Any

import msgspec
import pytest

from harness import errors
from harness.checks import judging, run_figures, threshold_results, verdict_files, verdicts
from harness.history import plans, records
from harness.model import figures
from harness.report import junit, publishing
from tests.histories import building

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
KEPT = "a= . a+D1 . b= b+D2 p>n p* q>n q*"
"""Claims are allocated after 2 and 1 ms, pods run after 1 ms, and nothing is wrong."""
TWICE = f"{KEPT} c+D1"


def wanted(metric: str, **bound: Any) -> plans.Threshold:
    return plans.Threshold(metric=metric, **bound)


def judge(
    path: pathlib.Path, text: str, *thresholds: plans.Threshold, **options: Any
) -> verdict_files.Judgement:
    changes = {"thresholds": list(thresholds), **options.pop("changes", {})}
    return judging.judge(building.build(path / "run", text, changes=changes, **options))


# ------------------------------------------------------------------- one that fails, one that holds


@pytest.mark.parametrize(
    ("bound", "verdict"),
    [({"max": 1.9}, INVALID), ({"max": 2}, VALID), ({"min": 2}, VALID), ({"min": 2.1}, INVALID)],
    ids=["below", "at-most", "at-least", "above"],
)
def test_the_bound_itself_is_good(
    tmp_path: pathlib.Path, bound: dict[str, float], verdict: verdicts.Verdict
) -> None:
    found = judge(tmp_path, KEPT, wanted("claim_to_allocation.max_ms", **bound))
    assert found.verdict is verdict, found.reason
    assert [item.measured for item in found.thresholds] == [2.0]


def test_one_that_is_not_met_is_named_and_is_no_violation(tmp_path: pathlib.Path) -> None:
    found = judge(tmp_path, KEPT, wanted("pods_running", min=3), wanted("claims", max=2))
    assert found.reason == "threshold pods_running: 2, wanted at least 3"
    assert (found.exit_code, found.figures.violations) == (10, 0)
    assert all(check.verdict is VALID for check in found.checks)
    assert [item.verdict for item in found.thresholds] == [INVALID, VALID]


def test_thresholds_that_are_met_are_counted(tmp_path: pathlib.Path) -> None:
    found = judge(tmp_path, KEPT, wanted("pods_running", min=2), wanted("claims", max=2))
    assert (found.verdict, found.exit_code) == (VALID, 0)
    assert "; 2 thresholds met" in found.reason


def test_a_violation_is_told_first(tmp_path: pathlib.Path) -> None:
    found = judge(tmp_path, TWICE, wanted("claims", max=1))
    before, _, after = found.reason.rpartition("; ")
    assert before.startswith("device_exclusivity (once) is violated: ")
    assert after == "threshold claims: 3, wanted at most 1"


@pytest.mark.parametrize("bounds", [{}, {"max": 1, "min": 1}])
def test_a_plan_has_one_bound_of_each(tmp_path: pathlib.Path, bounds: dict[str, int]) -> None:
    directory = building.build(tmp_path / "run", KEPT, changes={"thresholds": []})
    edited = msgspec.json.decode(directory.plan.read_bytes())
    edited["thresholds"] = [{"metric": "claims", **bounds}]
    directory.plan.write_bytes(msgspec.json.encode(edited))
    with pytest.raises(errors.RunDirectoryError, match="expected either max or min of 'claims'"):
        judging.judge(directory)


# --------------------------------------------------------------------------------- what is missing


@pytest.mark.parametrize(
    ("metric", "missing"),
    [
        ("pod_to_running.max_ms", "it needs pods that were seen Running, and there are none"),
        (
            "pod_to_bound.p50_ms",
            "it needs at least 2 pods that were bound to a node, and there are",
        ),
        ("pods_per_s", "it needs at least 2 pods that were seen Running, and there are none"),
        ("peak_memory.scheduler_mib", "it needs samples of memory, which are taken every 2 s, and"),
        ("speed", "this version of Flake Hunt does not know it"),
        (
            "claim_to_allocation.p99_ms",
            "it needs at least 100 claims that were allocated, and there",
        ),
    ],
)
def test_a_missing_figure_is_unknown(tmp_path: pathlib.Path, metric: str, missing: str) -> None:
    found = judge(tmp_path, "a= . a+D1 b+D2", wanted(metric, max=1e9))
    assert (found.verdict, found.exit_code) == (UNKNOWN, 20)
    assert found.reason.startswith(f"threshold {metric}: {missing}")
    assert found.thresholds[0].measured is None


@pytest.mark.parametrize(("pods", "verdict"), [(99, UNKNOWN), (100, VALID)])
def test_a_quantile_needs_as_many_samples_as_tell_it_from_the_largest(
    tmp_path: pathlib.Path, pods: int, verdict: verdicts.Verdict
) -> None:
    text = "a+D1 " + " ".join(f"p{number}>n p{number}*" for number in range(pods))
    found = judge(tmp_path, text, wanted("pod_to_running.p99_ms", max=1))
    assert found.verdict is verdict, found.reason


@pytest.mark.parametrize(
    "options",
    [
        {"requirements": plans.Requirements(allocations_min=100, pods_running_min=0)},
        {"changes": {"expected_operations": ["traffic-9"]}},
        {
            "phases": [
                records.Phase(name="starting", ts_ns=1),
                records.Phase(name="timed out", ts_ns=2, detail="the load took too long"),
                records.Phase(name="ended", ts_ns=3),
            ]
        },
    ],
    ids=["too-little-load", "a-journal-is-missing", "cut-short"],
)
def test_a_run_that_is_no_whole_one_fails_no_threshold(
    tmp_path: pathlib.Path, options: dict[str, Any]
) -> None:
    found = judge(tmp_path, KEPT, wanted("claims", max=1), **options)
    assert (found.verdict, found.thresholds[0].verdict) == (UNKNOWN, UNKNOWN)
    assert found.thresholds[0].reason == threshold_results.NO_CERTIFICATE


def test_what_a_campaign_wants_is_measured_and_not_judged(tmp_path: pathlib.Path) -> None:
    asked = [
        wanted("claims", max=1, per="campaign"),
        wanted("pod_to_running.p99_ms", max=1, per="campaign"),
        wanted("invalid_rate", max=0, per="campaign"),
        wanted("pods", max=9),
    ]
    found = judge(tmp_path, KEPT, *asked)
    assert (found.verdict, [item.metric for item in found.thresholds]) == (VALID, ["pods"])
    assert found.thresholds[0].meaning == figures.FIGURES["pods"].meaning
    unknown = threshold_results.judged(wanted("of another version", max=1), None, "unknown")
    assert unknown.meaning == ""
    assert found.campaign_figures == {"claims": 2.0, "pod_to_running.p99_ms": None}


# ------------------------------------------------------------------------------------- the figures


def test_each_figure_of_runs_is_measured_under_its_name(tmp_path: pathlib.Path) -> None:
    """A figure that no run could ever have would be a threshold that is always UNKNOWN."""
    measured = judge(tmp_path, KEPT).figures
    whole = run_figures.peaks([run_figures.ProcessMemory(process="scheduler", mib={}, most_mib=1)])
    names = [name for name, figure in figures.FIGURES.items() if figure.is_of_runs]
    absent = [name for name in names if figures.value(measured, name) is None]
    assert absent == [f"peak_memory.{name}_mib" for name in ("scheduler", "api_server", "harness")]
    assert figures.value(whole, "scheduler_mib") == 1
    counts = {figure.count for figure in figures.FIGURES.values() if figure.count}
    assert all(figures.value(measured, name) is not None for name in counts)


def test_rates_and_memory(tmp_path: pathlib.Path) -> None:
    measured = judge(tmp_path, KEPT).figures
    assert (measured.api_calls, measured.error_rate) == (5, 0.2)
    assert measured.conflict_rate == 0.2
    assert (measured.calls_per_s, measured.pods_per_s) == (5.0, 1000.0)
    assert measured.pod_to_bound.max_ms == 0.0


def test_memory_is_that_of_the_largest_scheduler_and_of_all_of_the_harness() -> None:
    names = ("scheduler", "scheduler.2", "scheduler-2", "api-server", "claim-controller")
    sizes = dict(zip(names, (10.0, 30.0, 20.0, 40.0, 50.0), strict=True))
    sizes |= {"recorder": 1.0, "kubelet": 2.0, "kubelet.2": 3.0, "traffic": 4.0}
    found = run_figures.peaks(
        run_figures.ProcessMemory(process=name, mib={}, most_mib=most)
        for name, most in sizes.items()
    )
    assert found == run_figures.PeakMemory(scheduler_mib=30.0, api_server_mib=40.0, harness_mib=8.0)


# ------------------------------------------------------------------------------------ what is shown


def test_page_and_junit_name_the_thresholds(tmp_path: pathlib.Path) -> None:
    asked = [wanted("pods_running", min=3), wanted("claims", max=2), wanted("pods_per_s", max=9)]
    text, changes = KEPT.partition(" q")[0], {"thresholds": asked}
    directory = building.build(tmp_path / "run", text, changes=changes)
    examination = judging.examine(directory)
    publishing.write(examination)
    page = directory.report.read_text()
    assert "INVALID</span>: threshold pods_running: 1, wanted at least 3</h1>" in page
    assert '<h2 id="thresholds">' in page
    told = " ".join(junit.render(examination.judgement).split())
    for name, outcome in (
        ("pods_running&gt;=3", '<failure message="1, wanted at least 3" />'),
        ("claims&lt;=2", "<system-out>2, wanted at most 2"),
        ("pods_per_s&lt;=9", '<error message="it needs at least 2 pods'),
    ):
        assert f'name="threshold {name}"> {outcome}' in told
