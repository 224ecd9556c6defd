"""Redaction: nothing that tells whose cluster it is stays, and what refers to it follows."""

from typing import Any

import msgspec
import pytest

from harness.importing import devices, materials, redaction, workload_sets

UUID = "GPU-5d0e6a1c-0000-4c11-9d58-0f8e2b7a3100"
PARAMETERS = {
    "apiVersion": "maker.example/v1",
    "kind": "Config",
    "token": "hush-1",
    "sharing": {
        "interval": "hush-2",
        "replicas": 4,
        "on": True,
        "list": ["hush-3", {"a": "hush-4"}],
    },
}


def node() -> dict[str, Any]:
    labels = {
        "kubernetes.io/hostname": "hush-host",
        "topology.kubernetes.io/zone": "hush-zone",
        "hush.example/team": "hush-team",
        "rack": "hush-host",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "hush-host", "labels": labels},
        "status": {"allocatable": {"cpu": "8"}},
    }


def device(name: str, **attributes: Any) -> dict[str, Any]:
    return {"name": name, "attributes": attributes}


def slices() -> list[dict[str, Any]]:
    place = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["hush-host"]}]}
        ]
    }
    local = {
        "driver": "gpu.maker.example",
        "nodeName": "hush-host",
        "pool": {"name": "hush-host", "generation": 1, "resourceSliceCount": 1},
        "devices": [
            device(
                "hush-gpu",
                uuid={"string": UUID},
                model={"string": "M1"},
                driverVersion={"version": "1.2.3"},
            ),
            device(
                "hush-gpu-2",
                **{
                    "nic.example/ifName": {"string": "eth-hush"},
                    "roots": {"strings": ["pci0000:1f"]},
                },
            ),
        ],
    }
    network = {
        "driver": "net.maker.example",
        "nodeSelector": place,
        "pool": {"name": "hush-fabric", "generation": 1, "resourceSliceCount": 1},
        "devices": [device("hush-port", address={"string": "10.0.0.7"})],
    }
    kinds = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
    return [
        {**kinds, "metadata": {"name": f"hush-slice-{i}"}, "spec": spec}
        for i, spec in enumerate((local, network))
    ]


def claim_spec() -> dict[str, Any]:
    selector = f"device.driver == 'gpu.maker.example' && device.attributes['gpu.maker.example'].uuid in ['{UUID}']"
    exactly = {"deviceClassName": "hush-class", "selectors": [{"cel": {"expression": selector}}]}
    requests = [{"name": "gpu", "exactly": exactly}]
    config = [{"opaque": {"driver": "gpu.maker.example", "parameters": PARAMETERS}}]
    return {"devices": {"requests": requests, "config": config}}


def objects() -> list[dict[str, Any]]:
    v1 = {"apiVersion": "resource.k8s.io/v1"}
    pod = {
        "nodeSelector": {"rack": "hush-host"},
        "containers": [
            {
                "name": "hush-main",
                "image": "hush.example/image",
                "command": ["hush-5"],
                "env": [{"name": "A", "value": "hush-6"}],
                "resources": {"claims": [{"name": "gpu"}]},
            }
        ],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "hush-template"}],
    }
    template = {
        "metadata": {"labels": {"app": "hush"}, "annotations": {"a": "hush-7"}},
        "spec": pod,
    }
    return [
        {
            **v1,
            "kind": "DeviceClass",
            "metadata": {"name": "hush-class"},
            "spec": {"config": claim_spec()["devices"]["config"]},
        },
        {
            **v1,
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "hush-template", "namespace": "hush-ns"},
            "spec": {"spec": claim_spec()},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "hush-app", "namespace": "hush-ns"},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": "hush"}},
                "template": template,
            },
        },
    ]


@pytest.fixture
def found() -> materials.Materials:
    found = materials.Materials()
    found.add([node(), *slices(), *objects()])
    devices.complete(found)
    return found


def redacted(found: materials.Materials) -> tuple[materials.Materials, list[Any]]:
    sets = redaction.Redaction(found.notes).apply(found, workload_sets.divide(found))
    return found, [obj for one in sets for obj in one.objects]


def test_nothing_that_was_to_be_hidden_is_left(found: materials.Materials) -> None:
    found, made = redacted(found)
    text = msgspec.json.encode([found.nodes, found.slices, found.classes, made]).decode()
    assert "hush" not in text
    assert not any(part in text for part in (UUID, "10.0.0.7", "pci0000"))


def test_what_devices_are_chosen_by_stays(found: materials.Materials) -> None:
    found, _ = redacted(found)
    first, second = found.slices[0]["spec"]["devices"]
    assert first["attributes"]["model"] == {"string": "M1"}
    assert first["attributes"]["driverVersion"] == {"version": "1.2.3"}
    assert {*second["attributes"]} == {"nic.example/ifName", "roots"}
    assert found.slices[0]["spec"]["driver"] == "gpu.maker.example"


def test_references_follow(found: materials.Materials) -> None:
    found, made = redacted(found)
    name = found.nodes[0]["metadata"]["name"]
    local, network = (obj["spec"] for obj in found.slices)
    assert local["nodeName"] == local["pool"]["name"] == name
    labels = found.nodes[0]["metadata"]["labels"]
    [term] = network["nodeSelector"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == [labels["rack"]]
    template, deployment = made
    pod = deployment["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"rack": labels["rack"]}
    assert pod["resourceClaims"][0]["resourceClaimTemplateName"] == template["metadata"]["name"]
    [request] = template["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"]["deviceClassName"] == found.classes[0]["metadata"]["name"]
    assert (
        deployment["spec"]["selector"]["matchLabels"].items()
        <= deployment["spec"]["template"]["metadata"]["labels"].items()
    )


def test_a_selector_still_matches_the_device_that_it_named(found: materials.Materials) -> None:
    found, made = redacted(found)
    uuid = found.slices[0]["spec"]["devices"][0]["attributes"]["uuid"]["string"]
    [request] = made[0]["spec"]["spec"]["devices"]["requests"]
    [selector] = request["exactly"]["selectors"]
    assert selector["cel"]["expression"] == (
        f"device.driver == 'gpu.maker.example' && device.attributes['gpu.maker.example'].uuid in ['{uuid}']"
    )


def test_parameters_keep_their_keys_and_lose_their_values() -> None:
    assert redaction.without_values(PARAMETERS) == {
        "apiVersion": "maker.example/v1",
        "kind": "Config",
        "token": "redacted",
        "sharing": {
            "interval": "redacted",
            "replicas": 0,
            "on": False,
            "list": ["redacted", {"a": "redacted"}],
        },
    }


@pytest.mark.parametrize(
    "expression",
    [
        "device.attributes['nic.example'].ifName.startsWith('eth')",
        "device.attributes['nic.example']['ifName'].lowerAscii().contains('hush')",
    ],
)
def test_a_text_of_which_a_selector_looks_at_parts_stays_and_is_told(
    found: materials.Materials, expression: str
) -> None:
    spec = found.templates[0]["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    spec["selectors"] = [{"cel": {"expression": expression}}]
    found, _ = redacted(found)
    attributes = found.slices[0]["spec"]["devices"][1]["attributes"]
    assert attributes["nic.example/ifName"] == {"string": "eth-hush"}
    assert any("nic.example/ifName" in line for line in found.notes.lines)
