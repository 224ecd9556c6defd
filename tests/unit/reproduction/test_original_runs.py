"""Runs that can be reproduced, and refusals before anything starts."""

import pathlib
from typing import Any

import msgspec
import pytest

from harness import errors
from harness.history import directories, plans
from harness.reproduction import attempts, original_runs, reproducing
from harness.run import runs
from harness.scenario import pool_specs, profiles, subject_specs
from tests.histories import building
from tests.unit.reproduction import scenarios

DOUBLE = "a+D1 b+D1"
EMBEDDED = profiles.load("embedded").model_dump(mode="json")


def run(path: pathlib.Path, text: str = DOUBLE, **changes: Any) -> directories.RunDirectory:
    directory = building.build(path / "run", text)
    settings = scenarios.scenario().model_dump(mode="json")
    plan = plans.read(directory.plan)
    keys = {"settings": settings, "cluster_profile": EMBEDDED, **changes}
    plans.write(directory.plan, msgspec.structs.replace(plan, **keys))
    return directory


def test_an_invalid_run_is_loaded_from_its_plan_alone(tmp_path: pathlib.Path) -> None:
    found = original_runs.load(run(tmp_path).path)
    assert found.check.check == "device_exclusivity"
    assert [fault.name for fault in found.scenario.faults] == ["lost", "delay-events"]
    assert found.scenario.pools == scenarios.scenario().pools


def test_a_run_that_only_missed_a_threshold_is_refused(tmp_path: pathlib.Path) -> None:
    missed = [plans.Threshold(metric="claims", max=0)]
    made = run(tmp_path, "a+D1", thresholds=missed)
    with pytest.raises(
        errors.UsageError, match=r"with a violation, .* \(threshold claims: 1, wanted"
    ):
        original_runs.load(made.path)
    both = run(tmp_path / "both", thresholds=missed)
    assert original_runs.load(both.path).check.check == "device_exclusivity"


def test_nothing_of_the_run_or_of_campaigns_is_left(tmp_path: pathlib.Path) -> None:
    pools = {
        "nodes": 1,
        "devices_per_node": 3,
        "owner": building.RUN_ID,
        "node_prefix": f"flake-hunt-{building.RUN_ID}-worker-",
        "device_class": {"name": f"flake-hunt-{building.RUN_ID}"},
    }
    subject = {
        "schedulers": [
            {"kind": "python", "scheduler_name": "flake-hunt"},
            {"kind": "kube-scheduler", "scheduler_name": "flake-hunt-2", "binary": "/gone"},
        ],
        "claim_controller": "python",
    }
    load = {"allocations_min": 3, "pods_running_min": 3}
    scenario = scenarios.scenario(
        pools=pools, subject=subject, load=load, controls=["gather-not-atomic"], plain_hunt=True
    )
    found = original_runs.load(
        run(tmp_path, settings=scenario.model_dump(mode="json")).path
    ).scenario
    assert found.pools == pool_specs.PoolsSpec(nodes=1, devices_per_node=3)
    first, second = found.subject.schedulers
    assert first == subject_specs.PythonScheduler()
    assert second == subject_specs.KubeScheduler(kind="kube-scheduler")
    assert (found.subject.claim_controller, found.controls, found.plain_hunt) == ("auto", [], False)


@pytest.mark.parametrize(
    ("controller", "expected"),
    [
        ("cluster", "auto"),
        ("external", "external"),
        (
            {"kind": "kube-controller-manager", "binary": "/gone", "verbosity": 5},
            subject_specs.KubeControllerManager(kind="kube-controller-manager", verbosity=5),
        ),
    ],
)
def test_a_chosen_claim_controller_stays(
    tmp_path: pathlib.Path, controller: object, expected: object
) -> None:
    """A binary that is no longer where it was is looked for in the usual places."""
    settings = scenarios.scenario(subject={"claim_controller": controller}).model_dump(mode="json")
    found = original_runs.load(run(tmp_path, settings=settings).path).scenario
    assert found.subject.claim_controller == expected


def test_the_faults_of_a_nemesis_take_its_place(tmp_path: pathlib.Path) -> None:
    nemesis = {"kind": "nemesis", "draws": 3, "kinds": ["lose-response", "delay-events"]}
    settings = scenarios.scenario(
        faults=[nemesis], subject={"claim_controller": "python"}
    ).model_dump(mode="json")
    faults = original_runs.load(run(tmp_path, settings=settings).path).scenario.faults
    assert len(faults) == 3
    assert {fault.kind for fault in faults} <= {"lose-response", "delay-events"}
    again = original_runs.load(run(tmp_path / "again", settings=settings).path).scenario.faults
    assert faults == again, "they are drawn from the plan's seed"


@pytest.mark.parametrize(
    ("text", "changes", "message"),
    [
        ("p:a a+D1 a^p p*", {}, "got the VALID run .* nothing to reproduce"),
        ("", {}, "got the UNKNOWN run .* nothing to reproduce"),
        (DOUBLE, {"settings": {"token": "fh3-x"}}, "explorer saved.*flake-hunt replay fh3-x"),
        (DOUBLE, {"settings": {"name": "old"}}, "expected the settings of a scenario"),
    ],
)
def test_a_run_without_anything_to_reproduce_is_refused(
    tmp_path: pathlib.Path, text: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(errors.UsageError, match=message):
        original_runs.load(run(tmp_path, text, **changes).path)


def test_a_folder_that_is_no_run_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.RunDirectoryError, match=r"plan\.json"):
        original_runs.load(tmp_path)
    run(tmp_path).plan.write_text("{")
    with pytest.raises(errors.RunDirectoryError, match="plan of a run"):
        original_runs.load(tmp_path / "run")


def test_a_cluster_that_is_not_available_here_names_the_one_that_is(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    local = profiles.load("local", overrides=[f'binaries="{tmp_path}"']).model_dump(mode="json")
    found = original_runs.load(run(tmp_path, cluster_profile=local).path)
    with pytest.raises(errors.UnusableClusterError, match="--cluster embedded"):
        original_runs.profile_of(found, None)
    chosen = original_runs.profile_of(found, profiles.load("embedded"))
    assert chosen.provider == "embedded"


def test_a_folder_with_files_is_not_written_to(tmp_path: pathlib.Path) -> None:
    path = run(tmp_path).path
    options = reproducing.Options(folder=path)
    with pytest.raises(errors.UsageError, match="new or empty folder"):
        reproducing.reproduce(path, options)


def test_runs_are_planned_with_the_subject_of_the_original(tmp_path: pathlib.Path) -> None:
    found = original_runs.load(run(tmp_path, defects=["gather-not-atomic"]).path)
    profile = original_runs.profile_of(found, None)
    with attempts.Attempts(found, profile, tmp_path) as running:
        plan = running.plan(found.scenario, seed=5)
    assert (plan.defects, plan.seed, plan.until_found) == (["gather-not-atomic"], 5, True)


def test_runs_that_cannot_be_executed_end_the_reproduction(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = original_runs.load(run(tmp_path).path)

    def fail(*given: object, **named: object) -> None:
        raise errors.ProcessError("the recorder died")

    monkeypatch.setattr(runs, "run", fail)
    monkeypatch.setattr(attempts.Attempts, "_living", lambda self: None)
    running = attempts.Attempts(found, original_runs.profile_of(found, None), tmp_path)
    for _ in range(attempts.ERRORS_MAX - 1):
        assert not running.make(found.scenario).failed
    with pytest.raises(errors.ProcessError):
        running.make(found.scenario)


def test_a_control_of_a_campaign_is_refused_by_name(tmp_path: pathlib.Path) -> None:
    control = run(tmp_path, campaign="c", defects=["gather-not-atomic"])
    with pytest.raises(errors.UsageError, match="with the known defect gather-not-atomic"):
        original_runs.load(control.path)
