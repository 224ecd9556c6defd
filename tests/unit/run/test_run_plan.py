"""The plan of a run, and the command line in it that makes the same run again."""

import itertools
import pathlib

import pytest

from harness.run import run_plan
from harness.scenario import loading, profiles, specs, traffic_specs


def test_everything_is_resolved() -> None:
    plan = run_plan.plan(loading.load("pod-churn"), seed=7)
    assert plan.namespace == f"flake-hunt-{plan.run_id}"
    assert plan.expected_operations == ["traffic-0", "traffic-1", "kubelet"]
    subject = ["scheduler", "claim-controller"]
    assert plan.expected_processes == ["recorder", "kubelet", "traffic", *subject]
    assert plan.expected_steps == plan.expected_writes == subject
    assert plan.settings["traffic"]["users"] == 48
    assert plan.versions["locust"] != "not installed"
    assert plan.again == ["run", "pod-churn", "--seed", "7"]


@pytest.mark.parametrize("name", ["pod-churn", "taints-come-and-go"])
def test_every_resource_that_takes_revisions_is_observed_once(name: str) -> None:
    plan = run_plan.plan(loading.load(name), seed=7)
    assert plan.dense_revisions
    assert len(plan.resources) == len(set(plan.resources))
    assert set(plan.resources) >= {"resourceclaims", "pods", "resourceslices", "nodes", "events"}
    assert ("devicetaintrules" in plan.resources) is (name == "taints-come-and-go")


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


# ------------------------------------------------------------------------ the same again


def repeated(words: list[str], option: str) -> list[str]:
    return [value for name, value in itertools.pairwise(words) if name == option]


def test_everything_that_was_chosen_is_in_the_command() -> None:
    overrides = ("traffic.users=8", 'description="two words"')
    plan = run_plan.plan(
        loading.load("pod-churn", overrides=overrides),
        seed=7,
        defects=["gather-not-atomic"],
        remedies=["compare-devices-on-update", "fence-predecessor"],
        release="1.36.2",
        until_found=True,
    )
    assert (plan.defects, plan.release) == (["gather-not-atomic"], "1.36.2")
    assert plan.subject == "python as 1.36.2"
    words = plan.again
    assert repeated(words, "--defect") == ["gather-not-atomic"]
    assert repeated(words, "--remedy") == ["compare-devices-on-update", "fence-predecessor"]
    assert repeated(words, "--as") == ["1.36.2"]
    assert words.count("--until-found") == 1
    again = loading.load(words[1], overrides=repeated(words, "--set"))
    assert again.scenario.traffic.users == 8
    assert again.scenario.description == "two words"


MINE = 'schema_version = 1\nprovider = "embedded"\nname = "mine"\ntitle = "mine"\n'


@pytest.mark.parametrize("path", ["mine.toml", "./mine.toml", "{folder}/mine.toml"])
def test_files_are_named_as_they_were_given(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    (tmp_path / "churn.toml").write_text(loading.load("pod-churn").text)
    monkeypatch.chdir(tmp_path)
    given = path.format(folder=tmp_path)
    profile = profiles.load(given, overrides=["port=18080"])
    kept = profiles.restore(profile.model_dump(mode="json"))  # as the workers of a campaign do
    plan = run_plan.plan(loading.load("./churn.toml"), seed=7, cluster=kept)
    chosen = ["--cluster", given, "--cluster", "port=18080"]
    assert plan.again == ["run", "./churn.toml", "--seed", "7", *chosen]


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("embedded", ["port=18080"]),
        ("kubeconfig", ['context="a b"', "i_know_this_cluster=true"]),
        ("kind-1.36", ["feature_gates.One=true", 'runtime_config={"a/b"="true"}', "wait_s=9"]),
    ],
)
def test_a_changed_cluster_is_the_same_again(name: str, overrides: list[str]) -> None:
    changed = profiles.load(name, overrides=overrides)
    words = ["run", *run_plan.cluster_options(changed)]
    chosen, *found = repeated(words, "--cluster")
    assert profiles.load(chosen, overrides=found) == changed
