"""Redaction: nothing that tells whose cluster it is stays, and what refers to it follows."""

import pathlib
import re
from collections.abc import Iterator
from typing import Any

import hypothesis
import msgspec
import pytest
import yaml
from hypothesis import strategies as st

from harness.importing import devices, imports, materials, redaction, workload_sets
from harness.report.redaction import values
from harness.subject.allocation import expressions

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
    made, sets = redaction.redacted(found, workload_sets.divide(found))
    return made, [obj for one in sets for obj in one.objects]


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
    assert values.without_values(PARAMETERS) == {
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


# ------------------------------------------------------------------------- selectors

TEXTS = ["0000:00:02.0", "0000:01:00.0", "10.0.0.7", UUID, "a.corp.example", "hush-host", "M1"]
PARTS = [*TEXTS, "0000:00:", "^0000:0[01]", ".0", "GPU-", "corp", ""]
NAMES = ["uuid", "pciAddress", "model", "nic.example/busID"]
QUOTES = st.sampled_from(["'{}'", '"{}"', "r'{}'", "('{}' + '')", "'\\x27 // {}'"])


def read(name: str) -> str:
    domain, _, key = name.rpartition("/")
    return f"device.attributes['{domain or 'gpu.maker.example'}'].{key}"


LITERALS = st.builds(lambda form, text: form.format(text), QUOTES, st.sampled_from(PARTS))
VALUES = st.sampled_from(NAMES).map(read)
LEAVES = st.one_of(
    st.builds("{}.{}({})".format, VALUES, st.sampled_from(["startsWith", "endsWith", "contains", "matches"]), LITERALS),
    st.builds("{} {} {}".format, VALUES, st.sampled_from(["==", "!=", "<", ">", ">="]), LITERALS),
    st.builds("{} in [{}, {}]".format, VALUES, LITERALS, LITERALS),
    st.builds("[{}, {}].exists(a, {}.endsWith(a))".format, LITERALS, LITERALS, VALUES),
    st.builds("size({}) == {}".format, VALUES, st.integers(0, 40)),
    st.builds("{} == {}".format, VALUES, VALUES),
    st.builds("{} == {} // {}\n".format, VALUES, LITERALS, st.sampled_from(TEXTS)),
    st.builds("device.attributes['gpu.maker.example'].exists(k, k == {})".format, LITERALS),
    st.builds("has({})".format, VALUES),
    st.builds("device.driver == {}".format, LITERALS),
)  # fmt: skip
SELECTORS = st.recursive(
    LEAVES, lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["&&", "||"]), inner), max_leaves=3
)  # fmt: skip
DEVICES = st.dictionaries(
    st.sampled_from(NAMES), st.sampled_from(TEXTS).map(lambda text: {"string": text})
)


def answers(found: materials.Materials) -> list[list[bool | None]]:
    """Return what each class's selectors say of each device."""
    return [
        [answer(item["cel"]["expression"], device) for device in found.slices[0]["spec"]["devices"]]
        for obj in found.classes
        for item in obj["spec"]["selectors"]
    ]


def answer(text: str, device: dict[str, Any]) -> bool | None:
    try:
        return expressions.compiled(text).matches("gpu.maker.example", device)
    except expressions.SelectorError:
        return None


@hypothesis.settings(max_examples=150, deadline=None, database=None, derandomize=True)
@hypothesis.given(
    selectors=st.lists(SELECTORS, min_size=1, max_size=4),
    attributes=st.lists(DEVICES, min_size=1, max_size=4),
)
def test_every_selector_answers_as_before_on_every_device(
    selectors: list[str], attributes: list[dict[str, Any]]
) -> None:
    found = materials.Materials()
    found.add([node(), slices()[0]])
    found.slices[0]["spec"]["devices"] = [
        device(f"d-{number}", **each) for number, each in enumerate(attributes)
    ]
    spec = {"selectors": [{"cel": {"expression": text}} for text in selectors]}
    kinds = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass"}
    found.classes = [{**kinds, "metadata": {"name": "c"}, "spec": spec}]
    devices.complete(found)
    made, _ = redaction.redacted(found, workload_sets.divide(found))
    assert answers(made) == answers(found)


@pytest.mark.parametrize(
    "expression",
    [
        "device.attributes['nic.example'].ifName.startsWith('eth')",
        "device.attributes['nic.example']['ifName'].lowerAscii().contains('hush')",
        "['hush', 'x'].exists(a, device.attributes['nic.example'].ifName.endsWith(a))",
        "device.attributes['nic.example'].ifName < 'f'",
        "size(device.attributes['nic.example'].ifName) == 8",
    ],
)
def test_a_text_that_decides_by_its_form_stays_and_is_told(
    found: materials.Materials, expression: str
) -> None:
    spec = found.templates[0]["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    spec["selectors"] = [{"cel": {"expression": expression}}]
    made, _ = redacted(found)
    attributes = made.slices[0]["spec"]["devices"][1]["attributes"]
    assert attributes["nic.example/ifName"] == {"string": "eth-hush"}
    assert any("nic.example/ifName" in line for line in found.notes.lines)


def test_what_no_selector_looks_at_is_redacted_beside_what_stays(
    found: materials.Materials,
) -> None:
    found.classes[0]["spec"]["selectors"] = [
        {"cel": {"expression": "device.attributes['nic.example'].ifName.startsWith('eth')"}}
    ]
    made, _ = redacted(found)
    assert UUID not in str(made.slices)


# -------------------------------------------------------------------------- every text

EVERYTHING = """
apiVersion: v1
kind: Node
metadata: {name: hush-node, labels: {kubernetes.io/hostname: hush-node, kept.example/label: hush-1.a.example, hush.example/a: hush-b}, annotations: {hush-c: hush-d}}
spec: {taints: [{key: hush-e, value: hush-f, effect: NoSchedule}], podCIDR: 10.9.8.0/24}
status: {allocatable: {cpu: "8", memory: 32Gi}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: hush-slice, labels: {hush-g: hush-h}}
spec:
  driver: kept-driver.example
  pool: {name: hush-pool, generation: 1, resourceSliceCount: 1}
  nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: kept.example/label, operator: In, values: [hush-1.a.example]}]}]}
  devices:
  - name: hush-device
    attributes: {uuid: {string: hush-i}, serials: {strings: [hush-j]}, keptModel: {string: kept-model}}
    taints: [{key: kept.example/taint, value: hush-k, effect: NoSchedule, timeAdded: "2031-02-03T04:05:06Z"}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: hush-class, annotations: {hush-l: hush-m}}
spec:
  selectors: [{cel: {expression: "device.driver == 'kept-driver.example' // of hush-n@corp.example"}}]
  config: [{opaque: {driver: kept-driver.example, parameters: {keptKey: hush-o}}}]
---
apiVersion: resource.k8s.io/v1beta2
kind: DeviceTaintRule
metadata: {name: hush-rule}
spec: {deviceSelector: {driver: kept-driver.example, pool: hush-pool, device: hush-device}, taint: {key: kept.example/taint, value: hush-k, effect: NoSchedule}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: hush-template, namespace: hush-ns, labels: {hush-p: hush-q}}
spec:
  metadata: {labels: {hush-r: hush-s}, annotations: {hush-mail: hush-t@corp.example}}
  spec:
    devices:
      requests: [{name: kept-request, exactly: {deviceClassName: hush-class, tolerations: [{key: kept.example/taint, operator: Equal, value: hush-k, effect: NoSchedule}]}}]
      config: [{requests: [kept-request], opaque: {driver: kept-driver.example, parameters: {keptKey: [hush-u]}}}]
---
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: hush-group, namespace: hush-ns}
spec: {schedulingPolicy: {gang: {minCount: 2}}, resourceClaims: [{name: hush-entry, resourceClaimTemplateName: hush-template}]}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: hush-set, namespace: hush-ns, annotations: {hush-v: hush-w}}
spec:
  replicatedJobs:
  - name: hush-part
    replicas: 2
    template:
      metadata: {labels: {hush-x: hush-y}}
      spec:
        template:
          metadata: {labels: {hush-z: hush-aa}}
          spec:
            schedulingGroup: {podGroupName: hush-group}
            serviceAccountName: hush-bb
            nodeSelector: {kept.example/label: hush-1.a.example}
            tolerations: [{key: hush-cc, operator: Exists}]
            containers: [{name: hush-dd, image: hush.example/ee, command: [hush-ff], env: [{name: HUSH, value: hush-gg}], resources: {claims: [{name: hush-entry, request: kept-request}]}}]
            resourceClaims: [{name: hush-entry, resourceClaimTemplateName: hush-template}]
            volumes: [{name: hush-hh, configMap: {name: hush-ii}}]
"""


def texts(value: Any) -> Iterator[str]:
    """Yield the keys and texts of a document."""
    if isinstance(value, dict):
        yield from value
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            yield from texts(item)


def test_of_all_texts_of_the_input_only_the_named_ones_are_left(tmp_path: pathlib.Path) -> None:
    (tmp_path / "input.yaml").write_text(EVERYTHING)
    imports.write(imports.from_files([tmp_path / "input.yaml"]), tmp_path / "made", redacted=True)
    output = "".join(path.read_text() for path in sorted((tmp_path / "made").iterdir()))
    words = {
        word
        for text in texts(list(yaml.safe_load_all(EVERYTHING)))
        for word in re.findall(r"[\w-]+", text)
    }
    found = {word for word in words if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", output)}
    own = {word for word in found if word.startswith(("hush", "HUSH", "2031", "corp"))}
    assert own == set()
    assert {word for word in found if word.startswith("kept")} == {
        *("kept", "kept-driver", "kept-model", "kept-request", "keptKey", "keptModel")
    }
