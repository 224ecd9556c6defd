"""Which class backs an extended resource."""

from typing import Any

import pytest

from harness.subject.extended_resources import class_resolver

Object = dict[str, Any]
GPU = "example.com/gpu"


def device_class(name: str, resource: str | None = GPU, *, created: str = "") -> Object:
    spec = {"extendedResourceName": resource} if resource else {}
    return {"metadata": {"name": name, "creationTimestamp": created}, "spec": spec}


@pytest.fixture
def resolver() -> class_resolver.DeviceClassResolver:
    return class_resolver.DeviceClassResolver()


def name_of(resolver: class_resolver.DeviceClassResolver, resource: str = GPU) -> str | None:
    found = resolver.device_class(resource)
    return found["metadata"]["name"] if found else None


@pytest.mark.parametrize("names", [("old", "new"), ("new", "old")])
def test_the_newest_class_is_used(
    resolver: class_resolver.DeviceClassResolver, names: tuple[str, str]
) -> None:
    """In whichever order they are seen; the other one keeps its implicit resource."""
    created = {"old": "2026-01-01T00:00:00Z", "new": "2026-01-02T00:00:00Z"}
    for name in names:
        resolver.on_add(device_class(name, created=created[name]), initial=False)
    assert name_of(resolver) == "new"
    assert name_of(resolver, "deviceclass.resource.kubernetes.io/old") == "old"
    resolver.on_delete(device_class("new"))
    assert name_of(resolver) == "old"


def test_of_equally_old_classes_the_first_by_name_is_used(
    resolver: class_resolver.DeviceClassResolver,
) -> None:
    for name in ("b", "a", "c"):
        resolver.on_add(device_class(name), initial=False)
    assert name_of(resolver) == "a"


def test_a_class_can_give_up_its_resource(resolver: class_resolver.DeviceClassResolver) -> None:
    for name in ("a", "b"):
        resolver.on_add(device_class(name), initial=False)
    resolver.on_update(device_class("a"), device_class("a", "example.com/other"))
    assert name_of(resolver) == "b"
    assert name_of(resolver, "example.com/other") == "a"
