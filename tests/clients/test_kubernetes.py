"""The official Python client as it is: typed models, its Watch and its dynamic client."""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients import initial_events, objects

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


def test_selectors(core: Any, namespace: str) -> None:
    for name, color in (("a", "red"), ("b", "blue"), ("c", "red")):
        core.create_namespaced_pod(namespace, objects.pod(name, color=color))
    binding = {"metadata": {"name": "c"}, "target": {"kind": "Node", "name": "n1"}}
    core.create_namespaced_pod_binding("c", namespace, binding, _preload_content=False).read()
    # The answer is a Status, of which this client expects that it is a Binding.

    def listed(**selectors: str) -> list[str]:
        return names(core.list_namespaced_pod(namespace, **selectors))

    assert listed(label_selector="color=red") == ["a", "c"]
    assert listed(label_selector="color in (blue, green)") == ["b"]
    assert listed(field_selector="spec.nodeName=n1") == ["c"]
    assert listed(label_selector="color=red", field_selector="spec.nodeName!=n1") == ["a"]


@pytest.mark.parametrize(
    ("content_type", "patch", "data"),
    [
        (objects.MERGE, {"data": {"v": None, "w": "1"}}, {"w": "1"}),
        (objects.STRATEGIC, {"data": {"w": "1"}}, {"v": "0", "w": "1"}),
        (objects.JSON_PATCH, [{"op": "replace", "path": "/data/v", "value": "1"}], {"v": "1"}),
    ],
)
def test_patches(core: Any, namespace: str, content_type: str, patch: Any, data: Any) -> None:
    core.create_namespaced_config_map(namespace, objects.config("a"))
    changed = core.patch_namespaced_config_map("a", namespace, patch, _content_type=content_type)
    assert changed.data == data


def test_apply(core: Any, namespace: str) -> None:
    def apply(manager: str, value: str, **options: Any) -> Any:
        return core.patch_namespaced_config_map(
            "a",
            namespace,
            objects.config("a", value),
            field_manager=manager,
            _content_type=objects.APPLY,
            **options,
        )

    created = apply("one", "1")
    assert apply("one", "1").metadata.resource_version == created.metadata.resource_version
    assert refused(apply, "two", "2") == (409, "Conflict")
    forced = apply("two", "2", force=True)
    assert forced.data == {"v": "2"}
    owners = {
        entry.manager: entry.fields_v1
        for entry in forced.metadata.managed_fields
        if entry.operation == "Apply"
    }
    assert "f:data" in owners["two"]
    assert "f:data" not in owners.get("one", {})


def test_a_stale_write_is_a_conflict(core: Any, namespace: str) -> None:
    old = core.create_namespaced_config_map(namespace, objects.config("a"))
    core.patch_namespaced_config_map("a", namespace, {"data": {"v": "1"}})
    old.data = {"v": "2"}
    replace = core.replace_namespaced_config_map
    assert refused(replace, "a", namespace, old) == (409, "Conflict")
    create = core.create_namespaced_config_map
    assert refused(create, namespace, objects.config("a")) == (409, "AlreadyExists")


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


def test_a_watch_ends_in_time_after_a_bookmark(core: Any, namespace: str) -> None:
    start = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_secret(namespace, {"metadata": {"name": "elsewhere"}})
    watch = kubernetes.watch.Watch()
    (bookmark,) = watch.stream(
        core.list_namespaced_config_map,
        namespace,
        resource_version=start,
        allow_watch_bookmarks=True,
        timeout_seconds=3,
    )
    assert bookmark["type"] == "BOOKMARK"
    assert int(watch.resource_version) > int(start)


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
    status.patch(body=body, name="b", namespace=namespace, content_type=objects.MERGE)
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


def test_dynamic_initial_events(claims: Any, namespace: str) -> None:
    claims.create(body=objects.claim("a"), namespace=namespace)
    seen = list(claims.watch(namespace=namespace, timeout=1, **initial_events.OPTIONS))
    initial_events.require_marked(seen)
