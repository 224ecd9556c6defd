"""Objects under another name: one stored object, as clients of each version write and read it."""

import inspect
from typing import Any

import pytest

from harness.apiserver.endpoints import request_info
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache

R = resources
Document = dict[str, Any]
V1BETA1 = {
    name: resources.optional("resource.k8s.io", "v1beta1", name)
    for name in ("deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices")
}
V1BETA2_CLAIMS = resources.optional("resource.k8s.io", "v1beta2", "resourceclaims")
EXACT = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}
FIRST = {"name": "b", "firstAvailable": [{"name": "x", "deviceClassName": "gpu"}]}


def claim(*requests: Document, name: str = "c") -> Document:
    return {"metadata": {"name": name}, "spec": {"devices": {"requests": list(requests)}}}


def requests(stored: Any) -> list[Document]:
    spec = stored.document()["spec"]
    found: list[Document] = (spec.get("spec") or spec)["devices"]["requests"]
    return found


def test_requests_of_v1beta1_are_flat(store: Any) -> None:
    made = store.create(V1BETA1["resourceclaims"], "default", claim({"name": "a", **EXACT}, FIRST))
    assert made.document()["apiVersion"] == "resource.k8s.io/v1beta1"
    assert requests(made)[0] == {"name": "a", **EXACT}
    stored = store.get(R.CLAIMS, "default", "c")
    assert stored.document()["apiVersion"] == "resource.k8s.io/v1"
    assert requests(stored)[0] == {"name": "a", "exactly": EXACT}
    assert "exactly" not in requests(stored)[1]
    assert requests(stored)[1]["firstAvailable"][0]["deviceClassName"] == "gpu"


def test_a_request_of_v1beta1_may_not_be_both(store: Any, refuses: Any) -> None:
    with refuses(422, "Invalid", "exactly one of `exactly`, `firstAvailable` is required"):
        store.create(V1BETA1["resourceclaims"], "default", claim({**FIRST, **EXACT}))


def test_templates_of_v1beta1_are_flat(store: Any) -> None:
    template = {
        "metadata": {"name": "t"},
        "spec": {"spec": claim({"name": "a", **EXACT})["spec"]},
    }
    made = store.create(V1BETA1["resourceclaimtemplates"], "default", template)
    assert requests(made) == [{"name": "a", **EXACT}]
    stored = store.get(R.CLAIM_TEMPLATES, "default", "t")
    assert requests(stored) == [{"name": "a", "exactly": EXACT}]


def test_devices_of_v1beta1_are_in_basic(store: Any) -> None:
    basic = {"attributes": {"model": {"string": "a"}}}
    spec = {
        "driver": "gpu.example",
        "nodeName": "n",
        "pool": {"name": "n", "resourceSliceCount": 1},
        "devices": [{"name": "d0", "basic": basic}, {"name": "d1"}],
    }
    slices = V1BETA1["resourceslices"]
    made = store.create(slices, "", {"metadata": {"name": "s"}, "spec": spec})
    assert made.document()["spec"]["devices"] == [
        {"name": "d0", "basic": basic},
        {"name": "d1", "basic": {}},
    ]
    stored = store.get(R.SLICES, "", "s").document()
    assert stored["spec"]["devices"] == [{"name": "d0", **basic}, {"name": "d1"}]


def test_v1beta2_is_shaped_as_v1(store: Any) -> None:
    store.create(V1BETA2_CLAIMS, "default", claim({"name": "a", "exactly": dict(EXACT)}))
    seen = store.get(V1BETA2_CLAIMS, "default", "c").document()
    stored = store.get(R.CLAIMS, "default", "c").document()
    assert seen == stored | {"apiVersion": "resource.k8s.io/v1beta2"}


def test_every_verb_speaks_the_version_it_was_asked_in(store: Any) -> None:
    claims = V1BETA1["resourceclaims"]
    made = store.create(R.CLAIMS, "default", claim({"name": "a", "exactly": dict(EXACT)}))
    (listed,) = store.select(watch_cache.Selection(resource=claims))
    assert requests(listed) == [{"name": "a", **EXACT}]
    document = listed.document()
    document["metadata"]["labels"] = {"seen": "yes"}
    updated = store.update(claims, "default", "c", document)
    assert requests(updated) == [{"name": "a", **EXACT}]

    def relabel(old: Document) -> Document:
        assert old["spec"]["devices"]["requests"] == [{"name": "a", **EXACT}]
        return old | {"metadata": old["metadata"] | {"labels": {"seen": "twice"}}}

    patched = store.patch(claims, "default", "c", relabel)
    assert patched.document()["apiVersion"] == "resource.k8s.io/v1beta1"
    last, gone = store.delete(claims, "default", "c")
    assert gone
    assert requests(last) == [{"name": "a", **EXACT}]
    assert last.uid == made.uid


def test_a_spec_is_as_immutable_through_v1beta1(store: Any, refuses: Any) -> None:
    claims = V1BETA1["resourceclaims"]
    made = store.create(claims, "default", claim({"name": "a", **EXACT})).document()
    made["spec"]["devices"]["requests"][0]["count"] = 3
    with refuses(422, "Invalid", "field is immutable"):
        store.update(claims, "default", "c", made)


def test_events_have_two_sets_of_names(store: Any) -> None:
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    event = {"metadata": {"name": "e"}, "involvedObject": about, "message": "m", "count": 2}
    store.create(R.EVENTS, "default", event)
    seen = store.get(R.NEW_EVENTS, "default", "e").document()
    assert seen["apiVersion"] == "events.k8s.io/v1"
    assert (seen["regarding"], seen["note"], seen["deprecatedCount"]) == (about, "m", 2)
    assert not {"involvedObject", "message", "count"} & set(seen)


def test_a_watch_sees_its_own_version(live: Any, monkeypatch: Any) -> None:
    enable(monkeypatch, "resource.k8s.io/v1beta1")
    base = "/apis/resource.k8s.io/{}/namespaces/default/resourceclaims"
    with live.watching(base.format("v1beta1") + "?watch=1") as events:
        new = claim({"name": "a", "exactly": EXACT})
        assert live.call("POST", base.format("v1"), typed(new, "v1"))[0] == 201
        seen = next(events)["object"]
    assert seen["apiVersion"] == "resource.k8s.io/v1beta1"
    assert seen["spec"]["devices"]["requests"] == [{"name": "a", **EXACT}]


def test_a_version_is_served_once_it_is_enabled(live: Any, monkeypatch: Any) -> None:
    path = "/apis/resource.k8s.io/v1beta1/namespaces/default/resourceclaims"
    assert live.call("GET", path)[0] == 404
    enable(monkeypatch, "resource.k8s.io/v1beta1")
    status, made = live.call("POST", path, typed(claim({"name": "a", **EXACT}), "v1beta1"))
    assert (status, made["spec"]["devices"]["requests"]) == (201, [{"name": "a", **EXACT}])
    assert live.call("GET", f"{path}/c")[1] == made
    group = live.call("GET", "/apis/resource.k8s.io")[1]
    assert [item["version"] for item in group["versions"]] == ["v1", "v1beta1"]
    assert group["preferredVersion"]["version"] == "v1"


@pytest.mark.parametrize("version", ["v1beta2", "v1alpha3"])
def test_taint_rules_exist_once(store: Any, refuses: Any, version: str) -> None:
    rules = resources.optional("resource.k8s.io", version, "devicetaintrules")
    taint = {"key": "broken", "effect": "NoExecute"}
    spec = {"deviceSelector": {"driver": "gpu.example"}, "taint": taint}
    store.create(rules, "", {"metadata": {"name": "r"}, "spec": spec})
    for other in ("v1beta2", "v1alpha3"):
        seen = store.get(
            resources.optional("resource.k8s.io", other, "devicetaintrules"), "", "r"
        ).document()
        assert seen["apiVersion"] == f"resource.k8s.io/{other}"
    with refuses(422, "Invalid", "spec.taint.effect: Required value"):
        store.create(rules, "", {"metadata": {"name": "q"}, "spec": {"taint": {"key": "broken"}}})


def typed(document: Document, version: str) -> Document:
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        **document,
    }


def enable(monkeypatch: Any, group_version: str) -> None:
    monkeypatch.setattr(resources, "ALL", list(resources.ALL))
    monkeypatch.setattr(resources, "_BY_PATH", dict(resources._BY_PATH))
    uncached = inspect.unwrap(request_info._parse_target)
    monkeypatch.setattr(request_info, "_parse_target", uncached)
    resources.enable(group_version)


def test_only_optional_versions_can_be_enabled_and_once(monkeypatch: Any) -> None:
    with pytest.raises(KeyError):
        resources.enable("resource.k8s.io/v1alpha1")
    enable(monkeypatch, "resource.k8s.io/v1beta2")
    count = len(resources.ALL)
    resources.enable("resource.k8s.io/v1beta2")
    assert len(resources.ALL) == count


def test_newer_versions_come_first_however_they_are_enabled(live: Any, monkeypatch: Any) -> None:
    for version in ("v1alpha3", "v1beta1", "v1beta2"):
        enable(monkeypatch, f"resource.k8s.io/{version}")
    group = live.call("GET", "/apis/resource.k8s.io")[1]
    found = [item["version"] for item in group["versions"]]
    assert found == ["v1", "v1beta2", "v1beta1", "v1alpha3"]
