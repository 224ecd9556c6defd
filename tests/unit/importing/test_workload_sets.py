"""Workloads become files: together what shares a claim, and only what a run can make."""

from typing import Any

from harness.importing import devices, materials, workload_sets

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
    devices.complete(found)
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
    of_job["metadata"]["labels"] = {"batch.kubernetes.io/job-name": "j"}
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
        "left out: Pod of-job: a controller has made it",
        "left out: Deployment none: it makes no pods",
        "left out: Pod idle: its pods have no claims",
    ]


def test_without_workloads_each_template_and_claim_has_a_pod() -> None:
    files, notes = divided(
        a_slice(), a_class(), template("t"), template("like-t"), claim("k", request="other")
    )
    assert files == {"t": ["t", "pod"], "k": ["k", "pod"]}
    assert "left out: ResourceClaimTemplate like another one" in notes


def test_without_anything_each_class_has_a_pod() -> None:
    assert divided(a_slice(), a_class("b"), a_class("a"))[0] == {
        "a": ["a", "pod"],
        "b": ["b", "pod"],
    }


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


def test_no_more_files_than_a_scenario_may_have() -> None:
    many = [template(f"t-{i}", request=f"r{i}") for i in range(workload_sets.SETS_MAX + 3)]
    files, notes = divided(a_slice(), a_class(), *many)
    assert len(files) == workload_sets.SETS_MAX
    assert notes[-1].endswith("(3 times)")
