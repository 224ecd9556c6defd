"""Claims: which endpoint writes what, allocations that are set or cleared but never changed,
reservations.
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from harness.apiserver.scheme import resources

R = resources
Document = dict[str, Any]


def spec(**exactly: Any) -> Document:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example", **exactly}}
    return {"devices": {"requests": [request]}}


def claim(name: str = "c", **meta: Any) -> Document:
    return {"metadata": {"name": name, **meta}, "spec": spec()}


def allocation(device: str = "d0", **result: Any) -> Document:
    row = {"request": "gpu", "driver": "gpu.example", "pool": "node-0", "device": device, **result}
    return {"devices": {"results": [row]}}


def reservations(*uids: str) -> list[Document]:
    return [{"resource": "pods", "name": f"pod-{uid}", "uid": uid} for uid in uids]


@pytest.fixture
def set_status(store: Any) -> Callable[..., Any]:
    """Replace the status of claim `c`."""

    def replace(**status: Any) -> Any:
        document = store.get(R.CLAIMS, "default", "c").document()
        document["status"] = {key: value for key, value in status.items() if value is not None}
        return store.update(R.CLAIMS, "default", "c", document, subresource="status")

    return replace


@pytest.fixture
def stored_claim(store: Any) -> Any:
    return store.create(R.CLAIMS, "default", claim())


def status_of(store: Any) -> Document:
    found: Document = store.get(R.CLAIMS, "default", "c").document()["status"]
    return found


# ---------------------------------------------------------------- endpoints


def test_status_is_cleared_on_creation(store: Any) -> None:
    stored = store.create(R.CLAIMS, "default", claim() | {"status": {"allocation": allocation()}})
    assert stored.document()["status"] == {}


def test_the_main_endpoint_ignores_the_status(store: Any, stored_claim: Any) -> None:
    document = stored_claim.document() | {"status": {"allocation": allocation()}}
    document["metadata"]["labels"] = {"a": "b"}
    updated = store.update(R.CLAIMS, "default", "c", document).document()
    assert updated["status"] == {}
    assert updated["metadata"]["labels"] == {"a": "b"}


def test_a_main_write_of_nothing_but_status_is_no_commit(store: Any, stored_claim: Any) -> None:
    document = stored_claim.document() | {"status": {"allocation": allocation()}}
    assert store.update(R.CLAIMS, "default", "c", document) == stored_claim


def test_the_status_endpoint_ignores_spec_and_most_metadata(store: Any, stored_claim: Any) -> None:
    document = stored_claim.document()
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    document["metadata"] |= {
        "labels": {"a": "b"},
        "annotations": {"a": "b"},
        "finalizers": ["resource.kubernetes.io/delete-protection"],
        "ownerReferences": [owner],
    }
    document["spec"] = spec(deviceClassName="another.example")
    document["status"] = {"allocation": allocation()}
    updated = store.update(R.CLAIMS, "default", "c", document, subresource="status").document()
    assert updated["status"] == {"allocation": allocation()}
    assert updated["spec"] == stored_claim.document()["spec"]
    assert (
        not {"labels", "annotations", "finalizers", "ownerReferences"} & updated["metadata"].keys()
    )


def test_a_finalizer_and_an_allocation_take_two_writes(store: Any, stored_claim: Any) -> None:
    document = stored_claim.document()
    document["metadata"]["finalizers"] = ["x/y"]
    document["status"] = {"allocation": allocation()}
    store.update(R.CLAIMS, "default", "c", copy.deepcopy(document))
    assert status_of(store) == {}
    del document["metadata"]["resourceVersion"]
    both = store.update(R.CLAIMS, "default", "c", document, subresource="status").document()
    assert both["metadata"]["finalizers"] == ["x/y"]
    assert both["status"]["allocation"] == allocation()


@pytest.mark.parametrize("resource", [R.CLAIMS, R.CLAIM_TEMPLATES])
def test_specs_are_immutable(store: Any, refuses: Any, resource: Any) -> None:
    def wrapped(inner: Document) -> Document:
        return inner if resource is R.CLAIMS else {"spec": inner}

    store.create(resource, "default", {"metadata": {"name": "c"}, "spec": wrapped(spec())})
    changed = {"metadata": {"name": "c"}, "spec": wrapped(spec(count=2))}
    with refuses(422, "Invalid", "field is immutable"):
        store.update(resource, "default", "c", changed)
    with refuses(422, "Invalid", "field is immutable"):
        store.patch(resource, "default", "c", lambda old: old | {"spec": wrapped(spec(count=2))})
    same = {"metadata": {"name": "c", "labels": {"a": "b"}}, "spec": wrapped(spec())}
    store.update(resource, "default", "c", same)


def test_defaults_of_a_request(stored_claim: Any) -> None:
    exactly = stored_claim.document()["spec"]["devices"]["requests"][0]["exactly"]
    assert (exactly["allocationMode"], exactly["count"]) == ("ExactCount", 1)


# ---------------------------------------------------------------- allocation


@pytest.mark.usefixtures("stored_claim")
def test_an_allocation_is_set_and_cleared_but_never_changed(
    store: Any, refuses: Any, set_status: Callable[..., Any]
) -> None:
    set_status(allocation=allocation("d0"))
    with refuses(422, "Invalid", "status.allocation: Invalid value"):
        set_status(allocation=allocation("d1"))
    assert status_of(store)["allocation"] == allocation("d0")
    set_status(allocation=None)
    assert "allocation" not in status_of(store)
    set_status(allocation=allocation("d1"))
    assert status_of(store)["allocation"] == allocation("d1")


@pytest.mark.usefixtures("stored_claim")
def test_two_claims_may_be_given_one_device(store: Any, set_status: Callable[..., Any]) -> None:
    """The server never checks this, which is why there is a harness."""
    set_status(allocation=allocation("d0"))
    other = store.create(R.CLAIMS, "default", claim("other")).document()
    other["status"] = {"allocation": allocation("d0")}
    store.update(R.CLAIMS, "default", "other", other, subresource="status")


@pytest.mark.usefixtures("stored_claim")
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (allocation(request="nobody"), "results[0].request"),
        (allocation(request="gpu/sub"), "results[0].request"),
        (allocation(driver=""), "results[0].driver"),
        (allocation(driver="Not_A_Name"), "results[0].driver"),
        (allocation(pool=""), "results[0].pool"),
        (allocation(pool="a/B_"), "results[0].pool"),
        (allocation(device=""), "results[0].device"),
        (allocation(device="a.b"), "results[0].device"),
        ({"devices": {"results": allocation()["devices"]["results"] * 33}}, "at most 32"),
        ({"devices": {"config": [{}] * 65}}, "at most 64"),
        ({"nodeSelector": {"nodeSelectorTerms": []}}, "nodeSelectorTerms"),
    ],
)
def test_what_cannot_be_an_allocation(
    store: Any, refuses: Any, set_status: Callable[..., Any], wrong: Document, field: str
) -> None:
    with refuses(422, "Invalid", field):
        set_status(allocation=wrong)
    assert status_of(store) == {}


def test_a_result_may_name_a_subrequest(store: Any, set_status: Callable[..., Any]) -> None:
    alternatives = [{"name": name, "deviceClassName": "gpu.example"} for name in ("big", "small")]
    requests = [{"name": "gpu", "firstAvailable": alternatives}]
    document = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": requests}}}
    store.create(R.CLAIMS, "default", document)
    set_status(allocation=allocation(request="gpu/small"))


@pytest.mark.usefixtures("stored_claim")
def test_device_statuses_are_of_allocated_devices_once_each(
    refuses: Any, set_status: Callable[..., Any]
) -> None:
    device = {"driver": "gpu.example", "pool": "node-0", "device": "d0"}
    set_status(allocation=allocation(), devices=[device])
    with refuses(422, "Invalid", "must be an allocated device in the claim"):
        set_status(allocation=allocation(), devices=[device | {"device": "d1"}])
    with refuses(422, "Invalid", "status.devices[1]: Duplicate value"):
        set_status(allocation=allocation(), devices=[device, device])


# ---------------------------------------------------------------- reservations


@pytest.mark.usefixtures("stored_claim")
def test_reservations_want_an_allocation(refuses: Any, set_status: Callable[..., Any]) -> None:
    why = "may not be specified when `allocated` is not set"
    with refuses(422, "Invalid", why):
        set_status(reservedFor=reservations("a"))
    set_status(allocation=allocation(), reservedFor=reservations("a"))
    with refuses(422, "Invalid", why):
        set_status(reservedFor=reservations("a"))
    set_status()


@pytest.mark.usefixtures("stored_claim")
def test_at_most_256_reservations(refuses: Any, set_status: Callable[..., Any]) -> None:
    many = reservations(*(str(number) for number in range(257)))
    with refuses(422, "Invalid", "Too many: 257: must have at most 256 items"):
        set_status(allocation=allocation(), reservedFor=many)
    set_status(allocation=allocation(), reservedFor=many[:256])


@pytest.mark.usefixtures("stored_claim")
def test_reservations_have_unique_uids(refuses: Any, set_status: Callable[..., Any]) -> None:
    with refuses(422, "Invalid", "status.reservedFor[1]: Duplicate value"):
        set_status(allocation=allocation(), reservedFor=reservations("a", "a"))


@pytest.mark.usefixtures("stored_claim")
@pytest.mark.parametrize("missing", ["resource", "name", "uid"])
def test_reservations_are_complete(
    refuses: Any, set_status: Callable[..., Any], missing: str
) -> None:
    entry = reservations("a")[0]
    del entry[missing]
    with refuses(422, "Invalid", f"status.reservedFor[0].{missing}: Required value"):
        set_status(allocation=allocation(), reservedFor=[entry])


def test_no_new_reservations_while_the_claim_is_being_deleted(
    store: Any, refuses: Any, set_status: Callable[..., Any]
) -> None:
    store.create(R.CLAIMS, "default", claim(finalizers=["x/y"]))
    set_status(allocation=allocation(), reservedFor=reservations("a", "b"))
    store.delete(R.CLAIMS, "default", "c")
    with refuses(422, "Invalid", "new entries may not be added"):
        set_status(allocation=allocation(), reservedFor=reservations("a", "c"))
    set_status(allocation=allocation(), reservedFor=reservations("b"))
    set_status(allocation=allocation())
    set_status()
    assert status_of(store) == {}


# ---------------------------------------------------------------- admin access


def test_admin_access_wants_a_label_on_the_namespace(store: Any, refuses: Any) -> None:
    wanting = {"metadata": {"name": "c"}, "spec": spec(adminAccess=True)}
    with refuses(422, "Invalid", "adminAccess"):
        store.create(R.CLAIMS, "default", copy.deepcopy(wanting))
    store.create(R.CLAIMS, "default", {"metadata": {"name": "d"}, "spec": spec(adminAccess=False)})
    labels = {"resource.kubernetes.io/admin-access": "true"}
    store.create(R.NAMESPACES, "", {"metadata": {"name": "admin", "labels": labels}})
    store.create(R.CLAIMS, "admin", wanting)
