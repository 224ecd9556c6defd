"""The command line that makes a run again means the same run."""

import itertools
import pathlib

import pytest

from harness.run import run_plan
from harness.scenario import loading, profiles


def repeated(words: list[str], option: str) -> list[str]:
    return [value for name, value in itertools.pairwise(words) if name == option]


def test_the_plainest_run_has_the_plainest_command() -> None:
    plan = run_plan.plan(loading.load("pod-churn"), seed=7)
    assert plan.again == ["run", "pod-churn", "--seed", "7"]


def test_everything_that_was_chosen_is_in_it() -> None:
    overrides = ("traffic.users=8", 'description="two words"')
    plan = run_plan.plan(
        loading.load("pod-churn", overrides=overrides),
        seed=7,
        defects=["gather-not-atomic"],
        remedies=["compare-devices-on-update", "fence-predecessor"],
        release="1.36.2",
        until_found=True,
    )
    words = plan.again
    assert repeated(words, "--defect") == ["gather-not-atomic"]
    assert repeated(words, "--remedy") == ["compare-devices-on-update", "fence-predecessor"]
    assert repeated(words, "--as") == ["1.36.2"]
    assert words.count("--until-found") == 1
    again = loading.load(words[1], overrides=repeated(words, "--set"))
    assert again.scenario.traffic.users == 8
    assert again.scenario.description == "two words"


MINE = """
schema_version = 1
provider = "embedded"
name = "mine"
title = "mine"
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    (tmp_path / "mine.toml").write_text(MINE)
    (tmp_path / "churn.toml").write_text(loading.load("pod-churn").text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("path", ["mine.toml", "./mine.toml", "{folder}/mine.toml"])
def test_files_are_named_as_they_were_given(folder: pathlib.Path, path: str) -> None:
    given = path.format(folder=folder)
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
