"""kubernetes_asyncio as it is: a session of its own for every test, on a loop of its own."""

import asyncio
import contextlib
import json
import pathlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from tests.clients import initial_events, objects

kubernetes = pytest.importorskip("kubernetes_asyncio", reason="it is not installed")
watches = pytest.importorskip("kubernetes_asyncio.watch")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]
WATCH_S = 20
TLS_CLOSE_S = 0.25
"""The pause that aiohttp recommends after a session's close (docs.aiohttp.org, Graceful Shutdown):
its connections close in the background.
"""
Test = Callable[..., Awaitable[None]]


class Session:
    """The APIs, and a namespace."""

    def __init__(self, connection: Any, namespace: str, outrunning: range) -> None:
        self.core = kubernetes.client.CoreV1Api(connection)
        self.devices = kubernetes.client.ResourceV1Api(connection)
        self.leases = kubernetes.client.CoordinationV1Api(connection)
        self.namespace = namespace
        self.outrunning = outrunning

    async def create(self, name: str, **labels: str) -> Any:
        body = objects.config(name, **labels)
        return await self.core.create_namespaced_config_map(self.namespace, body)

    async def patch(self, name: str, patch: Any, **options: Any) -> Any:
        return await self.core.patch_namespaced_config_map(name, self.namespace, patch, **options)

    async def listed(self, **options: Any) -> Any:
        return await self.core.list_namespaced_config_map(self.namespace, **options)

    async def watch(self, count: int, **options: Any) -> list[Any]:
        """The first events."""
        found: list[Any] = []
        listing = self.core.list_namespaced_config_map
        async with watches.Watch() as watch:
            async for event in watch.stream(listing, self.namespace, **options):
                found.append(event)
                if len(found) == count:
                    break
        return found


@contextlib.asynccontextmanager
async def connected(kubeconfig: pathlib.Path, outrunning: range) -> AsyncIterator[Session]:
    """A session in a new namespace."""
    async with await kubernetes.config.new_client_from_config(str(kubeconfig)) as connection:
        body = {"metadata": {"generateName": "asyncio-"}}
        created = await kubernetes.client.CoreV1Api(connection).create_namespace(body)
        yield Session(connection, created.metadata.name, outrunning)


def asynchronous(test: Test) -> Callable[[pathlib.Path, range], None]:
    """A test that gets a session."""

    def run(kubeconfig: pathlib.Path, outrunning: range) -> None:
        async def converse() -> None:
            async with connected(kubeconfig, outrunning) as session:
                await test(session)
            await asyncio.sleep(TLS_CLOSE_S)

        asyncio.run(converse())

    return run


async def refused(call: Awaitable[Any]) -> tuple[int, str]:
    with pytest.raises(kubernetes.client.ApiException) as caught:
        await call
    return caught.value.status, json.loads(caught.value.body)["reason"]


def summary(events: list[Any]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"].metadata.name) for event in events]


@asynchronous
async def test_a_pod_from_its_creation_to_its_end(session: Session) -> None:
    core, where = session.core, session.namespace
    created = await core.create_namespaced_pod(where, objects.pod("a", color="red"))
    assert (created.status.phase, created.spec.restart_policy) == ("Pending", "Always")
    patched = await core.patch_namespaced_pod("a", where, objects.other_image("newer"))
    (container,) = patched.spec.containers
    assert (container.image, container.env[0].value) == ("newer", "a")
    await core.patch_namespaced_pod_status("a", where, {"status": {"phase": "Running"}})
    listed = await core.list_namespaced_pod(where, field_selector="status.phase=Running")
    assert [pod.metadata.name for pod in listed.items] == ["a"]
    await core.delete_namespaced_pod("a", where, grace_period_seconds=0)
    assert await refused(core.read_namespaced_pod("a", where)) == (404, "NotFound")


@asynchronous
async def test_lists(session: Session) -> None:
    for number in range(5):
        await session.create(f"c{number}", color="red" if number % 2 else "blue")
    found, token = [], ""
    while not found or token:
        page = await session.listed(limit=2, **({"_continue": token} if token else {}))
        found += [item.metadata.name for item in page.items]
        token = page.metadata._continue
    assert found == [f"c{number}" for number in range(5)]
    red = await session.listed(label_selector="color=red")
    assert [item.metadata.name for item in red.items] == ["c1", "c3"]
    await session.core.delete_collection_namespaced_config_map(
        session.namespace, label_selector="color=red"
    )
    assert len((await session.listed()).items) == 3


@asynchronous
async def test_patches(session: Session) -> None:
    await session.create("a")
    for content_type, patch, data in (
        (objects.STRATEGIC, {"data": {"w": "1"}}, {"v": "0", "w": "1"}),
        (objects.MERGE, {"data": {"v": None}}, {"w": "1"}),
        (
            objects.JSON_PATCH,
            [{"op": "add", "path": "/data/x", "value": "2"}],
            {"w": "1", "x": "2"},
        ),
    ):
        changed = await session.patch("a", patch, _content_type=content_type)
        assert changed.data == data


@asynchronous
async def test_apply(session: Session) -> None:
    async def apply(manager: str, value: str, **options: Any) -> Any:
        return await session.patch(
            "a",
            objects.config("a", value),
            field_manager=manager,
            _content_type=objects.APPLY,
            **options,
        )

    await apply("one", "1")
    assert await refused(apply("two", "2")) == (409, "Conflict")
    assert (await apply("two", "2", force=True)).data == {"v": "2"}


@asynchronous
async def test_leases_are_taken_once(session: Session) -> None:
    leases, where = session.leases, session.namespace
    taken = await leases.create_namespaced_lease(where, objects.lease("a", "one"))
    taken.spec.holder_identity = "two"
    replaced = await leases.replace_namespaced_lease("a", where, taken)
    assert replaced.spec.holder_identity == "two"
    again = leases.replace_namespaced_lease("a", where, taken)
    assert await refused(again) == (409, "Conflict")
    await leases.delete_namespaced_lease("a", where)
    assert (await leases.list_namespaced_lease(where)).items == []


@asynchronous
async def test_devices(session: Session) -> None:
    devices, where = session.devices, session.namespace
    await devices.create_device_class(objects.device_class(where))
    await devices.create_resource_slice(objects.resource_slice(where, "d0", "d1"))
    await devices.create_namespaced_resource_claim(where, objects.claim("a"))
    status = {"status": objects.allocation(where, "d1")}
    await devices.patch_namespaced_resource_claim_status("a", where, status)
    allocated = await devices.read_namespaced_resource_claim("a", where)
    (result,) = allocated.status.allocation.devices.results
    assert (result.driver, result.pool, result.device) == (objects.DRIVER, where, "d1")
    await devices.delete_resource_slice(where)
    await devices.delete_device_class(where)
    assert await refused(devices.read_device_class(where)) == (404, "NotFound")


@asynchronous
async def test_a_watch_resumes(session: Session) -> None:
    start = (await session.listed()).metadata.resource_version
    await session.create("a", color="red")
    await session.create("b")
    await session.core.delete_namespaced_config_map("a", session.namespace)
    seen = await session.watch(3, resource_version=start, timeout_seconds=WATCH_S)
    assert summary(seen) == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    between = seen[1]["object"].metadata.resource_version
    (resumed,) = await session.watch(1, resource_version=between, timeout_seconds=WATCH_S)
    assert resumed["raw_object"] == seen[2]["raw_object"]
    of_red = await session.watch(
        2, resource_version=start, timeout_seconds=WATCH_S, label_selector="color=red"
    )
    assert summary(of_red) == [("ADDED", "a"), ("DELETED", "a")]


@asynchronous
async def test_a_watch_ends_in_time_with_the_initial_events_marked(session: Session) -> None:
    await session.create("a")
    seen = await session.watch(-1, timeout_seconds=1, **initial_events.OPTIONS)
    initial_events.require_marked(seen)


@asynchronous
async def test_watch_without_a_watcher(session: Session) -> None:
    """`watch=True` by hand: the lines of the answer."""
    await session.create("a")
    answer = await session.listed(watch=True, timeout_seconds=1, _preload_content=False)
    lines = [json.loads(line) async for line in answer.content]
    assert [(line["type"], line["object"]["data"]) for line in lines] == [("ADDED", {"v": "0"})]


@asynchronous
async def test_an_old_watch_is_gone_and_a_new_list_goes_on(session: Session) -> None:
    start = (await session.create("a")).metadata.resource_version
    for number in session.outrunning:
        await session.patch("a", {"data": {"v": f"v{number}"}})
    # Without a timeout, so that the client tries again before it gives up.
    with pytest.raises(kubernetes.client.ApiException, match="Expired: too old resource") as gone:
        await session.watch(1, resource_version=start)
    assert gone.value.status == 410
    relisted = await session.listed()
    assert [item.data for item in relisted.items] == [{"v": f"v{session.outrunning[-1]}"}]
    await session.core.delete_namespaced_config_map("a", session.namespace)
    (last,) = await session.watch(1, resource_version=relisted.metadata.resource_version)
    assert summary([last]) == [("DELETED", "a")]
