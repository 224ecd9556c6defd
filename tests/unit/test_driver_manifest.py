"""The manifest of our DRA driver: Kubernetes' types, options that exist, and its rights."""

import copy
import pathlib
import random
import shlex
from typing import Any

import pytest
import yaml

from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import decoding
from tests.support import called_scripts

MANIFEST = pathlib.Path(__file__).parents[2] / "examples" / "driver-daemonset.yaml"
DOCUMENTS = list(yaml.safe_load_all(MANIFEST.read_text()))
BY_KIND = {document["kind"]: document for document in DOCUMENTS}
POD = BY_KIND["DaemonSet"]["spec"]["template"]["spec"]
CONTAINER = POD["containers"][0]


def store() -> stores.Store:
    return stores.Store(now=lambda: "2026-01-01T00:00:00Z", stream=random.Random(1))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda item: item["kind"])
def test_each_document_has_kubernetes_types(document: dict[str, Any]) -> None:
    group, _, version = document["apiVersion"].rpartition("/")
    kind = api_types.of_kind(group, version, document["kind"])
    decoding.read(kind, document)
    assert list(decoding.unknown_fields(kind, document)) == []


def test_its_pod_and_its_class_are_valid() -> None:
    pods, classes = resources.find("", "v1", "pods"), resources.find(GROUP, "v1", "deviceclasses")
    made = store()
    made.create(pods, "default", {"metadata": {"name": "p"}, "spec": copy.deepcopy(POD)})
    made.create(classes, "", copy.deepcopy(BY_KIND["DeviceClass"]))


GROUP = "resource.k8s.io"


def options() -> dict[str, Any]:
    found = called_scripts.parsed([*CONTAINER["command"], *CONTAINER["args"]])
    return found | dict(word.split("=") for word in found["more"])


def test_every_folder_of_the_driver_is_the_same_on_the_node() -> None:
    mounts = {mount["name"]: mount["mountPath"] for mount in CONTAINER["volumeMounts"]}
    hosts = {
        item["name"]: item["hostPath"]["path"] for item in POD["volumes"] if "hostPath" in item
    }
    assert {name: mounts[name] for name in hosts} == hosts
    found = options()
    folders = {str(found[name]) for name in ("plugins_dir", "registry_dir", "cdi_dir", "state")}
    assert folders == {*hosts.values()}


def test_instances_of_a_rolling_update_differ_by_the_uid_of_their_pods() -> None:
    update = BY_KIND["DaemonSet"]["spec"]["updateStrategy"]
    assert update == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
    }
    paths = {
        item["name"]: item["valueFrom"]["fieldRef"]["fieldPath"] for item in CONTAINER["env"][:2]
    }
    assert paths == {"NODE_NAME": "spec.nodeName", "POD_UID": "metadata.uid"}
    found = options()
    assert (found["node"], found["instance"]) == (["$(NODE_NAME)"], "$(POD_UID)")
    registry, (name,) = found["registry_dir"], found["driver_name"]
    probe = shlex.split(CONTAINER["readinessProbe"]["exec"]["command"][-1])
    assert probe == ["test", "-S", f"{registry}/{name}-$POD_UID-reg.sock"]
