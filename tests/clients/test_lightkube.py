"""lightkube as it is: typed and generic resources, waiting and asynchronous."""

import asyncio
import itertools
import logging
import pathlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from harness import clocks
from tests.clients import objects

lightkube = pytest.importorskip("lightkube", reason="lightkube is not installed")
config = pytest.importorskip("lightkube.config.kubeconfig")
generic = pytest.importorskip("lightkube.generic_resource")
meta = pytest.importorskip("lightkube.models.meta_v1")
coordination = pytest.importorskip("lightkube.resources.coordination_v1")
core = pytest.importorskip("lightkube.resources.core_v1")
typed = pytest.importorskip("lightkube.resources.resource_v1")
types = pytest.importorskip("lightkube.types")
PatchType = types.PatchType

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]


@pytest.fixture(scope="module")
def client(kubeconfig: pathlib.Path) -> Iterator[Any]:
    found = config.KubeConfig.from_file(kubeconfig)
    with lightkube.Client(found, field_manager="lightkube") as client:
        yield client


@pytest.fixture
def namespace(client: Any) -> str:
    metadata = meta.ObjectMeta(generateName="lightkube-")
    return str(client.create(core.Namespace(metadata=metadata)).metadata.name)


def a_config(name: str, value: str = "0", **labels: str) -> Any:
    return core.ConfigMap.from_dict(objects.config(name, value, **labels))


def names(found: Any) -> list[str]:
    return [item.metadata.name for item in found]


def summary(events: Any) -> list[tuple[str, str]]:
    return [(kind, found.metadata.name) for kind, found in events]


def refused(call: Any, *arguments: Any, **options: Any) -> tuple[int, str]:
    with pytest.raises(lightkube.ApiError) as caught:
        call(*arguments, **options)
    return caught.value.status.code, caught.value.status.reason


def test_a_pod_from_its_creation_to_its_end(client: Any, namespace: str) -> None:
    created = client.create(core.Pod.from_dict(objects.pod("a", color="red")), namespace=namespace)
    assert (created.status.phase, created.spec.restartPolicy) == ("Pending", "Always")
    client.patch(core.Pod, "a", objects.other_image("newer"), namespace=namespace)
    found = client.get(core.Pod, "a", namespace=namespace)
    assert (found.spec.containers[0].image, found.spec.containers[0].env[0].value) == ("newer", "a")
    found.status.phase = "Running"
    replaced = client.replace(core.PodStatus.from_dict(found.to_dict()), "a", namespace=namespace)
    assert replaced.status.phase == "Running"
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    client.patch(core.PodStatus, "a", {"status": ready}, namespace=namespace)
    assert client.wait(core.Pod, "a", for_conditions=["Ready"], namespace=namespace)
    client.delete(core.Pod, "a", namespace=namespace, grace_period=0)
    assert refused(client.get, core.Pod, "a", namespace=namespace) == (404, "NotFound")


def test_lists(client: Any, namespace: str) -> None:
    for number in range(5):
        color = "red" if number % 2 else "blue"
        client.create(a_config(f"c{number}", color=color), namespace=namespace)

    def listed(**options: Any) -> list[str]:
        return names(client.list(core.ConfigMap, namespace=namespace, **options))

    assert listed(chunk_size=2) == [f"c{number}" for number in range(5)]
    assert listed(labels={"color": "red"}) == ["c1", "c3"]
    assert listed(labels={"color": lightkube.operators.not_in(["red"])}) == ["c0", "c2", "c4"]
    assert listed(fields={"metadata.name": "c4"}) == ["c4"]
    client.deletecollection(core.ConfigMap, namespace=namespace)
    assert listed() == []


@pytest.mark.parametrize(
    ("patch_type", "patch", "data"),
    [
        ("MERGE", {"data": {"v": None, "w": "1"}}, {"w": "1"}),
        ("STRATEGIC", {"data": {"w": "1"}}, {"v": "0", "w": "1"}),
        ("JSON", [{"op": "replace", "path": "/data/v", "value": "1"}], {"v": "1"}),
    ],
)
def test_patches(client: Any, namespace: str, patch_type: str, patch: Any, data: Any) -> None:
    client.create(a_config("a"), namespace=namespace)
    kind = PatchType[patch_type]
    changed = client.patch(core.ConfigMap, "a", patch, namespace=namespace, patch_type=kind)
    assert changed.data == data


def test_apply(client: Any, namespace: str) -> None:
    created = client.apply(a_config("a", "1"), namespace=namespace)
    same = client.apply(a_config("a", "1"), namespace=namespace)
    assert same.metadata.resourceVersion == created.metadata.resourceVersion
    other = {"namespace": namespace, "field_manager": "other"}
    assert refused(client.apply, a_config("a", "2"), **other) == (409, "Conflict")
    assert client.apply(a_config("a", "2"), force=True, dry_run=True, **other).data == {"v": "2"}
    assert client.get(core.ConfigMap, "a", namespace=namespace).data == {"v": "1"}
    forced = client.apply(a_config("a", "2"), force=True, **other)
    assert (forced.data, forced.metadata.uid) == ({"v": "2"}, created.metadata.uid)


def test_devices(client: Any, namespace: str) -> None:
    client.create(typed.DeviceClass.from_dict(objects.device_class(namespace)))
    published = typed.ResourceSlice.from_dict(objects.resource_slice(namespace, "d0", "d1"))
    client.create(published)
    claim = typed.ResourceClaim.from_dict(objects.claim("a"))
    created = client.create(claim, namespace=namespace)
    assert created.spec.devices.requests[0].exactly.allocationMode == "ExactCount"
    (found,) = client.list(typed.ResourceSlice, fields={"metadata.name": namespace})
    assert [device.name for device in found.spec.devices] == ["d0", "d1"]
    status = objects.claim("a") | {"status": objects.allocation(namespace, "d1")}
    status.pop("spec")
    applied = client.apply(typed.ResourceClaimStatus.from_dict(status), "a", namespace=namespace)
    (result,) = applied.status.allocation.devices.results
    assert (result.driver, result.pool, result.device) == (objects.DRIVER, namespace, "d1")
    assert client.get(typed.ResourceClaim, "a", namespace=namespace).status == applied.status
    client.delete(typed.ResourceSlice, namespace)
    client.delete(typed.DeviceClass, namespace)
    assert refused(client.get, typed.DeviceClass, namespace) == (404, "NotFound")


def test_generic_claims(client: Any, namespace: str) -> None:
    templates = generic.create_namespaced_resource(
        "resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates"
    )
    document = {"metadata": {"name": "a"}, "spec": {"spec": objects.claim("")["spec"]}}
    created = client.create(templates(document), namespace=namespace)
    (request,) = created["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"]["count"] == 1
    patch = {"metadata": {"labels": {"color": "red"}}}
    client.patch(templates, "a", patch, namespace=namespace, patch_type=PatchType.MERGE)
    assert names(client.list(templates, namespace=namespace, labels={"color": "red"})) == ["a"]
    watch = client.watch(
        templates, namespace=namespace, resource_version=created.metadata.resourceVersion
    )
    assert summary(itertools.islice(watch, 1)) == [("MODIFIED", "a")]
    client.delete(templates, "a", namespace=namespace)
    assert refused(client.get, templates, "a", namespace=namespace) == (404, "NotFound")


# -------------------------------------------------------------- watching


def test_a_watch_resumes(client: Any, namespace: str) -> None:
    start = client.create(a_config("a"), namespace=namespace).metadata.resourceVersion

    def watch(version: str, **options: Any) -> Iterator[Any]:
        found: Iterator[Any] = client.watch(
            core.ConfigMap, namespace=namespace, resource_version=version, **options
        )
        return found

    client.create(a_config("b", color="red"), namespace=namespace)
    client.delete(core.ConfigMap, "a", namespace=namespace)
    seen = list(itertools.islice(watch(start), 2))
    assert summary(seen) == [("ADDED", "b"), ("DELETED", "a")]
    resumed = itertools.islice(watch(seen[0][1].metadata.resourceVersion), 1)
    assert summary(resumed) == [("DELETED", "a")]


def test_a_watch_goes_on_when_the_server_ends_it(
    client: Any, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The client comes back to the version that it saw last, so that nothing comes twice."""

    def delete_during_the_second_watch() -> None:
        clocks.wait_until(
            lambda: caplog.text.count("watch=true") == 2, timeout_s=20, why="a second watch"
        )
        client.delete(core.ConfigMap, "b", namespace=namespace)

    version = client.create(a_config("a"), namespace=namespace).metadata.resourceVersion
    client.create(a_config("b"), namespace=namespace)
    watch = client.watch(
        core.ConfigMap, namespace=namespace, resource_version=version, server_timeout=1
    )
    deleting = threading.Thread(target=delete_during_the_second_watch)
    with caplog.at_level(logging.INFO, "httpx2"):  # it tells every request
        deleting.start()
        assert summary(itertools.islice(watch, 2)) == [("ADDED", "b"), ("DELETED", "b")]
    deleting.join()


def outrun(client: Any, namespace: str, outrunning: range) -> str:
    """A version that the server has forgotten."""
    start = client.create(a_config("a"), namespace=namespace).metadata.resourceVersion
    client.create(a_config("b"), namespace=namespace)
    for number in outrunning:
        patch = {"data": {"v": f"v{number}"}}
        client.patch(core.ConfigMap, "b", patch, namespace=namespace)
    return str(start)


def test_an_old_watch_is_gone(client: Any, namespace: str, outrunning: range) -> None:
    version = outrun(client, namespace, outrunning)
    watch = client.watch(core.ConfigMap, namespace=namespace, resource_version=version)
    assert refused(next, watch) == (410, "Expired")


def test_an_old_watch_starts_anew(client: Any, namespace: str, outrunning: range) -> None:
    version = outrun(client, namespace, outrunning)
    watch = client.watch(
        core.ConfigMap,
        namespace=namespace,
        resource_version=version,
        on_error=types.on_error_retry,
    )
    first = list(itertools.islice(watch, 2))
    assert summary(first) == [("ADDED", "a"), ("ADDED", "b")]
    assert first[1][1].data == {"v": f"v{outrunning[-1]}"}


# -------------------------------------------------------------- asynchronous client


async def conversing(kubeconfig: pathlib.Path, namespace: str) -> list[tuple[str, str]]:
    """Every verb once, while a watch sees what they do."""
    found = config.KubeConfig.from_file(kubeconfig)
    async with lightkube.AsyncClient(found, namespace=namespace, field_manager="async") as client:
        created = await client.create(a_config("a"))
        await client.apply(a_config("b", "1"))
        await client.patch(core.ConfigMap, "a", {"data": {"w": "1"}})
        assert (await client.get(core.ConfigMap, "a")).data == {"v": "0", "w": "1"}
        listed = [item.metadata.name async for item in client.list(core.ConfigMap, chunk_size=1)]
        assert listed == ["a", "b"]
        await client.delete(core.ConfigMap, "b")
        seen = []
        version = created.metadata.resourceVersion
        async for kind, item in client.watch(core.ConfigMap, resource_version=version):
            seen.append((kind, item.metadata.name))
            if kind == "DELETED":
                break
        return seen


def test_asynchronous(kubeconfig: pathlib.Path, namespace: str) -> None:
    seen = asyncio.run(conversing(kubeconfig, namespace))
    assert seen == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]


def test_leases_are_taken_once(client: Any, namespace: str) -> None:
    taken = client.create(
        coordination.Lease.from_dict(objects.lease("a", "one")), namespace=namespace
    )
    taken.spec.holderIdentity = "two"
    assert client.replace(taken, namespace=namespace).spec.holderIdentity == "two"
    assert refused(client.replace, taken, namespace=namespace) == (409, "Conflict")
