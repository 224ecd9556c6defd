"""Faults on a real server: their API, and what the fault proxy does not do."""

import asyncio
from concurrent import futures
from typing import Any

import pytest

from harness import clocks
from harness.apiserver.endpoints import responses
from tests.support import protobuf_messages
from tests.support.faulty_servers import CONFIGMAPS, FAULTS, VICTIM, applied, begin

TIMEOUT_S = 20


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


def test_names_in_protobuf_are_read_too(faulty: Any) -> None:
    match = {"userAgent": "victim", "name": "a"}
    begin(faulty, "request", {"type": "reject", "code": 500}, match=match)
    newest = faulty.call("GET", CONFIGMAPS)[1]["metadata"]["resourceVersion"]
    headers = VICTIM | {"Content-Type": responses.PROTOBUF}
    for name, expected in (("a", 500), ("b", 201)):
        document = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}}
        body = protobuf_messages.encode(document)
        assert faulty.call("POST", CONFIGMAPS, body, headers=headers)[0] == expected
    (entry,) = applied(faulty)
    assert entry["facts"]["resourceVersion"] == int(newest)


def test_what_is_held_is_answered_when_the_server_stops(faulty: Any) -> None:
    name, body = begin(faulty, "response", {"type": "block"}), {"metadata": {"name": "a"}}
    with futures.ThreadPoolExecutor() as pool:
        begun = pool.submit(faulty.call, "POST", CONFIGMAPS, body, headers=VICTIM)
        clocks.wait_until(
            lambda: faulty.call("GET", f"{FAULTS}/{name}")[1]["heldCount"] == 1,
            timeout_s=TIMEOUT_S,
            why="the victim to be held",
        )
        stop = faulty.server.stop(timeout_s=TIMEOUT_S)
        asyncio.run_coroutine_threadsafe(stop, faulty._loop).result(TIMEOUT_S)
        assert begun.result(TIMEOUT_S)[0] == 201
