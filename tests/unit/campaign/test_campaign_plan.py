"""The runs of a campaign."""

import pathlib

import pytest

from harness import errors
from harness.campaign import campaign_plan
from harness.cluster import interfaces
from harness.history.purposes import Purpose
from harness.scenario import loading
from tests.stand_ins import commands


def planned(tmp_path: pathlib.Path, **changes: object) -> campaign_plan.CampaignPlan:
    arguments = {
        "scenarios": ["pod-churn"],
        "seed": 1,
        "repeat": 2,
        "repeat_controls": 1,
        "reports": tmp_path,
        **changes,
    }
    return campaign_plan.plan(**arguments)  # type: ignore[arg-type]


def test_every_control_of_the_scenario_is_planned(tmp_path: pathlib.Path) -> None:
    plan = planned(tmp_path)
    assert sum(run.purpose is Purpose.SUBJECT for run in plan.runs) == 2
    assert len({run.subject for run in plan.runs if run.purpose is Purpose.CONTROL}) == 7
    assert len({run.id for run in plan.runs}) == len(plan.runs)


def test_seeds_differ_between_runs_and_not_between_campaigns(tmp_path: pathlib.Path) -> None:
    seeds = [run.seed for run in planned(tmp_path).runs]
    assert len(set(seeds)) == len(seeds)
    assert seeds == [run.seed for run in planned(tmp_path).runs]
    assert seeds != [run.seed for run in planned(tmp_path, seed=2).runs]


def test_it_survives_its_file(tmp_path: pathlib.Path) -> None:
    plan = planned(tmp_path)
    campaign_plan.write(tmp_path / "campaign.json", plan)
    assert campaign_plan.read(tmp_path / "campaign.json") == plan


def test_a_damaged_file_is_named(tmp_path: pathlib.Path) -> None:
    (tmp_path / "campaign.json").write_text("{")
    with pytest.raises(errors.HistoryError, match=r"campaign\.json"):
        campaign_plan.read(tmp_path / "campaign.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"defects": ["nope"]}, "expected a known defect, got 'nope'"),
        ({"remedies": ["nope"]}, "expected a known remedy, got 'nope'"),
        (
            {"remedies": ["fence-predecessor"], "subjects": ["external=x"]},
            "expected our own scheduler",
        ),
        ({"repeat": 0, "repeat_controls": 0}, "at least one run"),
    ],
)
def test_what_cannot_be_run(
    tmp_path: pathlib.Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(errors.UsageError, match=message):
        planned(tmp_path, **changes)


@pytest.mark.parametrize(
    ("changes", "subject"),
    [
        ({"remedies": ["fence-predecessor"]}, "python + fence-predecessor"),
        ({"release": "1.34.2"}, "python as 1.34.2"),
    ],
)
def test_remedies_and_releases_are_not_for_the_controls(
    tmp_path: pathlib.Path, changes: dict[str, object], subject: str
) -> None:
    plan = planned(tmp_path, **changes)
    controls = [run for run in plan.runs if run.purpose is Purpose.CONTROL]
    assert {run.subject for run in plan.runs if run not in controls} == {subject}
    assert {(*run.remedies, run.release) for run in controls} == {("",)}


def test_a_known_hazard_must_show_and_is_tried_with_its_remedies(tmp_path: pathlib.Path) -> None:
    plan = planned(tmp_path, scenarios=["answer-lost"])
    kinds = {(run.purpose, run.subject, run.hypothesis) for run in plan.runs}
    assert kinds == {
        (Purpose.HAZARD, "correct", "H1"),
        (Purpose.REMEDY, "python + keep-in-flight-until-known", "H1"),
    }
    assert all(run.purpose.must_fail == (run.purpose is Purpose.HAZARD) for run in plan.runs)


def test_with_its_remedies_chosen_a_hazard_is_none(tmp_path: pathlib.Path) -> None:
    remedies = ["keep-in-flight-until-known"]
    plan = planned(tmp_path, scenarios=["answer-lost"], remedies=remedies)
    assert {run.purpose for run in plan.runs} == {Purpose.REMEDY}


def test_what_fails_now_and_then_is_run_with_remedies_only(tmp_path: pathlib.Path) -> None:
    plan = planned(tmp_path, scenarios=["nemesis"])
    assert {run.purpose for run in plan.runs} == {Purpose.REMEDY}
    plan = planned(tmp_path, scenarios=["nemesis"], subjects=["external=volcano"])
    assert {run.purpose for run in plan.runs} == {Purpose.SUBJECT, Purpose.REMEDY}


def test_chosen_subjects_are_not_for_the_controls(tmp_path: pathlib.Path) -> None:
    """The known defects are the Python scheduler's, and they show that the harness sees what
    happens on this cluster.
    """
    plan = planned(tmp_path, subjects=["external=volcano"])
    assert {run.subject for run in plan.runs if run.purpose is Purpose.SUBJECT} == {
        "external volcano"
    }
    assert all(run.subjects == ["python"] for run in plan.runs if run.purpose is Purpose.CONTROL)


def test_a_chosen_claim_controller_is_not_for_the_controls(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands.install(tmp_path, "kube-controller-manager")
    monkeypatch.setenv("KUBE_BINARIES", str(tmp_path))
    plan = planned(
        tmp_path,
        scenarios=["controller-down"],
        claim_controller="kube-controller-manager",
    )
    runs = {purpose: [run for run in plan.runs if run.purpose is purpose] for purpose in Purpose}
    assert {run.claim_controller for run in runs[Purpose.CONTROL]} == {""}
    assert {(run.subject, run.claim_controller) for run in runs[Purpose.SUBJECT]} == {
        ("python + kube-controller-manager v1.36.4", "kube-controller-manager")
    }
    assert plan.versions["claim-controller"] == "kube-controller-manager v1.36.4"


@pytest.mark.parametrize("controller", ["", "kube-controller-manager"])
def test_a_scenario_may_be_a_hazard_of_kubernetes_own_claim_controller(
    tmp_path: pathlib.Path, controller: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands.install(tmp_path, "kube-controller-manager")
    monkeypatch.setenv("KUBE_BINARIES", str(tmp_path))
    plan = planned(
        tmp_path,
        scenarios=["evictions"],
        claim_controller=controller,
    )
    expected = (Purpose.HAZARD, "H23") if controller else (Purpose.SUBJECT, "")
    found = {(run.purpose, run.hypothesis) for run in plan.runs}
    assert found == {expected, (Purpose.CONTROL, "")}


def test_what_a_subject_cannot_run_is_left_out_of_all_and_refused_by_name(
    tmp_path: pathlib.Path,
) -> None:
    asked = {"scenarios": ["answer-lost", "pod-churn"], "subjects": ["external=volcano"]}
    with pytest.raises(errors.UsageError, match="expected schedulers that the run starts"):
        planned(tmp_path, **asked)
    plan = planned(tmp_path, **asked, leaves_out=True)
    assert {run.title for run in plan.runs} == {"pod-churn"}
    assert list(plan.left_out) == ["answer-lost"]
    assert "expected schedulers that the run starts" in plan.left_out["answer-lost"]
    assert plan.selection[0].startswith("answer-lost left out: ")
    with pytest.raises(errors.UsageError, match="expected schedulers that the run starts"):
        planned(tmp_path, **{**asked, "scenarios": ["answer-lost"]}, leaves_out=True)


@pytest.mark.parametrize(
    ("own", "chosen", "of_controls"),
    [
        ("auto", "python", ""),
        ("auto", "external", "external"),
        ("external", "", "external"),
        ({"kind": "kube-controller-manager"}, "", "python"),
    ],
)
def test_controls_have_our_claim_controller_unless_one_works_already(
    own: object, chosen: str, of_controls: str
) -> None:
    loaded = loading.load("controller-down").scenario
    subject = loaded.subject.model_validate({"claim_controller": own})
    both = ["gather-not-atomic", "controller-claims-not-enqueued"]
    scenario = loaded.model_copy(update={"subject": subject, "controls": both})
    found = campaign_plan._controller_of_controls(scenario, chosen)
    assert found == of_controls
    possible = campaign_plan.controls(scenario, interfaces.Capabilities(), found)
    assert possible == (both[:1] if of_controls == "external" else both)
    theirs = interfaces.Capabilities(claim_controller=True)
    assert campaign_plan.controls(scenario, theirs, found) == both[:1]


@pytest.mark.parametrize("subject", ["volcano", "cluster"])
def test_a_subject_that_cannot_work_is_refused_before_the_first_run(
    tmp_path: pathlib.Path, subject: str
) -> None:
    with pytest.raises(errors.UsageError):
        planned(tmp_path, subjects=[subject])


@pytest.mark.parametrize(
    ("defects", "otherwise"),
    [
        ([], False),
        (["gather-not-atomic"], False),
        (["controller-claims-not-enqueued"], True),
        (["slice-tracker-shared-drain"], True),
        (["slice-tracker-shared-drain", "gather-not-atomic"], False),
    ],
)
def test_defects_of_other_parts_show_in_other_ways(defects: list[str], otherwise: bool) -> None:
    run = campaign_plan.PlannedRun(scenario="s", title="s", defects=defects, repetition=0, seed=1)
    assert run.shows_otherwise is otherwise


@pytest.mark.parametrize(
    ("hazard", "otherwise"),
    [("H1", False), ("H20", True), ("two uncoordinated schedulers", False), ("", False)],
)
def test_a_hazard_without_double_allocations_shows_in_other_ways(
    hazard: str, otherwise: bool
) -> None:
    run = campaign_plan.PlannedRun(scenario="s", title="s", hypothesis=hazard, repetition=0, seed=1)
    assert run.shows_otherwise is otherwise
