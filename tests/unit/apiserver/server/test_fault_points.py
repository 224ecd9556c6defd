"""Faults on a real server: what each action does to requests, answers and watches, and that other
requests are unaffected.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import pytest

from harness import clocks
from harness.apiserver.endpoints import responses
from tests.support import faulty_servers, protobuf_messages
from tests.support.faulty_servers import CONFIGMAPS, FAULTS, VICTIM, applied, begin

TIMEOUT_S = 20
Begin = Callable[..., futures.Future[Any]]


def config(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


@pytest.fixture
def call(faulty: Any) -> Iterator[Begin]:
    """Begin a request of the victim, in a thread of its own."""
    pool = futures.ThreadPoolExecutor()
    yield lambda *words: pool.submit(faulty.call, *words, headers=VICTIM)
    pool.shutdown(wait=False)


def wait_until_held(live: Any, name: str) -> None:
    clocks.wait_until(
        lambda: live.call("GET", f"{FAULTS}/{name}")[1]["heldCount"] == 1,
        timeout_s=TIMEOUT_S,
        why="the victim to be held",
    )


def exists(live: Any, name: str) -> bool:
    return bool(live.call("GET", f"{CONFIGMAPS}/{name}")[0] == 200)


# ---------------------------------------------------------------- the API


def test_without_the_option_there_is_no_such_path(live: Any) -> None:
    assert live.call("GET", FAULTS)[0] == 404
    assert live.call("POST", FAULTS, {"point": "request", "action": {"type": "lose"}})[0] == 404


@pytest.mark.parametrize("token", ["", "wrong"])
def test_without_the_token_nothing_is_said(faulty: Any, token: str) -> None:
    assert faulty.call("GET", FAULTS, token=token)[0] == 401


def test_a_fault_comes_and_goes(faulty: Any) -> None:
    name = begin(faulty, "request", {"type": "lose"}, name="mine", count=3)
    assert name == "mine"
    _, listed = faulty.call("GET", FAULTS)
    (described,) = listed["items"]
    assert (described["appliedCount"], described["heldCount"], described["usedUp"]) == (0, 0, False)
    assert described["spec"]["action"] == {"type": "lose"}
    assert faulty.call("DELETE", f"{FAULTS}/mine")[0] == 200
    assert faulty.call("GET", FAULTS)[1] == {"items": [], "lastSequence": 0}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", FAULTS, {"point": "nowhere"}, 400),
        ("POST", FAULTS, b"{", 400),
        ("GET", f"{FAULTS}/none", None, 404),
        ("DELETE", f"{FAULTS}/none", None, 404),
        ("POST", f"{FAULTS}/none/release", None, 404),
        ("PUT", FAULTS, {}, 404),
        ("GET", "/flake-hunt/v1/applied?after=x", None, 400),
    ],
)
def test_refusals(faulty: Any, method: str, path: str, body: Any, status: int) -> None:
    answered, document = faulty.call(method, path, body)
    assert (answered, document["code"]) == (status, status)


# ---------------------------------------------------------------- requests and answers


@pytest.mark.parametrize(("point", "there_while_held"), [("request", False), ("response", True)])
def test_hold_and_release(faulty: Any, point: str, there_while_held: bool, call: Begin) -> None:
    name = begin(faulty, point, {"type": "block"}, count=1)
    begun = call("POST", CONFIGMAPS, config("a"))
    wait_until_held(faulty, name)
    assert exists(faulty, "a") == there_while_held
    assert faulty.call("POST", f"{FAULTS}/{name}/release")[1] == {"released": 1}
    status, made = begun.result(TIMEOUT_S)
    assert status == 201
    assert exists(faulty, "a")
    (entry,) = applied(faulty)
    assert (entry["fault"], entry["point"], entry["facts"]["name"]) == (name, point, "a")
    assert entry["begun"]["monotonicNs"] < entry["ended"]["monotonicNs"]
    version = int(made["metadata"]["resourceVersion"])
    assert entry["facts"]["resourceVersion"] == (version if there_while_held else version - 1)


def test_a_held_write_is_carried_out_although_its_client_has_left(faulty: Any) -> None:
    name = begin(faulty, "request", {"type": "block"})
    with faulty_servers.RawConnection(faulty) as connection:
        connection.ask(CONFIGMAPS, method="POST", body=json.dumps(config("a")).encode())
        wait_until_held(faulty, name)
    faulty.call("DELETE", f"{FAULTS}/{name}")
    assert exists(faulty, "a")


def test_delay(faulty: Any, clock: faulty_servers.Clock, call: Begin) -> None:
    begin(faulty, "request", {"type": "delay", "seconds": 5})
    begun = call("POST", CONFIGMAPS, config("a"))
    clocks.wait_until(lambda: clock.delays, timeout_s=TIMEOUT_S, why="the delay")
    ((seconds, end),) = clock.delays
    assert (seconds, exists(faulty, "a")) == (5, False)
    faulty.run(end)
    assert begun.result(TIMEOUT_S)[0] == 201
    (entry,) = applied(faulty)
    assert entry["ended"] is not None


@pytest.mark.parametrize(("point", "there"), [("request", False), ("response", True)])
def test_answer(faulty: Any, point: str, there: bool, call: Begin) -> None:
    action = {"type": "reject", "code": 429, "reason": "TooManyRequests", "retryAfterSeconds": 7}
    begin(faulty, point, action, count=1)
    status, body = call("POST", CONFIGMAPS, config("a")).result(TIMEOUT_S)
    assert (status, body["reason"], body["details"]) == (
        429,
        "TooManyRequests",
        {"retryAfterSeconds": 7},
    )
    assert exists(faulty, "a") == there
    assert call("POST", CONFIGMAPS, config("b")).result(TIMEOUT_S)[0] == 201


@pytest.mark.parametrize(("point", "there"), [("request", False), ("response", True)])
def test_lose(faulty: Any, point: str, there: bool, call: Begin) -> None:
    begin(faulty, point, {"type": "lose"}, count=1)
    error = call("POST", CONFIGMAPS, config("a")).exception(TIMEOUT_S)
    assert isinstance(error, ConnectionError)  # no byte of an answer came
    assert exists(faulty, "a") == there


def test_names_in_protobuf_are_read_too(faulty: Any) -> None:
    match = {"userAgent": "victim", "name": "a"}
    begin(faulty, "request", {"type": "reject", "code": 500}, match=match)
    headers = VICTIM | {"Content-Type": responses.PROTOBUF}
    for name, expected in (("a", 500), ("b", 201)):
        document = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}}
        body = protobuf_messages.encode(document)
        assert faulty.call("POST", CONFIGMAPS, body, headers=headers)[0] == expected


# ---------------------------------------------------------------- watches


@pytest.fixture
def events(faulty: Any) -> Iterator[Any]:
    with faulty.watching(f"{CONFIGMAPS}?watch=true&resourceVersion=4") as events:
        yield events


WATCHERS: dict[str, Any] = {"path": CONFIGMAPS, "verbs": ["watch"]}


def test_a_watch_is_held_in_order(faulty: Any, events: Any) -> None:
    name = begin(faulty, "event", {"type": "block"}, match=WATCHERS | {"name": "b"}, count=1)
    for letter in "abc":
        faulty.call("POST", CONFIGMAPS, config(letter))
    assert next(events)["object"]["metadata"]["name"] == "a"
    wait_until_held(faulty, name)
    faulty.call("POST", f"{FAULTS}/{name}/release")
    assert [next(events)["object"]["metadata"]["name"] for _ in "bc"] == ["b", "c"]
    (entry,) = applied(faulty)
    assert (entry["facts"]["eventType"], entry["facts"]["name"]) == ("ADDED", "b")


def test_a_watch_is_dropped(faulty: Any) -> None:
    begin(faulty, "event", {"type": "drop"}, match=WATCHERS | {"name": "b"})
    with faulty_servers.RawWatch(faulty) as watch:
        for letter in "abc":
            faulty.call("POST", CONFIGMAPS, config(letter))
        assert watch.next_name() == "a"
        assert watch.end() == b""
        assert watch.has_none_now()
        assert watch.how_it_ended != "ended"


def test_a_watch_is_told_410(faulty: Any, events: Any) -> None:
    begin(faulty, "event", {"type": "gone"}, match=WATCHERS, count=1)
    faulty.call("POST", CONFIGMAPS, config("a"))
    (event,) = events
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_a_watch_that_is_held_ends_when_it_is_let_go(faulty: Any, events: Any) -> None:
    begin(faulty, "event", {"type": "gone", "held": True}, match=WATCHERS, count=1, name="end")
    for letter in "ab":
        faulty.call("POST", CONFIGMAPS, config(letter))
    assert [item.get("ended") for item in applied(faulty)] == [None]
    faulty.call("DELETE", f"{FAULTS}/end")
    (event,) = events
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_what_is_held_is_answered_when_the_server_stops(faulty: Any, call: Begin) -> None:
    name = begin(faulty, "response", {"type": "block"})
    begun = call("POST", CONFIGMAPS, config("a"))
    wait_until_held(faulty, name)
    asyncio.run_coroutine_threadsafe(faulty.server.stop(timeout_s=TIMEOUT_S), faulty._loop).result(
        TIMEOUT_S
    )
    assert begun.result(TIMEOUT_S)[0] == 201
