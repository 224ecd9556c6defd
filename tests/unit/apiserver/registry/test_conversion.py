"""Objects under another name: one stored object, as clients of each version write and read it."""

import inspect
from typing import Any

import pytest

from harness.apiserver.endpoints import request_info
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache

R = resources
Document = dict[str, Any]
V1BETA2 = resources.optional("resource.k8s.io", "v1beta2", "resourceclaims")
EXACT = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}


def claim(count: int = 2) -> Document:
    requests = [{"name": "a", "exactly": EXACT | {"count": count}}]
    return {"metadata": {"name": "c"}, "spec": {"devices": {"requests": requests}}}


def test_every_verb_speaks_the_version_it_was_asked_in(store: Any, refuses: Any) -> None:
    store.create(R.CLAIMS, "default", claim())
    (listed,) = store.select(watch_cache.Selection(resource=V1BETA2))
    stored = store.get(R.CLAIMS, "default", "c").document()
    assert listed.document() == stored | {"apiVersion": "resource.k8s.io/v1beta2"}
    document = listed.document()
    document["metadata"]["labels"] = {"seen": "yes"}
    updated = store.update(V1BETA2, "default", "c", document)
    assert updated.document()["apiVersion"] == "resource.k8s.io/v1beta2"
    with refuses(422, "Invalid", "field is immutable"):
        store.update(V1BETA2, "default", "c", claim(3))
    patched = store.patch(V1BETA2, "default", "c", lambda old: old | {"spec": old["spec"]})
    assert patched.document()["metadata"]["labels"] == {"seen": "yes"}
    last, gone = store.delete(V1BETA2, "default", "c")
    assert gone
    assert last.document()["apiVersion"] == "resource.k8s.io/v1beta2"


def test_a_version_is_served_once_it_is_enabled(live: Any, monkeypatch: Any) -> None:
    base = "/apis/resource.k8s.io/{}/namespaces/default/resourceclaims"
    assert live.call("GET", base.format("v1beta2"))[0] == 404
    enable(monkeypatch, "resource.k8s.io/v1beta2")
    with live.watching(base.format("v1beta2") + "?watch=1") as events:
        assert live.call("POST", base.format("v1"), claim())[0] == 201
        seen = next(events)["object"]
    assert seen["apiVersion"] == "resource.k8s.io/v1beta2"
    assert live.call("GET", base.format("v1beta2") + "/c")[1] == seen


@pytest.mark.parametrize("version", ["v1beta2", "v1alpha3"])
def test_taint_rules_exist_once(store: Any, refuses: Any, version: str) -> None:
    rules = resources.optional("resource.k8s.io", version, "devicetaintrules")
    taint = {"key": "broken", "effect": "NoExecute"}
    spec = {"deviceSelector": {"driver": "gpu.example"}, "taint": taint}
    made = store.create(rules, "", {"metadata": {"name": "r"}, "spec": spec}).document()
    assert made["spec"]["taint"]["timeAdded"].startswith("2026-")
    for other in ("v1beta2", "v1alpha3"):
        same = resources.optional("resource.k8s.io", other, "devicetaintrules")
        assert store.get(same, "", "r").document()["apiVersion"] == f"resource.k8s.io/{other}"
    with refuses(422, "Invalid", "spec.taint.effect: Required value"):
        store.create(rules, "", {"metadata": {"name": "q"}, "spec": {"taint": {"key": "broken"}}})


def enable(monkeypatch: Any, group_version: str) -> None:
    monkeypatch.setattr(resources, "ALL", list(resources.ALL))
    monkeypatch.setattr(resources, "_BY_PATH", dict(resources._BY_PATH))
    uncached = inspect.unwrap(request_info._parse_target)
    monkeypatch.setattr(request_info, "_parse_target", uncached)
    resources.enable(group_version)


def test_newer_versions_come_first_however_they_are_enabled(live: Any, monkeypatch: Any) -> None:
    with pytest.raises(KeyError):
        resources.enable("resource.k8s.io/v1alpha1")
    for version in ("v1alpha3", "v1beta2", "v1beta2"):
        enable(monkeypatch, f"resource.k8s.io/{version}")
    group = live.call("GET", "/apis/resource.k8s.io")[1]
    assert [item["version"] for item in group["versions"]] == ["v1", "v1beta2", "v1alpha3"]
    assert group["preferredVersion"]["version"] == "v1"
