"""Workloads become files: together what shares a claim, and only what a run can make."""

import pathlib
from typing import Any

import pytest
import yaml

from harness.importing import imports, materials, workload_sets
from tests.unit.importing import found_inputs

V1 = "resource.k8s.io/v1"


def a_slice(**spec: Any) -> dict[str, Any]:
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec = {
        "driver": "d.example",
        "nodeName": "n",
        "pool": pool,
        "devices": [{"name": "x"}],
        **spec,
    }
    return {"apiVersion": V1, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}


def a_class(name: str = "c", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": V1, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def claim(
    name: str, class_name: str = "c", *, kind: str = "ResourceClaim", request: str = "r"
) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "devices": {"requests": [{"name": request, "exactly": {"deviceClassName": class_name}}]}
    }
    spec = {"spec": spec} if kind.endswith("Template") else spec
    return {"apiVersion": V1, "kind": kind, "metadata": {"name": name}, "spec": spec}


def template(name: str, class_name: str = "c", *, request: str = "r") -> dict[str, Any]:
    return claim(name, class_name, kind="ResourceClaimTemplate", request=request)


def pod(
    name: str, *, claims: tuple[str, ...] = (), templates: tuple[str, ...] = (), **rest: Any
) -> dict[str, Any]:
    entries = [{"name": item, "resourceClaimName": item} for item in claims]
    entries += [{"name": item, "resourceClaimTemplateName": item} for item in templates]
    spec = {"containers": [{"name": "main", **rest}], "resourceClaims": entries}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def divided(*objects: dict[str, Any]) -> tuple[dict[str, list[str]], list[str]]:
    """Return file -> names of its objects, and the notes."""
    found = materials.Materials()
    found.add(objects)
    found.complete()
    sets = workload_sets.divide(found)
    names = {one.name: [obj["metadata"]["name"] for obj in one.objects] for one in sets}
    return names, found.notes.lines


def test_pods_that_share_a_claim_are_one_file_and_templates_are_copied() -> None:
    files, notes = divided(
        a_slice(),
        a_class(),
        claim("shared"),
        template("own"),
        pod("a", claims=("shared",), templates=("own",)),
        pod("b", templates=("own",)),
        pod("c", claims=("shared",)),
    )
    assert files == {"b": ["own", "b"], "a": ["shared", "own", "a", "c"]}
    assert notes == ["added: Node that is not there, but slices are for it"]


def test_what_a_run_cannot_make_is_left_out_with_the_reason() -> None:
    gone = pod("gone", templates=("other",))
    of_job = pod("of-job", templates=("t",))
    of_job["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": "good"}]
    none = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "none"},
        "spec": {"replicas": 0},
    }
    unknown = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "m"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "b"}}
    files, notes = divided(
        a_slice(),
        a_class(),
        template("t"),
        template("u", "nowhere"),
        *(gone, of_job, none, unknown, secret, pod("idle"), pod("good", templates=("t",))),
    )
    assert files == {"good": ["t", "good"]}
    assert notes == [
        "left out: MPIJob of kubeflow.org/v2beta1",
        "left out: Secret of v1",
        "added: Node that is not there, but slices are for it",
        "left out: ResourceClaimTemplate u: DeviceClass nowhere is not there",
        "left out: Pod gone: other, which it uses, is not there",
        "left out: Pod of-job: Pod good has made it",
        "left out: Deployment none: it makes no pods",
        "left out: Pod idle: its pods have no claims",
    ]


def test_without_workloads_each_template_and_claim_has_a_pod() -> None:
    files, notes = divided(
        a_slice(), a_class(), template("t"), template("like-t"), claim("k", request="other")
    )
    assert files == {"t": ["t", "pod"], "k": ["k", "pod"]}
    assert "left out: ResourceClaimTemplate like another one" in notes


def test_without_classes_each_driver_has_one() -> None:
    files, notes = divided(a_slice())
    assert files == {"d.example": ["d.example", "pod"]}
    assert "added: DeviceClass d.example, for the devices of this driver" in notes


def test_a_pod_with_an_extended_resource_needs_no_claim() -> None:
    limits = {"maker.example/gpu": 1}
    files, _ = divided(
        a_slice(),
        a_class(extendedResourceName="maker.example/gpu"),
        pod("p", resources={"limits": limits}),
    )
    assert files == {"p": ["p"]}


# ----------------------------------------------------- workloads as people deploy them

TEMPLATE = f"template: {{spec: {found_inputs.PODS}}}"
KINDS = {
    "StatefulSet": (f"{{replicas: 3, serviceName: s, {TEMPLATE}}}", "apps/v1", {"w": 3}),
    "DaemonSet": (f"{{{TEMPLATE}}}", "apps/v1", {"w": None}),
    "JobSet": (
        f"{{network: {{a: b}}, replicatedJobs: [{{name: p, replicas: 2, template: {{spec: {{parallelism: 3, {TEMPLATE}}}}}}}]}}",
        "jobset.x-k8s.io/v1alpha2",
        {"w-p": 6},
    ),
    "LeaderWorkerSet": (
        f"{{replicas: 2, leaderWorkerTemplate: {{size: 3, workerTemplate: {{spec: {found_inputs.PODS}}}}}}}",
        "leaderworkerset.x-k8s.io/v1",
        {"w-leader": 2, "w-worker": 4},
    ),
    "RayCluster": (
        f"{{headGroupSpec: {{{TEMPLATE}}}, workerGroupSpecs: [{{groupName: g, minReplicas: 2, {TEMPLATE}}}]}}",
        "ray.io/v1",
        {"w-head": 1, "w-g": 2},
    ),
}


def imported(folder: pathlib.Path, *documents: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the workloads and PodGroups of an import, and its notes."""
    files = found_inputs.written(folder, *documents)
    made = imports.write(imports.from_files(files), folder / "mine")
    others = ("scenario.toml", "slices.yaml", "slices.json", "classes.yaml")
    objects = [
        obj
        for path in made.files
        if path.name not in others
        for obj in yaml.safe_load_all(path.read_text())
        if "Claim" not in obj["kind"]
    ]
    return objects, list(made.notes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_workload_is_imported_with_the_number_of_its_pods(
    kind: str, tmp_path: pathlib.Path
) -> None:
    spec, version, counts = KINDS[kind]
    document = found_inputs.workload(kind, "w", spec, version=version)
    made, notes = imported(tmp_path, found_inputs.DEVICES, document)
    assert {
        obj["metadata"]["name"]: obj["spec"].get("replicas", obj["spec"].get("completions"))
        for obj in made
    } == counts
    assert ("left out: network of a JobSet" in notes) == (kind == "JobSet")
    assert ("left out: serviceName of a StatefulSet" in notes) == (kind == "StatefulSet")


def test_monitors_may_have_admin_access(tmp_path: pathlib.Path) -> None:
    devices = found_inputs.DEVICES.replace(
        "{deviceClassName", "{adminAccess: true, deviceClassName"
    )
    document = found_inputs.workload("DaemonSet", "w", f"{{{TEMPLATE}}}")
    made, _ = imported(tmp_path, devices, document)
    assert [obj["kind"] for obj in made] == ["DaemonSet"]


def test_a_daemon_set_of_many_nodes_becomes_fewer_pods(tmp_path: pathlib.Path) -> None:
    nodes = [
        f"\n---\napiVersion: v1\nkind: Node\nmetadata: {{name: node-{letter}}}\n"
        for letter in "abcdefghijk"
    ]
    slices = [
        found_inputs.DEVICES.partition("---")[0].replace("node-a", f"node-{letter}") + "---"
        for letter in "bcdefghijk"
    ]
    document = found_inputs.workload("DaemonSet", "w", f"{{{TEMPLATE}}}")
    made, notes = imported(tmp_path, *slices, found_inputs.DEVICES, *nodes, document)
    assert [(obj["kind"], obj["spec"]["replicas"]) for obj in made] == [("Deployment", 8)]
    assert "cut down: replicas from 11 to 8" in notes


def test_a_pod_group_stays_with_its_pods(tmp_path: pathlib.Path) -> None:
    group = (
        "{podGroupTemplateRef: {workload: {workloadName: wl, podGroupTemplateName: workers}}, "
        "schedulingPolicy: {gang: {minCount: 20}}, resourceClaims: [{name: g, resourceClaimTemplateName: one-gpu}]}"
    )
    pods = found_inputs.PODS.replace("{", "{schedulingGroup: {podGroupName: grp}, ", 1)
    made, notes = imported(
        tmp_path,
        found_inputs.DEVICES,
        found_inputs.workload("PodGroup", "grp", group, version="scheduling.k8s.io/v1alpha2"),
        found_inputs.workload("PodGroup", "other", "{}", version="scheduling.volcano.sh/v1beta1"),
        found_inputs.workload(
            "Job",
            "j",
            f"{{completions: 20, parallelism: 20, template: {{spec: {pods}}}}}",
            version="batch/v1",
        ),
    )
    assert [obj["kind"] for obj in made] == ["PodGroup", "Job"]
    assert made[0]["spec"]["schedulingPolicy"] == {"gang": {"minCount": 8}}
    assert made[1]["spec"]["template"]["spec"]["schedulingGroup"] == {"podGroupName": "grp"}
    assert "left out: podGroupTemplateRef of a PodGroup" in notes
    assert "left out: PodGroup of scheduling.volcano.sh/v1beta1" in notes


def owned(kind: str, name: str, owner: str, *, replicas: int = 1) -> str:
    if kind == "Pod":
        return found_inputs.workload(kind, name, found_inputs.PODS, version="v1", owner=owner)
    spec = f"{{replicas: {replicas}, {TEMPLATE}}}"
    return found_inputs.workload(kind, name, spec, owner=owner)


def test_what_an_imported_workload_has_made_is_left_out_and_told(tmp_path: pathlib.Path) -> None:
    made, notes = imported(
        tmp_path,
        found_inputs.DEVICES,
        owned("Deployment", "web", ""),
        owned("ReplicaSet", "web-1", "Deployment web"),
        owned("ReplicaSet", "web-0", "Deployment web", replicas=0),
        owned("Pod", "web-1-a", "ReplicaSet web-1"),
        owned("Pod", "rc-worker", "RayCluster rc"),
        owned("Pod", "round-a", "Pod round-b"),
        owned("Pod", "round-b", "Pod round-a"),
    )
    assert {obj["metadata"]["name"] for obj in made} >= {"web", "rc-worker"}
    for line in (
        "left out: ReplicaSet web-1: Deployment web has made it",
        "left out: ReplicaSet web-0: Deployment web has made it",
        "left out: Pod web-1-a: ReplicaSet web-1 has made it",
    ):
        assert line in notes


def test_what_made_a_workload_must_be_imported_itself(tmp_path: pathlib.Path) -> None:
    made, notes = imported(
        tmp_path,
        found_inputs.DEVICES,
        owned("Deployment", "web", "", replicas=0),
        owned("ReplicaSet", "web-1", "Deployment web"),
        found_inputs.workload(
            "Job",
            "j",
            f"{{suspend: true, template: {{spec: {found_inputs.PODS}}}}}",
            version="batch/v1",
        ),
    )
    assert [obj["metadata"]["name"] for obj in made] == ["web-1"]
    assert "left out: Deployment web: it makes no pods" in notes
    assert "left out: Job j: suspend is true, so that it makes no pods" in notes
