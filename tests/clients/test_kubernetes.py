"""The official Python client as it is: typed models, its Watch and its dynamic client understand
what the server does, of which tests/corpus has the details.
"""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients import objects

kubernetes = pytest.importorskip("kubernetes", reason="the kubernetes client is not installed")
dynamic = pytest.importorskip("kubernetes.dynamic")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]
WATCH_S = 20


@pytest.fixture(scope="module")
def connection(kubeconfig: pathlib.Path) -> Iterator[Any]:
    with kubernetes.config.new_client_from_config(str(kubeconfig)) as client:
        yield client


@pytest.fixture(scope="module")
def core(connection: Any) -> Any:
    return kubernetes.client.CoreV1Api(connection)


@pytest.fixture(scope="module")
def devices(connection: Any) -> Any:
    return kubernetes.client.ResourceV1Api(connection)


@pytest.fixture
def namespace(core: Any) -> str:
    created = core.create_namespace({"metadata": {"generateName": "kubernetes-"}})
    return str(created.metadata.name)


def refused(call: Any, *arguments: Any, **options: Any) -> tuple[int, str]:
    with pytest.raises(kubernetes.client.ApiException) as caught:
        call(*arguments, **options)
    status = json.loads(caught.value.body)
    assert status["kind"] == "Status"
    assert status["code"] == caught.value.status
    return caught.value.status, status["reason"]


def names(listing: Any) -> list[str]:
    return [item.metadata.name for item in listing.items]


def test_a_pod_from_its_creation_to_its_end(core: Any, namespace: str) -> None:
    models = kubernetes.client
    container = models.V1Container(
        name="main", image="none", env=[models.V1EnvVar(name="A", value="a")]
    )
    created = core.create_namespaced_pod(
        namespace,
        models.V1Pod(
            metadata=models.V1ObjectMeta(name="a", labels={"color": "red"}),
            spec=models.V1PodSpec(containers=[container]),
        ),
    )
    assert created.metadata.uid
    assert created.status.phase == "Pending"
    assert created.spec.restart_policy == "Always"
    core.patch_namespaced_pod("a", namespace, objects.other_image("newer"))
    (patched,) = core.read_namespaced_pod("a", namespace).spec.containers
    assert (patched.image, patched.env[0].value) == ("newer", "a")
    core.patch_namespaced_pod_status("a", namespace, {"status": {"phase": "Running"}})
    found = core.read_namespaced_pod("a", namespace)
    assert (found.status.phase, found.metadata.labels) == ("Running", {"color": "red"})
    core.delete_namespaced_pod("a", namespace, grace_period_seconds=0)
    assert refused(core.read_namespaced_pod, "a", namespace) == (404, "NotFound")


def test_devices(devices: Any, namespace: str) -> None:
    models = kubernetes.client
    devices.create_device_class(objects.device_class(namespace))
    devices.create_resource_slice(objects.resource_slice(namespace, "d0", "d1"))
    exactly = models.V1ExactDeviceRequest(device_class_name=namespace)
    claim = models.ResourceV1ResourceClaim(
        metadata=models.V1ObjectMeta(name="a"),
        spec=models.V1ResourceClaimSpec(
            devices=models.V1DeviceClaim(
                requests=[models.V1DeviceRequest(name="gpu", exactly=exactly)]
            )
        ),
    )
    created = devices.create_namespaced_resource_claim(namespace, claim)
    assert created.spec.devices.requests[0].exactly.allocation_mode == "ExactCount"
    (published,) = devices.list_resource_slice(field_selector=f"spec.driver={objects.DRIVER}").items
    assert [device.name for device in published.spec.devices] == ["d0", "d1"]
    status = {"status": objects.allocation(namespace, "d1")}
    devices.patch_namespaced_resource_claim_status("a", namespace, status)
    allocated = devices.read_namespaced_resource_claim("a", namespace)
    (result,) = allocated.status.allocation.devices.results
    assert (result.driver, result.pool, result.device) == (objects.DRIVER, namespace, "d1")
    allocated.status.allocation = None
    freed = devices.replace_namespaced_resource_claim_status("a", namespace, allocated)
    assert freed.status.allocation is None
    devices.delete_namespaced_resource_claim("a", namespace)
    devices.delete_resource_slice(namespace)
    devices.delete_device_class(namespace)
    assert refused(devices.read_resource_slice, namespace) == (404, "NotFound")


# -------------------------------------------------------------- watching


def events(core: Any, namespace: str, count: int, **options: Any) -> list[Any]:
    """The first events of a watch."""
    watch, found = kubernetes.watch.Watch(), []
    for event in watch.stream(
        core.list_namespaced_config_map, namespace, **{"timeout_seconds": WATCH_S, **options}
    ):
        found.append(event)
        if len(found) == count:
            watch.stop()
    return found


def summary(found: list[Any]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"].metadata.name) for event in found]


def test_a_watch_resumes(core: Any, namespace: str) -> None:
    start = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, objects.config("a", color="red"))
    core.create_namespaced_config_map(namespace, objects.config("b"))
    core.patch_namespaced_config_map("a", namespace, {"metadata": {"labels": {"color": "blue"}}})
    core.delete_namespaced_config_map("b", namespace)
    seen = events(core, namespace, 4, resource_version=start)
    assert summary(seen) == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
    between = seen[1]["object"].metadata.resource_version
    resumed = events(core, namespace, 2, resource_version=between)
    assert [event["raw_object"] for event in resumed] == [event["raw_object"] for event in seen[2:]]
    of_red = events(core, namespace, 2, resource_version=start, label_selector="color=red")
    assert summary(of_red) == [("ADDED", "a"), ("DELETED", "a")]


def test_an_old_watch_is_gone_and_a_new_list_goes_on(
    core: Any, namespace: str, outrunning: range
) -> None:
    start = core.create_namespaced_config_map(namespace, objects.config("a")).metadata
    for number in outrunning:
        core.patch_namespaced_config_map("a", namespace, {"data": {"v": f"v{number}"}})
    watch = kubernetes.watch.Watch()
    stream = watch.stream(
        core.list_namespaced_config_map, namespace, resource_version=start.resource_version
    )  # without a timeout, so that the client tries again before it gives up
    with pytest.raises(kubernetes.client.ApiException, match="Expired: too old resource") as gone:
        next(stream)
    assert gone.value.status == 410
    relisted = core.list_namespaced_config_map(namespace, field_selector="metadata.name=a")
    assert relisted.items[0].data == {"v": f"v{outrunning[-1]}"}
    core.delete_namespaced_config_map("a", namespace)
    (last,) = events(core, namespace, 1, resource_version=relisted.metadata.resource_version)
    assert (last["type"], last["object"].data) == ("DELETED", relisted.items[0].data)


# -------------------------------------------------------------- dynamic client


@pytest.fixture
def claims(connection: Any, tmp_path: pathlib.Path) -> Any:
    client = dynamic.DynamicClient(connection, cache_file=str(tmp_path / "discovery.json"))
    return client.resources.get(api_version="resource.k8s.io/v1", kind="ResourceClaim")


def test_dynamic_claims(claims: Any, namespace: str) -> None:
    created = claims.create(body=objects.claim("a"), namespace=namespace)
    assert created.spec.devices.requests[0].exactly.count == 1
    applied = claims.server_side_apply(
        body=objects.claim("b"), name="b", namespace=namespace, field_manager="one"
    )
    assert applied.metadata.managedFields[0].manager == "one"
    status = claims.subresources["status"]
    body = {"status": objects.allocation("pool", "d0")}
    status.patch(
        body=body, name="b", namespace=namespace, content_type="application/merge-patch+json"
    )
    assert claims.get(name="b", namespace=namespace).status.to_dict() == body["status"]
    listed = claims.get(namespace=namespace)
    assert names(listed) == ["a", "b"]
    claims.delete(name="a", namespace=namespace)
    (event,) = claims.watch(
        namespace=namespace, resource_version=listed.metadata.resourceVersion, timeout=1
    )
    assert (event["type"], event["object"].metadata.name) == ("DELETED", "a")
    with pytest.raises(dynamic.exceptions.NotFoundError):
        claims.get(name="a", namespace=namespace)
