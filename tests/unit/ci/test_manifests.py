"""Objects of the examples: decoded strictly with Kubernetes' own types, and their pods created in
our API server, whose validation is compared with Kubernetes'.
"""

import copy
import pathlib
import random
from typing import Any

import pytest
import yaml

from harness.apiserver.errors import status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import decoding
from tests.support import called_scripts

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"
FILES = ("campaign-job.yaml", "driver-daemonset.yaml")
DOCUMENTS = [
    document for name in FILES for document in yaml.safe_load_all((EXAMPLES / name).read_text())
]
PROW = yaml.safe_load((EXAMPLES / "prow-job.yaml").read_text())
PODS = {
    document["kind"]: document["spec"]["template"]["spec"]
    for document in DOCUMENTS
    if "template" in document.get("spec", {})
} | {job["name"]: job["spec"] for jobs in PROW["presubmits"].values() for job in jobs}
PODS |= {job["name"]: job["spec"] for job in PROW["periodics"]}


def problems(document: dict[str, Any]) -> list[str]:
    group, _, version = document["apiVersion"].rpartition("/")
    kind = api_types.of_kind(group, version, document["kind"])
    try:
        decoding.read(kind, document)
    except decoding.MismatchError as error:
        return [str(error)]
    return list(decoding.unknown_fields(kind, document))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["kind"])
def test_each_document_has_kubernetes_types(document: dict[str, Any]) -> None:
    assert problems(document) == []
    assert problems(document | {"sspec": 3})
    assert problems(document | {"metadata": 5})


def create(spec: dict[str, Any]) -> None:
    store = stores.Store(now=lambda: "2026-01-01T00:00:00Z", stream=random.Random(1))
    store.create(resources.PODS, "default", {"metadata": {"name": "p"}, "spec": spec})


@pytest.mark.parametrize("name", PODS)
def test_its_pod_is_valid(name: str) -> None:
    spec = copy.deepcopy(PODS[name])
    for number, container in enumerate(spec["containers"]):
        container.setdefault("name", f"c{number}")  # Prow names it
    create(copy.deepcopy(spec))
    spec["containers"][0]["name"] = "Not a name"
    with pytest.raises(status_errors.StatusError, match=r"containers\[0\].name"):
        create(spec)


# ---------------------------------------------------------------- our DRA driver

DRIVER = PODS["DaemonSet"]
CONTAINER = DRIVER["containers"][0]


def options() -> dict[str, Any]:
    found = called_scripts.parsed([*CONTAINER["command"], *CONTAINER["args"]])
    return found | dict(word.split("=") for word in found["more"])


def test_every_folder_of_the_driver_is_the_same_on_the_node() -> None:
    mounts = {mount["name"]: mount["mountPath"] for mount in CONTAINER["volumeMounts"]}
    hosts = {
        item["name"]: item["hostPath"]["path"] for item in DRIVER["volumes"] if "hostPath" in item
    }
    assert {name: mounts[name] for name in hosts} == hosts
    found = options()
    folders = {str(found[name]) for name in ("plugins_dir", "registry_dir", "cdi_dir", "state")}
    assert folders == {*hosts.values()}
