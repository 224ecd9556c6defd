"""Invalid objects: one row for each rule."""

from typing import Any

import pytest

from harness.apiserver.scheme import resources
from tests.support import cases

R = resources
Document = dict[str, Any]
EXACTLY = {"deviceClassName": "gpu.example"}
SELECTOR = {"cel": {"expression": "true"}}


def request(name: str = "gpu", **exactly: Any) -> Document:
    return {"name": name, "exactly": {**EXACTLY, **exactly}}


def either(*names: str) -> Document:
    return {"name": "gpu", "firstAvailable": [{"name": name, **EXACTLY} for name in names]}


CLAIM_SPECS = [
    ([request(str(n)) for n in range(33)], "requests: Too many: 33"),
    ([request(), request()], "requests[1]: Duplicate value"),
    ([request("")], 'requests[0].name: Invalid value: ""'),
    ([request("Not_A_Label")], "requests[0].name: Invalid value"),
    ([{"name": "gpu"}], "requests[0]: Required value: exactly one of"),
    ([request() | either("a")], "requests[0]: Invalid value"),
    ([either(*(f"a{n}" for n in range(9)))], "firstAvailable: Too many: 9"),
    ([request(deviceClassName="")], "exactly.deviceClassName: Required value"),
    ([request(deviceClassName="No_Name")], "exactly.deviceClassName: Invalid value"),
    ([request(count=-1)], "exactly.count: Invalid value: -1: must be greater than zero"),
    ([request(allocationMode="All", count=2)], "exactly.count: Invalid value: 2"),
    ([request(allocationMode="Some")], 'supported values: "All", "ExactCount"'),
    ([request(selectors=[SELECTOR] * 33)], "selectors: Too many: 33"),
    ([request(selectors=[{}])], "selectors[0].cel: Required value"),
    ([request(selectors=[{"cel": {}}])], "selectors[0].cel.expression: Invalid value"),
    ([request(selectors=[{"cel": {"expression": "x" * 10241}}])], "Too long"),
]


@pytest.mark.parametrize(("requests", "text"), CLAIM_SPECS, ids=[row[1] for row in CLAIM_SPECS])
def test_claims_and_templates_refuse(
    store: Any, refuses: Any, requests: list[Document], text: str
) -> None:
    spec = {"devices": {"requests": requests}}
    with refuses(422, "Invalid", text):
        store.create(R.CLAIMS, "default", {"metadata": {"name": "c"}, "spec": spec})
    with refuses(422, "Invalid", text):
        store.create(
            R.CLAIM_TEMPLATES, "default", {"metadata": {"name": "t"}, "spec": {"spec": spec}}
        )


@pytest.mark.parametrize(
    ("devices", "text"),
    [
        ({"constraints": [{"requests": ["other"]}]}, "constraints[0].requests[0]: Invalid value"),
        ({"constraints": [{}] * 33}, "constraints: Too many: 33"),
        ({"config": [{}] * 33}, "config: Too many: 33"),
    ],
)
def test_claims_refuse_beside_their_requests(
    store: Any, refuses: Any, devices: Document, text: str
) -> None:
    spec = {"devices": {"requests": [request()], **devices}}
    with refuses(422, "Invalid", text):
        store.create(R.CLAIMS, "default", {"metadata": {"name": "c"}, "spec": spec})


@pytest.mark.parametrize(
    "requests",
    [
        [request(str(n)) for n in range(32)],
        [either("a", "b", "c", "d", "e", "f", "g", "h")],
        [request(allocationMode="All")],
        [request(selectors=[SELECTOR] * 32)],
    ],
)
def test_claims_at_the_limits(store: Any, requests: list[Document]) -> None:
    spec = {"devices": {"requests": requests}}
    store.create(R.CLAIMS, "default", {"metadata": {"name": "c"}, "spec": spec})


def device_slice(count: int = 1, **spec: Any) -> Document:
    document = {
        "driver": "gpu.example",
        "nodeName": "n",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"d{n}"} for n in range(count)],
    }
    return {"metadata": {"name": "s"}, "spec": document | spec}


TAINT = {"key": "k", "effect": "NoSchedule"}
SLICES = [
    (device_slice(129), "devices: Too many: 129"),
    (device_slice(devices=[{"name": f"d{n}", "taints": [TAINT]} for n in range(65)]), "most 64"),
    (device_slice(devices=[{"name": "d"}, {"name": "d"}]), "devices[1]: Duplicate value"),
    (device_slice(devices=[{}]), "devices[0].name: Invalid value"),
    (device_slice(driver=""), "spec.driver: Required value"),
    (device_slice(pool={"resourceSliceCount": 1}), "spec.pool.name: Required value"),
    (device_slice(pool={"name": "n"}), "resourceSliceCount: Invalid value: 0"),
    (device_slice(pool={"name": "n", "resourceSliceCount": 1, "generation": -1}), "generation"),
    (device_slice(nodeName=""), "exactly one of `nodeName`"),
    (device_slice(allNodes=True), "spec: Invalid value"),
    (
        device_slice(
            devices=[{"name": "d", "attributes": {f"a{n}": {"int": n} for n in range(33)}}]
        ),
        "must not exceed 32",
    ),
    (device_slice(devices=[{"name": "d", "attributes": {"a": {}}}]), "exactly one value"),
    (
        device_slice(devices=[{"name": "d", "attributes": {"a": {"int": 1, "bool": True}}}]),
        "exactly one value",
    ),
]


@pytest.mark.parametrize(("document", "text"), SLICES, ids=[row[1] for row in SLICES])
def test_slices_refuse(store: Any, refuses: Any, document: Document, text: str) -> None:
    with refuses(422, "Invalid", text):
        store.create(R.SLICES, "", document)


def test_slices_at_the_limits(store: Any) -> None:
    store.create(R.SLICES, "", device_slice(128))


@pytest.mark.parametrize(
    "change",
    [
        {"driver": "other.example"},
        {"nodeName": "other"},
        {"pool": {"name": "other", "generation": 1, "resourceSliceCount": 1}},
    ],
)
def test_what_a_slice_keeps(store: Any, refuses: Any, change: Document) -> None:
    store.create(R.SLICES, "", device_slice())
    with refuses(422, "Invalid", "field is immutable"):
        store.update(R.SLICES, "", "s", device_slice(**change))
    pool = {"name": "n", "generation": 2, "resourceSliceCount": 1}
    updated = store.update(R.SLICES, "", "s", device_slice(5, pool=pool)).document()
    assert len(updated["spec"]["devices"]) == 5


def pod(**spec: Any) -> Document:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers} | spec}


@pytest.mark.parametrize(("spec", "text"), cases.read(__file__, "pods"))
def test_pods_refuse(store: Any, refuses: Any, spec: Document, text: str) -> None:
    with refuses(422, "Invalid", text):
        store.create(R.PODS, "default", pod(**spec))


@pytest.mark.parametrize(
    "change",
    [
        {"nodeName": "n"},
        {"schedulerName": "other"},
        {"restartPolicy": "Never"},
        {"resourceClaims": [{"name": "a", "resourceClaimName": "x"}]},
    ],
)
def test_what_a_pod_keeps(store: Any, refuses: Any, change: Document) -> None:
    store.create(R.PODS, "default", pod())
    with refuses(422, "Invalid", "pod updates may not change fields other than"):
        store.update(R.PODS, "default", "p", pod(**change))


def test_pods_are_pending_at_first(store: Any) -> None:
    stored = store.create(R.PODS, "default", pod() | {"status": {"phase": "Running"}}).document()
    assert stored["status"]["phase"] == "Pending"
    assert stored["spec"]["schedulerName"] == "default-scheduler"


def test_classes_refuse(store: Any, refuses: Any) -> None:
    spec = {"selectors": [{"cel": {"expression": ""}}], "config": [{}] * 33}
    with refuses(422, "Invalid", "spec.selectors[0].cel.expression") as caught:
        store.create(R.DEVICE_CLASSES, "", {"metadata": {"name": "c"}, "spec": spec})
    fields = [cause["field"] for cause in caught.value.details["causes"]]
    assert fields == ["spec.selectors[0].cel.expression", "spec.config"]


@pytest.mark.parametrize(("name", "good"), [("a-1", True), ("a.b", False), ("a" * 64, False)])
def test_namespaces_are_labels(store: Any, refuses: Any, name: str, good: bool) -> None:
    document = {"metadata": {"name": name}}
    if good:
        stored = store.create(R.NAMESPACES, "", document).document()
        assert stored["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}
        assert stored["status"] == {"phase": "Active"}
    else:
        with refuses(422, "Invalid", "metadata.name"):
            store.create(R.NAMESPACES, "", document)
