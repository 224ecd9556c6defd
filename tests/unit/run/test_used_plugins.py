"""Plug-ins that a run is asked to use: found, resolved, and recorded in its plan."""

import pathlib

import pytest

from harness import errors
from harness.checks import check_registry
from harness.cli import choosing
from harness.explore.worlds import chosen_parts
from harness.extensions import discovery, isolation
from harness.history import plans
from harness.run import run_plan
from harness.run.defects import known_defects
from harness.scenario import loading, profiles
from harness.subject import assembling
from harness.subject.tracking import gathering
from tests.support import cases, plugin_packages

SCENARIO = (loading.SHELF.folder() / "pod-churn.toml").read_text()
CLUSTER = (profiles.SHELF.folder() / "embedded.toml").read_text()


@pytest.fixture
def acme(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    files = {
        "acme/__init__.py": "",
        "acme/code.py": cases.read(__file__, "code"),
        "acme/never.py": "import time\ntime.sleep(600)\n",
        "acme/pod-churn.toml": "not TOML",
        "acme/bursts.toml": SCENARIO.replace('"pod-churn"', '"bursts"'),
        "acme/tiny.toml": CLUSTER.replace('"embedded"', '"tiny"', 2).replace(
            'provider = "tiny"', 'provider = "embedded"'
        ),
    }
    entry_points = cases.read(__file__, "entry_points")
    plugin_packages.install(tmp_path, monkeypatch, "acme", entry_points, files)
    return tmp_path


def names(plan: plans.Plan) -> list[tuple[str, str, str]]:
    return [(item.kind, item.name, f"{item.package} {item.version}") for item in plan.plugins]


@pytest.mark.usefixtures("acme")
def test_a_run_records_the_plugins_that_it_uses() -> None:
    plan = run_plan.plan(
        loading.load("bursts"),
        seed=1,
        cluster=profiles.load("tiny"),
        chosen_subjects=["mine"],
    )
    assert plan.scenario == "bursts"
    assert plan.cluster_profile["name"] == "tiny"
    assert plan.settings["subject"]["schedulers"][0]["command"] == ["true", "{kubeconfig}"]
    assert names(plan) == [
        ("scenarios", "bursts", "acme 1.2.0"),
        ("clusters", "tiny", "acme 1.2.0"),
        ("subjects", "mine", "acme 1.2.0"),
        ("checks", "idle", "acme 1.2.0"),
    ]
    assert plan.again[:2] == ["run", "bursts"]


@pytest.mark.usefixtures("acme")
def test_what_is_shipped_is_used_in_spite_of_a_plugin_of_its_name() -> None:
    plan = run_plan.plan(loading.load("pod-churn"), seed=1)
    assert names(plan) == [("checks", "idle", "acme 1.2.0")]


@pytest.mark.usefixtures("acme")
def test_defects_replace_the_part_that_they_are_subclasses_of() -> None:
    plan = run_plan.plan(loading.load("pod-churn"), seed=1, defects=["forgotten", "released"])
    assert [name for kind, name, _ in names(plan) if kind == "defects"] == ["forgotten", "released"]
    assert issubclass(assembling.parts(plan.defects).gatherer, gathering.Gatherer)
    assert assembling.parts(plan.defects).gatherer.__name__ == "Forgotten"
    assert assembling.claim_controller_parts(plan.defects).releaser.__name__ == "Released"
    assert known_defects.of_part(plan.defects, "claim-controller") == ["released"]
    assert known_defects.double_allocating(plan.defects) == ["forgotten"]
    assert known_defects.named("forgotten").description == "Something is forgotten."
    with pytest.raises(errors.UsageError, match="both override attempt of the gatherer"):
        assembling.parts(["forgotten", "revision-compared-early"])


@pytest.mark.usefixtures("acme")
def test_explored_worlds_have_the_defects_of_plugins() -> None:
    parts = chosen_parts.of(["forgotten", "released", "controller-claims-not-enqueued"])
    assert parts.scheduler.gatherer.__name__ == "Forgotten"
    assert parts.controller.releaser.__name__ == "Released"
    assert parts.controller.enqueuer.__name__ == "InvertedDeletedEnqueuer"


@pytest.mark.usefixtures("acme")
def test_a_shell_completes_the_names_of_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"pod-churn", "bursts"} < set(choosing.scenario_names())
    assert choosing.scenario_names().count("pod-churn") == 1
    assert {"embedded", "tiny"} < set(choosing.profile_names())
    assert {"forgotten", "gather-not-atomic"} < set(choosing._defect_names())
    monkeypatch.setenv(discovery.VARIABLE, "/nowhere/at/all")
    assert "bursts" not in choosing.scenario_names()


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(("name", "reason"), cases.read(__file__, "no_defects"))
def test_a_defect_that_is_none_is_refused(name: str, reason: str) -> None:
    with pytest.raises(errors.UsageError, match=reason):
        known_defects.require_known([name])


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(("name", "reason"), cases.read(__file__, "no_subjects"))
def test_a_subject_that_is_none_is_refused(name: str, reason: str) -> None:
    with pytest.raises(errors.UsageError, match=reason):
        run_plan.plan(loading.load("pod-churn"), seed=1, chosen_subjects=[name])


@pytest.mark.usefixtures("acme")
def test_a_scenario_without_its_file_is_refused() -> None:
    with pytest.raises(errors.PluginError, match=r"absent\.toml in the package acme\.sub"):
        loading.load("absent")
    with pytest.raises(
        errors.ScenarioError, match=r"Did you mean 'bursts'\? .*Plug-ins: absent, bursts\.$"
    ):
        loading.load("burst")


@pytest.mark.usefixtures("acme")
def test_a_scenario_can_demand_a_plugin_check() -> None:
    loaded = loading.load("pod-churn", overrides=['load.examined=["idle"]'])
    assert run_plan.plan(loaded, seed=1).requirements.examined == ["idle"]
    wrong = loading.load("pod-churn", overrides=['load.examined=["idel"]'])
    with pytest.raises(errors.ScenarioError, match="Did you mean 'idle'"):
        run_plan.plan(wrong, seed=1)


@pytest.mark.parametrize("value", ["0", "-1", "nan", "soon"])
def test_a_time_limit_is_a_number(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(isolation.TIMEOUT_VARIABLE, value)
    with pytest.raises(errors.UsageError, match="expected seconds above 0"):
        isolation.time_limit_s()


def test_a_check_that_shadows_a_shipped_one_is_refused(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = check_registry.CHECKS[0].name
    plugin_packages.install(tmp_path, monkeypatch, "acme", {"checks": {name: "acme:X"}})
    with pytest.raises(errors.PluginError, match=f"does not ship itself for the check '{name}'"):
        run_plan.plan(loading.load("pod-churn"), seed=1)
