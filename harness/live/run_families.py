"""Metric families of runs and campaigns that go on; their names begin with `flake_hunt_`."""

import collections
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from harness.live import durations, live_runs, snapshots
from harness.metrics import metric_families

LIMITS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper limits of the buckets of durations, in seconds."""
_RUN = ("scenario", "run")
_Labels: TypeAlias = metric_families.Labels
_AMOUNTS = {
    "flake_hunt_run_elapsed_seconds": ("Seconds since the plan was written.", "elapsed_s"),
    "flake_hunt_api_calls_open": ("API calls without an answer so far.", "api_calls_open"),
    "flake_hunt_pods": ("Pods that exist now.", "pods"),
    "flake_hunt_pods_created_total": ("Pods that were created.", "pods_created"),
    "flake_hunt_pods_ran_total": ("Pods that have been Running.", "pods_ran"),
    "flake_hunt_claims": ("Claims that exist now.", "claims"),
    "flake_hunt_claims_created_total": ("Claims that were created.", "claims_created"),
    "flake_hunt_claims_allocated_total": ("Claims that have been allocated.", "claims_allocated"),
    "flake_hunt_holds_open": ("Devices held by claims now, each counted by claim.", "holds_open"),
    "flake_hunt_holds_total": ("Holds that have begun.", "allocations"),
    "flake_hunt_double_allocations_total": (
        "Pairs of claims seen to hold one device at once; the verdict is what counts.",
        "double_allocations",
    ),
    "flake_hunt_faults_applied_total": ("Faults that took effect.", "faults_applied"),
    "flake_hunt_processes": ("Processes of the run that live now.", "processes"),
}
"""Name -> help text, and field of `snapshots.Run`."""


def of_runs(runs: Sequence[live_runs.LiveRun]) -> Iterator[metric_families.Family]:
    """Yield the families of some runs, each run with its labels."""
    states = [run.snapshot() for run in runs]
    for name, (text, field) in _AMOUNTS.items():
        samples = {_run(state): float(getattr(state, field)) for state in states}
        yield _family(name, text, _RUN, samples)
    yield _family(
        "flake_hunt_run_info",
        "1 for each run.",
        (*_RUN, "subject", "seed"),
        {(*_run(state), state.subject, str(state.seed)): 1.0 for state in states},
    )
    yield _family(
        "flake_hunt_run_phase",
        "1 for the phase of each run.",
        (*_RUN, "phase"),
        {(*_run(state), state.phase): 1.0 for state in states},
    )
    yield _family(
        "flake_hunt_api_calls_total",
        "API calls of the load, the kubelets and the subject that have ended, by outcome.",
        (*_RUN, "verb", "resource", "outcome"),
        {
            (*_run(state), *key, outcome): float(count)
            for run, state in zip(runs, states, strict=True)
            for key, calls in run.calls.by_key.items()
            for outcome, count in calls.by_outcome.items()
        },
    )
    yield _histogram(
        "flake_hunt_api_call_duration_seconds",
        "Duration of API calls, as their clients saw it.",
        (*_RUN, "verb", "resource"),
        {
            (*_run(state), *key): calls.durations
            for run, state in zip(runs, states, strict=True)
            for key, calls in run.calls.by_key.items()
        },
    )
    yield _histogram(
        "flake_hunt_claim_allocation_seconds",
        "Time from the creation of a claim to its allocation.",
        _RUN,
        {_run(state): run.objects.claims.waits for run, state in zip(runs, states, strict=True)},
    )
    yield _histogram(
        "flake_hunt_pod_running_seconds",
        "Time from the creation of a pod until it is Running.",
        _RUN,
        {_run(state): run.objects.pods.waits for run, state in zip(runs, states, strict=True)},
    )


def of_campaign(campaign: snapshots.Campaign) -> Iterator[metric_families.Family]:
    """Yield the families of a campaign itself."""
    rows: dict[_Labels, float] = collections.defaultdict(float)
    doubles: dict[_Labels, float] = {}
    for row in campaign.rows:
        labels = (row.purpose, row.scenario, row.subject)
        doubles[labels] = row.double_allocations
        for verdict, count in row.by_verdict.items():
            rows[*labels, verdict] += count
    names = ("purpose", "scenario", "subject")
    for name, text, label_names, samples in (
        ("runs_planned", "Runs of the plan.", (), {(): campaign.planned}),
        ("runs_done", "Planned runs that need no further attempt.", (), {(): campaign.done}),
        ("runs_running", "Runs under way.", (), {(): len(campaign.running)}),
        ("runs_total", "Runs that have ended, by verdict.", (*names, "verdict"), rows),
        ("controls_planned", "Positive controls.", (), {(): campaign.controls_planned}),
        ("controls_caught", "Positive controls caught.", (), {(): campaign.controls_caught}),
        ("double_allocations_total", "Double allocations of ended runs.", names, doubles),
    ):
        shown: Mapping[_Labels, float] = {key: float(value) for key, value in samples.items()}
        yield _family(f"flake_hunt_campaign_{name}", text, label_names, shown)


def of_progress(done: int, goal: int, unit: str) -> Iterator[metric_families.Family]:
    """Yield how much of its present phase a run has done, such as 47 of 200 `pods`."""
    for name, text, value in (("done", "Done so far", done), ("goal", "To be done", goal)):
        yield _family(
            f"flake_hunt_phase_{name}", f"{text} in this phase.", ("unit",), {(unit,): float(value)}
        )


def _run(state: snapshots.Run) -> _Labels:
    return state.scenario, state.run_id


def _family(
    name: str, text: str, label_names: _Labels, samples: Mapping[_Labels, float]
) -> metric_families.Family:
    kind = "counter" if name.endswith("_total") else "gauge"
    return metric_families.Family(name, text, kind, label_names, samples)


def _histogram(
    name: str, text: str, label_names: _Labels, found: Mapping[_Labels, durations.Durations]
) -> metric_families.Family:
    limits = [*map(metric_families.limit_text, LIMITS_S), "+Inf"]
    samples = {
        (*labels, limit): float(count)
        for labels, measured in found.items()
        for limit, count in zip(limits, [*measured.below(LIMITS_S), measured.count], strict=True)
    }
    sums = {labels: measured.sum_s for labels, measured in found.items()}
    return metric_families.Family(name, text, "histogram", (*label_names, "le"), samples, sums)
