"""Traffic from manifests: names that are unique, references that follow, and what is refused."""

import itertools
import pathlib
import re
from collections.abc import Callable

import pytest

from harness import errors
from harness.cluster.fake_nodes import fake_objects
from harness.run.run_plan import scenario_of
from harness.scenario import cluster_features, loading, specs
from harness.traffic import object_rounds, objects
from tests.histories import building
from tests.support import cases

TEXTS = {name: f"\n{text}" for name, text in cases.read(__file__, "texts").items()}
SCENARIO, CLAIM, TEMPLATE, JOB, POD = (
    TEXTS[name] for name in ("scenario", "claim", "template", "job", "pod")
)
WHOLE = CLAIM + TEMPLATE + JOB + POD
Load = Callable[..., specs.Scenario]


@pytest.fixture
def load(tmp_path: pathlib.Path) -> Load:
    """Return a function that loads a scenario with these files of manifests."""

    def loaded(*files: str, text: str = SCENARIO) -> specs.Scenario:
        names = [f"{index}.yaml" for index in range(len(files))]
        for name, content in zip(names, files, strict=True):
            (tmp_path / name).write_text(content)
        (tmp_path / "mine.toml").write_text(text.replace('["job.yaml"]', str(names)))
        return loading.load(str(tmp_path / "mine.toml")).scenario

    return loaded


def _rounds(scenario: specs.Scenario) -> object_rounds.ObjectRounds:
    plan = building.plan(settings=scenario.model_dump(mode="json"))
    return object_rounds.ObjectRounds(scenario_of(plan), run_id=plan.run_id)


def _round(scenario: specs.Scenario, prefix: str = "u-1", index: int = 0) -> object_rounds.Round:
    return _rounds(scenario).of(index, prefix, runs_s=itertools.repeat(0.25))


def _names(made: object_rounds.Round) -> list[str]:
    claims = [claim["metadata"]["name"] for claim in made.claims]
    return [*claims, *(name for group in made.groups for name in group.names)]


def test_objects_are_those_of_the_round_and_the_manifest(load: Load) -> None:
    scenario = load(WHOLE)
    made = _round(scenario)
    job, lone = made.groups
    names = ["u-1-shared", "u-1-train-0", "u-1-train-1", "u-1-train-2", "u-1-lone"]
    assert _names(made) == names
    assert not set(names) & set(_names(_round(scenario, "u-2")))
    for pod in job.pods:  # references follow
        first, second = pod["spec"]["resourceClaims"]
        assert first == {"name": "a", "resourceClaimName": "u-1-shared"}
        assert second == {"name": "b", "resourceClaimTemplateName": "own"}
        assert pod["spec"]["initContainers"][0]["resources"]["claims"] == [
            {"name": "b", "request": "gpu"}
        ]
    assert lone.pods[0]["spec"]["resourceClaims"][0]["resourceClaimName"] == "u-1-shared"
    pod = job.pods[0]
    assert pod["metadata"]["labels"]["app"] == "train"
    assert pod["metadata"]["labels"][objects.RUN_LABEL]
    assert not {"nodeName", "runtimeClassName"} & pod["spec"].keys()
    assert pod["spec"]["nodeSelector"].keys() == {"zone", objects.RUN_LABEL}
    schedulers = [one["spec"]["schedulerName"] for one in (*job.pods, *lone.pods)]
    assert schedulers == ["one", "two", "one", "two"]
    assert (job.completes, job.at_once, lone.completes) == (True, 2, False)
    [container] = pod["spec"]["containers"]
    assert (container["command"], container["args"]) == (["sleep", "0.250"], [])
    assert lone.pods[0]["spec"]["containers"][0]["command"] == ["run"]


def test_templates_are_those_of_today_with_the_runs_label_on_their_claims(load: Load) -> None:
    (template,) = _rounds(load(WHOLE)).templates()
    assert template["apiVersion"] == "resource.k8s.io/v1"
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    assert request == {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    assert objects.RUN_LABEL in template["spec"]["metadata"]["labels"]
    assert "namespace" not in template["metadata"]


def test_files_have_templates_of_their_own_and_may_use_those_of_others(load: Load) -> None:
    of_another = POD.replace("resourceClaimName: shared", "resourceClaimTemplateName: own")
    scenario = load(WHOLE, CLAIM + TEMPLATE + JOB, of_another)
    names = [item["metadata"]["name"] for item in _rounds(scenario).templates()]
    assert names == ["own", "own-file-2"]
    entries = [_round(scenario, index=index).groups[0].pods[0] for index in range(3)]
    used = [pod["spec"]["resourceClaims"][-1]["resourceClaimTemplateName"] for pod in entries]
    assert used == ["own", "own-file-2", "own"]


def test_classes_and_resources_have_the_names_that_a_shared_cluster_gives_them(load: Load) -> None:
    scenario = load(WHOLE)
    plan = building.plan(settings=scenario.model_dump(mode="json"))
    shared = scenario.model_copy(update={"pools": fake_objects.own(scenario.pools, plan.run_id)})
    made = object_rounds.ObjectRounds(shared, run_id=plan.run_id).of(
        0, "u", runs_s=itertools.repeat(1.0)
    )
    (request,) = made.claims[0]["spec"]["devices"]["requests"]
    assert request["exactly"]["deviceClassName"] == shared.pools.device_class.name != "gpu"
    (container,) = made.groups[0].pods[0]["spec"]["containers"]
    assert container["resources"]["limits"] == {shared.pools.device_class.extended_resource: 1}


def test_what_is_left_out_is_said(load: Load) -> None:
    space = "{apiVersion: v1, kind: Namespace, metadata: {name: theirs}}\n---\n"
    (one,) = load(space + WHOLE).object_sets
    assert one.left_out == ["Namespace theirs", "nodeName of pods", "runtimeClassName of pods"]


def test_a_plan_needs_no_file(load: Load, tmp_path: pathlib.Path) -> None:
    settings = load(WHOLE).model_dump(mode="json")
    for path in tmp_path.iterdir():
        path.unlink()
    restored = specs.Scenario.model_validate(settings)
    assert restored.object_sets[0].file == "0.yaml"
    assert _names(_round(restored))[0] == "u-1-shared"


@pytest.mark.parametrize(("change", "sentence"), cases.read(__file__, "mistakes"))
def test_mistakes_are_named_with_file_object_and_field(
    load: Load, change: tuple[str, str], sentence: str
) -> None:
    assert change[0] in WHOLE
    with pytest.raises(errors.UsageError) as caught:
        load(WHOLE.replace(*change))
    message = str(caught.value)
    assert "0.yaml" in message
    assert sentence in message


WORKLOADS = cases.read(__file__, "workloads")


@pytest.mark.parametrize("kind", WORKLOADS)
def test_workloads_of_other_kinds_are_pods_in_their_number(load: Load, kind: str) -> None:
    scenario = load(WORKLOADS[kind]["text"])
    made = {one.names[0].rpartition("-")[0]: len(one.pods) for one in _round(scenario).groups}
    assert made == {f"u-1-{name}": count for name, count in WORKLOADS[kind]["pods"].items()}
    assert ("network of a JobSet" in scenario.object_sets[0].left_out) == (kind == "JobSet")


def test_each_pod_of_a_daemon_set_is_for_one_node_unless_it_chooses_nodes(load: Load) -> None:
    text = WORKLOADS["DaemonSet"]["text"]
    (group,) = _round(load(text)).groups
    terms = [
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        for pod in group.pods
    ]
    names = [term["nodeSelectorTerms"][0]["matchFields"][0]["values"] for term in terms]
    assert names == [[f"worker-{number}"] for number in range(8)]
    (group,) = _round(
        load(text.replace("containers", "nodeSelector: {zone: a}, containers"))
    ).groups
    assert not any("affinity" in pod["spec"] for pod in group.pods)


@pytest.mark.parametrize(("change", "sentence"), cases.read(__file__, "mistakes_of_others"))
def test_mistakes_in_workloads_of_other_kinds(
    load: Load, change: tuple[str, str], sentence: str
) -> None:
    text = WORKLOADS["LeaderWorkerSet"]["text"]
    with pytest.raises(errors.UsageError, match=re.escape(sentence)):
        load(text.replace(*change))


@pytest.mark.parametrize(("change", "sentence"), cases.read(__file__, "mistakes_beside"))
def test_the_scenario_beside_the_files(load: Load, change: tuple[str, str], sentence: str) -> None:
    with pytest.raises(errors.UsageError) as caught:
        load(WHOLE, text=SCENARIO.replace(*change))
    assert sentence in str(caught.value)


GROUPED = TEMPLATE + TEXTS["grouped"]


def test_the_pods_of_a_group_name_it_as_it_is_called_in_the_round(load: Load) -> None:
    made = _round(load(GROUPED))
    [pod_group], [members] = made.pod_groups, made.groups
    assert pod_group["metadata"]["name"] == "u-1-gang"
    entry = {"name": "a", "resourceClaimTemplateName": "own"}
    assert pod_group["spec"]["resourceClaims"] == [entry]
    for pod in members.pods:
        assert pod["spec"]["schedulingGroup"] == {"podGroupName": "u-1-gang"}
        assert pod["spec"]["resourceClaims"] == [entry]


def test_a_group_needs_its_gates_and_is_recorded(load: Load) -> None:
    scenario = load(GROUPED)
    gates = [item.gate for item in cluster_features.needed(scenario)]
    assert gates == ["GenericWorkload", "DRAWorkloadResourceClaims"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (GROUPED.replace("podGroupName: gang", "podGroupName: band"), "expected a PodGroup of"),
        (GROUPED.replace("scheduling.k8s.io/v1alpha2", "scheduling.volcano.sh/v1"), "PodGroup of"),
    ],
)
def test_a_group_that_is_not_there_or_of_another_project(
    load: Load, text: str, problem: str
) -> None:
    with pytest.raises(errors.HarnessError, match=problem):
        load(text)
