"""The plan of a run."""

import pathlib

import pytest

from harness.run import run_plan
from harness.scenario import loading, specs, traffic_specs


def test_everything_is_resolved() -> None:
    plan = run_plan.plan(loading.load("pod-churn"), seed=7, defects=["gather-not-atomic"])
    assert (plan.seed, plan.defects, plan.scenario) == (7, ["gather-not-atomic"], "pod-churn")
    assert plan.namespace == f"flake-hunt-{plan.run_id}"
    assert plan.expected_operations == ["traffic-0", "traffic-1", "kubelet"]
    assert plan.settings["traffic"]["users"] == 48
    assert plan.versions["locust"] != "not installed"


@pytest.mark.parametrize("name", ["pod-churn", "taints-come-and-go"])
def test_every_resource_that_takes_revisions_is_observed_once(name: str) -> None:
    plan = run_plan.plan(loading.load(name), seed=7)
    assert plan.dense_revisions
    assert len(plan.resources) == len(set(plan.resources))
    assert set(plan.resources) >= {"resourceclaims", "pods", "resourceslices", "nodes", "events"}
    assert ("devicetaintrules" in plan.resources) is (name == "taints-come-and-go")


def test_every_process_is_in_the_plan() -> None:
    plan = run_plan.plan(loading.load("pod-churn"), seed=7)
    subject = ["scheduler", "claim-controller"]
    assert plan.expected_processes == ["recorder", "kubelet", "traffic", *subject]
    assert plan.expected_writes == subject


def test_the_release_is_in_the_plan_and_in_titles() -> None:
    plan = run_plan.plan(loading.load("pod-churn"), seed=7, release="1.34.2")
    assert (plan.release, plan.subject) == ("1.34.2", "python as 1.34.2")


def test_what_was_decided_can_be_read_back_from_the_plan() -> None:
    plan = run_plan.plan(
        loading.load("pod-churn"), seed=7, chosen_subjects=["python", "external=volcano"]
    )
    assert plan.subject == "python + external"
    assert plan.expected_steps == ["scheduler", "claim-controller"]
    assert plan.cluster_profile["provider"] == plan.cluster == "embedded"
    schedulers = run_plan.scenario_of(plan).subject.schedulers
    assert [item.scheduler_name for item in schedulers] == ["flake-hunt", "volcano"]


def test_progress_is_judged_if_the_scenario_asks_for_it_or_has_faults(
    tmp_path: pathlib.Path,
) -> None:
    assert run_plan.plan(loading.load("pod-churn"), seed=1).progress_s is None
    asked = loading.load("pod-churn", overrides=["limits.progress_s=12"])
    assert run_plan.plan(asked, seed=1).progress_s == 12
    faulty = tmp_path / "pod-churn.toml"
    faulty.write_text(asked.text + '\n[[faults]]\nkind = "drop-watch"\n')
    assert run_plan.plan(loading.load(str(faulty)), seed=1).progress_s == specs.PROGRESS_S


def test_only_a_race_is_given_more_time() -> None:
    """Other defects show in the scenario's own time, some of them only at its end."""
    loaded = loading.load("pod-churn")
    traffic = loaded.scenario.traffic
    assert isinstance(traffic, traffic_specs.TimedTraffic)
    for defects, duration_s in (
        ([], traffic.duration_max_s),
        (["gather-not-atomic"], traffic.duration_max_s),
        (["finalizer-not-added"], traffic.duration_s),
        (["controller-claims-not-enqueued"], traffic.duration_s),
    ):
        plan = run_plan.plan(loaded, seed=7, defects=defects, until_found=True)
        assert plan.settings["traffic"]["duration_s"] == duration_s
