"""Informers against a real server behind a relay that can be cut: list, watch, resume, and list
again after 410.
"""

import pathlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import clocks, errors
from harness.client import apis, informers, transports

TIMEOUT_S = 30
# An informer's thread takes its connection with it when it ends, which is what a short-lived test
# calls a leak.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


class Events(informers.EventHandler):
    """A handler that remembers what it was told."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str]] = []
        """(what, name, holder)"""
        self.threads: set[str] = set()
        self.managed: list[bool] = []
        """Of each, whether it had the managers of its fields."""

    def on_add(self, obj: Any, *, initial: bool) -> None:
        self._note("initial" if initial else "add", obj)

    def on_update(self, old: Any, new: Any) -> None:
        assert old["metadata"]["uid"] == new["metadata"]["uid"]
        self._note("update", new)

    def on_delete(self, last: Any) -> None:
        self._note("delete", last)

    def _note(self, what: str, obj: Any) -> None:
        self.threads.add(threading.current_thread().name)
        self.managed.append("managedFields" in obj["metadata"])
        self.seen.append((what, obj["metadata"]["name"], obj["spec"]["holderIdentity"]))


def lease(name: str, holder: str = "x") -> Any:
    return {
        "metadata": {"name": name, "namespace": "default", "labels": {"holder": holder}},
        "spec": {"holderIdentity": holder},
    }


class World:
    """Leases on the server, and informers behind the relay."""

    def __init__(self, api: apis.Api, kubeconfig: pathlib.Path) -> None:
        self.api, self._kubeconfig = api, kubeconfig
        self._started: list[informers.Informer] = []

    def follow(self, *handlers: Events, **options: Any) -> informers.Informer:
        informer = self.informer(*handlers, **options)
        informer.start()
        informer.wait_synced(timeout_s=TIMEOUT_S)
        return informer

    def informer(self, *handlers: Events, **options: Any) -> informers.Informer:
        api = apis.Api(transports.connect(self._kubeconfig))
        informer = informers.Informer(api, apis.LEASES, name="leases", handlers=handlers, **options)
        self._started.append(informer)
        return informer

    def create(self, name: str, holder: str = "x") -> None:
        self.api.create(apis.LEASES, lease(name, holder), namespace="default")

    def change(self, name: str, holder: str) -> None:
        self.api.patch(apis.LEASES, name, {"spec": {"holderIdentity": holder}}, namespace="default")

    def delete(self, name: str) -> None:
        self.api.delete(apis.LEASES, name, namespace="default")

    def forget(self) -> None:
        self.create("churn")
        for number in range(6):
            self.change("churn", str(number))
        self.delete("churn")

    def stop(self) -> None:
        for informer in self._started:
            informer.stop()


@pytest.fixture
def world(server: Any, relayed_kubeconfig: pathlib.Path) -> Iterator[World]:
    made = World(server.api, relayed_kubeconfig)
    yield made
    made.stop()


def wait(condition: Callable[[], object], why: str) -> None:
    clocks.wait_until(condition, timeout_s=TIMEOUT_S, why=why)


def wait_seen(events: Events, expected: list[tuple[str, str, str]]) -> None:
    wait(lambda: len(events.seen) >= len(expected), f"{len(expected)} events")
    assert events.seen == expected


def test_what_is_there_comes_first_and_what_happens_follows(world: World) -> None:
    world.create("a")
    events = Events()
    informer = world.follow(events)
    assert events.seen == [("initial", "a", "x")]
    world.create("b")
    world.change("a", "y")
    world.delete("b")
    expected = [
        ("initial", "a", "x"),
        ("add", "b", "x"),
        ("update", "a", "y"),
        ("delete", "b", "x"),
    ]
    wait_seen(events, expected)
    assert events.threads == {"leases"}
    assert [informers.key_of(obj) for obj in informer.objects()] == ["default/a"]
    found = informer.get("default/a")
    assert found is not None
    assert found["spec"]["holderIdentity"] == "y"
    assert informer.get("default/b") is None


@pytest.mark.parametrize("trims", [False, True])
def test_managed_fields_may_be_left_out(world: World, trims: bool) -> None:
    world.create("a")
    events = Events()
    informer = world.follow(events, trims=trims)
    world.create("b")
    told = [("initial", "a", "x"), ("add", "b", "x")]
    wait_seen(events, told)
    assert ["managedFields" in obj["metadata"] for obj in informer.objects()] == [not trims] * 2
    world.change("a", "y")
    world.delete("a")
    wait_seen(events, [*told, ("update", "a", "y"), ("delete", "a", "y")])
    assert events.managed == [not trims] * 4


def test_a_selection_is_entered_and_left(world: World) -> None:
    events = Events()
    world.follow(events, label_selector="holder=me", namespace="default")
    world.create("other", "you")
    world.create("mine", "me")
    labels = {"metadata": {"labels": {"holder": "you"}}}
    world.api.patch(apis.LEASES, "mine", labels, namespace="default")
    wait_seen(events, [("add", "mine", "me"), ("delete", "mine", "me")])


def test_after_a_broken_connection_it_goes_on_where_it_was(world: World, relay: Any) -> None:
    world.create("a")
    events, other = Events(), Events()
    world.follow(events, other)
    world.create("told-before")
    wait_seen(events, [("initial", "a", "x"), ("add", "told-before", "x")])
    relay.cut()
    world.change("a", "y")
    world.create("b")
    relay.mend()
    missed = [("update", "a", "y"), ("add", "b", "x")]
    for handler in (events, other):
        wait_seen(handler, [("initial", "a", "x"), ("add", "told-before", "x"), *missed])


def test_after_a_gap_a_new_list_tells_what_was_missed(world: World, relay: Any) -> None:
    for name in ("gone", "changed", "same"):
        world.create(name)
    events = Events()
    informer = world.follow(events)
    relay.cut()
    before = len(events.seen)
    world.delete("gone")
    world.change("changed", "y")
    world.create("new")
    world.forget()
    relay.mend()
    missed = [("delete", "gone", "x"), ("update", "changed", "y"), ("add", "new", "x")]
    wait(lambda: len(events.seen) >= before + 3, "the events of the new list")
    assert sorted(events.seen[before:]) == sorted(missed)
    assert events.seen[before] == missed[0], "what is gone is told first"
    assert sorted(informers.key_of(obj) for obj in informer.objects()) == [
        "default/changed",
        "default/new",
        "default/same",
    ]
    world.change("same", "z")
    wait(lambda: events.seen[-1] == ("update", "same", "z"), "the watch after the list")


def test_an_object_that_was_reborn_unseen_is_deleted_and_added(world: World, relay: Any) -> None:
    world.create("a", "old")
    events = Events()
    world.follow(events)
    relay.cut()
    world.delete("a")
    world.create("a", "new")
    world.forget()
    relay.mend()
    expected = [("initial", "a", "old"), ("delete", "a", "old"), ("add", "a", "new")]
    wait_seen(events, expected)


def test_it_starts_before_there_is_a_server(world: World, relay: Any) -> None:
    world.create("a")
    relay.cut()
    events = Events()
    informer = world.informer(events)
    informer.start()
    with pytest.raises(errors.ClusterError, match="expected a first list of leases"):
        informer.wait_synced(timeout_s=0.05)
    relay.mend()
    informer.wait_synced(timeout_s=TIMEOUT_S)
    assert events.seen == [("initial", "a", "x")]


def test_it_stops_while_it_watches_and_while_there_is_no_server(world: World, relay: Any) -> None:
    one, two = Events(), Events()
    first, second = world.follow(one), world.follow(two)
    first.stop()
    assert not first._thread.is_alive()  # type: ignore[union-attr]
    world.create("a")
    wait_seen(two, [("add", "a", "x")])
    assert one.seen == []
    relay.cut()
    second.stop()
    assert not second._thread.is_alive()  # type: ignore[union-attr]
