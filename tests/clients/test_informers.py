"""The informer of the official Python client: what its cache holds and what its handlers are
told.
"""

import functools
import pathlib
import queue
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients import objects

kubernetes = pytest.importorskip("kubernetes", reason="the kubernetes client is not installed")
informers = pytest.importorskip("kubernetes.informer", reason="this version has no informer")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]
TIMEOUT_S = 20


@pytest.fixture
def core(kubeconfig: pathlib.Path) -> Iterator[Any]:
    with kubernetes.config.new_client_from_config(str(kubeconfig)) as client:
        yield kubernetes.client.CoreV1Api(client)


@pytest.fixture
def namespace(core: Any) -> str:
    created = core.create_namespace({"metadata": {"generateName": "informers-"}})
    return str(created.metadata.name)


class Informer:
    """An informer of the red ConfigMaps, and what it tells its handlers."""

    def __init__(self, core: Any, namespace: str, **options: Any) -> None:
        self._told: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self.errors: list[Any] = []
        self.informer = informers.SharedInformer(
            core.list_namespaced_config_map, namespace, label_selector="color=red", **options
        )
        for kind in ("ADDED", "MODIFIED", "DELETED"):
            self.informer.add_event_handler(kind, functools.partial(self._tell, kind))
        self.informer.add_event_handler("ERROR", self.errors.append)

    def _tell(self, kind: str, found: Any) -> None:
        self._told.put((kind, found.metadata.name))

    def told(self, count: int) -> list[tuple[str, str]]:
        return [self._told.get(timeout=TIMEOUT_S) for _ in range(count)]

    def cached(self) -> dict[str, str]:
        """The objects as it knows them: name -> value."""
        return {found.metadata.name: found.data["v"] for found in self.informer.cache.list()}


def create(core: Any, namespace: str, name: str) -> None:
    core.create_namespaced_config_map(namespace, objects.config(name, color="red"))


@pytest.fixture
def informer(core: Any, namespace: str) -> Iterator[Informer]:
    """It has `a` from its list and `b` from its watch, which is the moment from which it can be
    stopped.
    """
    informer = Informer(core, namespace)
    create(core, namespace, "a")
    informer.informer.start()
    assert informer.told(1) == [("ADDED", "a")]
    create(core, namespace, "b")
    assert informer.told(1) == [("ADDED", "b")]
    yield informer
    informer.informer.stop()


def test_it_follows(core: Any, namespace: str, informer: Informer) -> None:
    core.create_namespaced_config_map(namespace, objects.config("c", color="blue"))
    core.patch_namespaced_config_map("a", namespace, {"data": {"v": "1"}})
    core.delete_namespaced_config_map("b", namespace)
    assert informer.told(2) == [("MODIFIED", "a"), ("DELETED", "b")]
    assert informer.cached() == {"a": "1"}
    assert informer.errors == []


def test_it_resumes_where_it_was(core: Any, namespace: str, informer: Informer) -> None:
    informer.informer.stop()
    core.delete_namespaced_config_map("a", namespace)
    create(core, namespace, "c")
    informer.informer.start()
    assert informer.told(2) == [("DELETED", "a"), ("ADDED", "c")]  # and no MODIFIED of what it had
    assert informer.cached() == {"b": "0", "c": "0"}


def test_it_lists_again_when_what_it_saw_is_gone(
    core: Any, namespace: str, informer: Informer, outrunning: range
) -> None:
    informer.informer.stop()
    informer.errors.clear()  # being stopped is one for it
    core.delete_namespaced_config_map("a", namespace)
    create(core, namespace, "c")
    for number in outrunning:
        core.patch_namespaced_config_map("b", namespace, {"data": {"v": f"v{number}"}})
    informer.informer.start()
    assert informer.told(3) == [("DELETED", "a"), ("MODIFIED", "b"), ("ADDED", "c")]
    assert [error.status for error in informer.errors] == [410]
    create(core, namespace, "d")
    assert informer.told(1) == [("ADDED", "d")]
    assert informer.cached() == {"b": f"v{outrunning[-1]}", "c": "0", "d": "0"}
