"""The official Python client as it is: typed models, its Watch, its informer and its dynamic client
understand what the server does, of which tests/corpus has the details.
"""

import pathlib
import queue
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import api_servers

kubernetes = pytest.importorskip("kubernetes", reason="the kubernetes client is not installed")
dynamic = pytest.importorskip("kubernetes.dynamic")
informers = pytest.importorskip("kubernetes.informer", reason="this version has no informer")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]
TIMEOUT_S = 20
WATCH_HISTORY = 12
"""So few changes are kept that a test can outrun a watch."""
DRIVER = "gpu.example.com"
Document = dict[str, Any]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server with TLS and a token, and a client with the kubeconfig that it writes."""
    folder = tmp_path_factory.mktemp("clients")
    process = api_servers.start(folder, "--set", f"watch_history={WATCH_HISTORY}")
    with kubernetes.config.new_client_from_config(str(folder / "kubeconfig")) as client:
        yield client
    process.stop(timeout_s=TIMEOUT_S)


@pytest.fixture(scope="module")
def core(connection: Any) -> Any:
    return kubernetes.client.CoreV1Api(connection)


@pytest.fixture
def namespace(core: Any) -> str:
    created = core.create_namespace({"metadata": {"generateName": "kubernetes-"}})
    return str(created.metadata.name)


def create(core: Any, namespace: str, name: str, **labels: str) -> Any:
    document = {"metadata": {"name": name, "labels": labels}, "data": {"v": "0"}}
    return core.create_namespaced_config_map(namespace, document)


def outrun(core: Any, namespace: str, name: str) -> Document:
    """Change an object until the server has forgotten every version before; return its data."""
    for number in range(WATCH_HISTORY + 1):
        core.patch_namespaced_config_map(name, namespace, {"data": {"v": f"v{number}"}})
    return {"v": f"v{WATCH_HISTORY}"}


def allocation(pool: str, device: str) -> Document:
    result = {"request": "gpu", "driver": DRIVER, "pool": pool, "device": device}
    return {"allocation": {"devices": {"results": [result]}}}


def test_a_pod_from_its_creation_to_its_end(core: Any, namespace: str) -> None:
    models = kubernetes.client
    env = [models.V1EnvVar(name="A", value="a")]
    spec = models.V1PodSpec(containers=[models.V1Container(name="main", image="none", env=env)])
    created = core.create_namespaced_pod(
        namespace, models.V1Pod(metadata=models.V1ObjectMeta(name="a"), spec=spec)
    )
    assert created.metadata.uid
    assert (created.status.phase, created.spec.restart_policy) == ("Pending", "Always")
    newer = {"spec": {"containers": [{"name": "main", "image": "newer"}]}}
    core.patch_namespaced_pod("a", namespace, newer)
    (patched,) = core.read_namespaced_pod("a", namespace).spec.containers
    assert (patched.image, patched.env[0].value) == ("newer", "a")
    core.patch_namespaced_pod_status("a", namespace, {"status": {"phase": "Running"}})
    assert core.read_namespaced_pod("a", namespace).status.phase == "Running"
    core.delete_namespaced_pod("a", namespace, grace_period_seconds=0)
    with pytest.raises(kubernetes.client.ApiException, match="NotFound"):
        core.read_namespaced_pod("a", namespace)


def test_claims(connection: Any, namespace: str) -> None:
    models, devices = kubernetes.client, kubernetes.client.ResourceV1Api(connection)
    exactly = models.V1ExactDeviceRequest(device_class_name=namespace)
    requests = [models.V1DeviceRequest(name="gpu", exactly=exactly)]
    spec = models.V1ResourceClaimSpec(devices=models.V1DeviceClaim(requests=requests))
    claim = models.ResourceV1ResourceClaim(metadata=models.V1ObjectMeta(name="a"), spec=spec)
    created = devices.create_namespaced_resource_claim(namespace, claim)
    assert created.spec.devices.requests[0].exactly.allocation_mode == "ExactCount"
    status = {"status": allocation(namespace, "d1")}
    devices.patch_namespaced_resource_claim_status("a", namespace, status)
    allocated = devices.read_namespaced_resource_claim("a", namespace)
    (result,) = allocated.status.allocation.devices.results
    assert (result.driver, result.pool, result.device) == (DRIVER, namespace, "d1")
    allocated.status.allocation = None
    freed = devices.replace_namespaced_resource_claim_status("a", namespace, allocated)
    assert freed.status.allocation is None


# -------------------------------------------------------------- watching


def events(core: Any, namespace: str, count: int, **options: Any) -> list[Any]:
    """The first events of a watch."""
    watch, found = kubernetes.watch.Watch(), []
    options = {"timeout_seconds": TIMEOUT_S, **options}
    for event in watch.stream(core.list_namespaced_config_map, namespace, **options):
        found.append(event)
        if len(found) == count:
            watch.stop()
    return found


def summary(found: list[Any]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"].metadata.name) for event in found]


def test_a_watch_resumes(core: Any, namespace: str) -> None:
    start = core.list_namespaced_config_map(namespace).metadata.resource_version
    create(core, namespace, "a", color="red")
    create(core, namespace, "b")
    core.patch_namespaced_config_map("a", namespace, {"metadata": {"labels": {"color": "blue"}}})
    core.delete_namespaced_config_map("b", namespace)
    seen = events(core, namespace, 4, resource_version=start)
    assert summary(seen) == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
    between = seen[1]["object"].metadata.resource_version
    resumed = events(core, namespace, 2, resource_version=between)
    assert [event["raw_object"] for event in resumed] == [event["raw_object"] for event in seen[2:]]
    of_red = events(core, namespace, 2, resource_version=start, label_selector="color=red")
    assert summary(of_red) == [("ADDED", "a"), ("DELETED", "a")]


def test_an_old_watch_is_gone_and_a_new_list_goes_on(core: Any, namespace: str) -> None:
    start = create(core, namespace, "a").metadata.resource_version
    data = outrun(core, namespace, "a")
    stream = kubernetes.watch.Watch().stream(
        core.list_namespaced_config_map, namespace, resource_version=start
    )  # without a timeout, so that the client tries again before it gives up
    with pytest.raises(kubernetes.client.ApiException, match="Expired: too old resource") as gone:
        next(stream)
    assert gone.value.status == 410
    listed = core.list_namespaced_config_map(namespace, field_selector="metadata.name=a")
    assert listed.items[0].data == data
    core.delete_namespaced_config_map("a", namespace)
    (last,) = events(core, namespace, 1, resource_version=listed.metadata.resource_version)
    assert (last["type"], last["object"].data) == ("DELETED", data)


def test_an_informer_lists_again_when_what_it_saw_is_gone(core: Any, namespace: str) -> None:
    told: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
    errors: list[Any] = []
    informer = informers.SharedInformer(
        core.list_namespaced_config_map, namespace, label_selector="color=red"
    )
    for kind in ("ADDED", "MODIFIED", "DELETED"):
        informer.add_event_handler(
            kind, lambda found, kind=kind: told.put((kind, found.metadata.name))
        )
    informer.add_event_handler("ERROR", errors.append)
    create(core, namespace, "a", color="red")
    informer.start()
    assert told.get(timeout=TIMEOUT_S) == ("ADDED", "a")
    create(core, namespace, "b", color="red")
    assert told.get(timeout=TIMEOUT_S) == ("ADDED", "b")
    informer.stop()
    core.delete_namespaced_config_map("a", namespace)
    create(core, namespace, "c", color="red")
    data = outrun(core, namespace, "b")
    informer.start()
    expected = [("DELETED", "a"), ("MODIFIED", "b"), ("ADDED", "c")]
    assert [told.get(timeout=TIMEOUT_S) for _ in expected] == expected
    refused = [error for error in errors if isinstance(error, kubernetes.client.ApiException)]
    assert [error.status for error in refused] == [410]  # being stopped is another error for it
    create(core, namespace, "d", color="red")
    assert told.get(timeout=TIMEOUT_S) == ("ADDED", "d")  # before that, it cannot be stopped
    cached = {found.metadata.name: found.data for found in informer.cache.list()}
    assert cached == {"b": data, "c": {"v": "0"}, "d": {"v": "0"}}
    informer.stop()


# -------------------------------------------------------------- dynamic client


def test_dynamic_claims(connection: Any, namespace: str, tmp_path: pathlib.Path) -> None:
    client = dynamic.DynamicClient(connection, cache_file=str(tmp_path / "discovery.json"))
    claims = client.resources.get(api_version="resource.k8s.io/v1", kind="ResourceClaim")
    request = {"name": "gpu", "exactly": {"deviceClassName": DRIVER}}
    document = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "b"},
        "spec": {"devices": {"requests": [request]}},
    }
    applied = claims.server_side_apply(
        body=document, name="b", namespace=namespace, field_manager="one"
    )
    assert applied.metadata.managedFields[0].manager == "one"
    body = {"status": allocation("pool", "d0")}
    claims.subresources["status"].patch(
        body=body, name="b", namespace=namespace, content_type="application/merge-patch+json"
    )
    assert claims.get(name="b", namespace=namespace).status.to_dict() == body["status"]
    version = claims.get(namespace=namespace).metadata.resourceVersion
    claims.delete(name="b", namespace=namespace)
    (event,) = claims.watch(namespace=namespace, resource_version=version, timeout=1)
    assert (event["type"], event["object"].metadata.name) == ("DELETED", "b")
    with pytest.raises(dynamic.exceptions.NotFoundError):
        claims.get(name="b", namespace=namespace)
