"""Workloads lose what a run has no use for, above all what may be secret."""

import pytest

from harness.importing import materials, pods
from tests.support import cases

CONTAINER = cases.read(__file__, "container")
POD = cases.read(__file__, "pod") | {
    "containers": [CONTAINER],
    "initContainers": [{**CONTAINER, "name": "sidecar", "restartPolicy": "Always"}],
}
TEMPLATE = {"metadata": {"labels": {"app": "x"}, "annotations": {"a": "hush"}}, "spec": POD}
JOB = {"completions": 2, "parallelism": 2, "backoffLimit": 0, "template": TEMPLATE}
SPECS = {
    "Job": JOB,
    "CronJob": {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}},
    "Deployment": {"replicas": 3, "template": TEMPLATE},
}


@pytest.mark.parametrize("kind", SPECS)
def test_only_what_decides_the_place_stays(kind: str) -> None:
    notes = materials.Notes()
    metadata = {"name": "w", "annotations": {"a": "hush"}}
    obj = {"apiVersion": "x/v1", "kind": kind, "metadata": metadata, "spec": SPECS[kind]}
    made = pods.cut_down(obj, ["maker.example/gpu"], notes)
    assert "hush" not in str(made)
    kept = materials.pod_template(made)
    resources = {**CONTAINER["resources"], "limits": {"cpu": "1", "maker.example/gpu": "1"}}
    container = {"name": "main", "image": "busybox", "resources": resources}
    assert kept == {
        "metadata": {"labels": {"app": "x"}},
        "spec": {
            "initContainers": [{**container, "name": "sidecar", "restartPolicy": "Always"}],
            "containers": [container],
            "affinity": {"nodeAffinity": {"a": 1}},
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
        },
    }
    assert {*notes.lines} == {
        "left out: args of a container (2 times)",
        "left out: env of a container (2 times)",
        "left out: envFrom of a container (2 times)",
        "left out: other.example/x in the resources of a container (2 times)",
        "left out: podAntiAffinity of a pod",
        "left out: serviceAccountName of a pod",
        "left out: volumes of a pod",
    }


def test_many_pods_become_fewer() -> None:
    notes = materials.Notes()
    spec = {"completions": 100, "parallelism": 2, "template": TEMPLATE}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "w"}, "spec": spec}
    made = pods.cut_down(job, (), notes)["spec"]
    assert (made["completions"], made["parallelism"]) == (pods.PODS_MAX, 2)
    assert f"cut down: completions from 100 to {pods.PODS_MAX}" in notes.lines
