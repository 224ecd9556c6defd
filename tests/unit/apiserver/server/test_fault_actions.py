"""Each action of a fault as a client sees it: cut bodies, old states, late, cut and missing
events.
"""

import asyncio
import json
import os
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.apiserver.scheme import resources
from harness.apiserver.server import (
    connections,
    identities,
    servers,
)
from tests.support import faulty_servers
from tests.support.faulty_servers import CONFIGMAPS, VICTIM, RawWatch, applied, begin


def create(live: Any, *names: str, size: int = 1) -> list[int]:
    """Create ConfigMaps; return their versions."""
    versions = []
    for name in names:
        document = {"metadata": {"name": name}, "data": {"x": "x" * size}}
        status, made = live.call("POST", CONFIGMAPS, document)
        assert status == 201, made
        versions.append(int(made["metadata"]["resourceVersion"]))
    return versions


def names(listed: Any) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


# ---------------------------------------------------------------- cut responses


@pytest.mark.parametrize("size", [10, 900_000])
def test_a_body_is_cut_in_the_middle(faulty: Any, size: int) -> None:
    create(faulty, "a", size=size)
    _, whole = faulty.call("GET", f"{CONFIGMAPS}/a")
    body = json.dumps(whole, separators=(",", ":")).encode()
    begin(faulty, "response", {"type": "truncate"}, count=1)
    with faulty_servers.RawConnection(faulty) as connection:
        connection.ask(f"{CONFIGMAPS}/a")
        text, end = connection.rest()
    head, _, got = text.partition(b"\r\n\r\n")
    assert b"\r\nContent-Length: %d\r\n" % len(body) in head + b"\r\n"
    assert end == "reset"
    assert got == body[: len(body) // 2]
    (entry,) = applied(faulty)
    assert (entry["action"]["type"], entry["facts"]["name"]) == ("truncate", "a")


def test_what_has_no_body_is_passed_over(faulty: Any) -> None:
    begin(faulty, "response", {"type": "truncate"}, count=1)
    with faulty_servers.RawConnection(faulty) as connection:
        connection.ask(f"{CONFIGMAPS}/none", method="HEAD", Connection="close")
        assert connection.rest()[1] == "closed"
    assert applied(faulty) == []


@pytest.fixture
def tls_port(faulty: Any) -> Iterator[int]:
    certificate = identities.make_certificate("127.0.0.1")
    factory = lambda: connections.Connection(faulty.server)  # noqa: E731

    async def listen() -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(
            factory, "127.0.0.1", 0, ssl=certificate.context()
        )

    listener = asyncio.run_coroutine_threadsafe(listen(), faulty._loop).result(20)
    yield listener.sockets[0].getsockname()[1]
    faulty.run(listener.close)


def test_with_tls_the_connection_is_reset_too(faulty: Any, tls_port: int) -> None:
    create(faulty, "a", size=100_000)
    begin(faulty, "response", {"type": "truncate"})
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with faulty_servers.RawConnection(faulty, context=context, port=tls_port) as connection:
        connection.ask(f"{CONFIGMAPS}/a")
        text = b""
        while len(text.partition(b"\r\n\r\n")[2]) < 50_000:
            text += connection.socket.recv(1 << 20)
        connection.socket.settimeout(None)  # else the descriptor does not wait
        with pytest.raises(ConnectionResetError):  # read below TLS, which says EOF for it
            os.read(connection.socket.fileno(), 1)
    assert len(text) < 60_000


# ---------------------------------------------------------------- stale reads


@pytest.fixture
def at(faulty: Any) -> Callable[[float], None]:
    """Set the clock by which the server knows the ages of versions."""
    now = [0.0]

    def install() -> None:
        faulty.server.version_times._time_s = lambda: now[0]
        faulty.server.version_times._times[0] = 0.0

    faulty.run(install)

    def set_time(seconds: float) -> None:
        now[0] = seconds

    return set_time


def read(live: Any, path: str = CONFIGMAPS) -> tuple[int, Any]:
    """Read in any version, unless the path has a query."""
    path = path if "?" in path else f"{path}?resourceVersion=0"
    found: tuple[int, Any] = live.call("GET", path, headers=VICTIM)
    return found


def test_a_list_shows_the_state_of_some_seconds_ago(
    faulty: Any, at: Callable[[float], None]
) -> None:
    versions = []
    for second, name in ((10, "a"), (20, "b"), (30, "c")):
        at(second)
        versions += create(faulty, name)
    begin(faulty, "request", {"type": "stale", "seconds": 12})
    at(40)
    _, listed = read(faulty)
    assert names(listed) == ["a", "b"]
    assert listed["metadata"]["resourceVersion"] == str(versions[1])
    (entry,) = applied(faulty)
    assert entry["facts"]["resourceVersion"] == versions[1]
    assert entry["note"] == ""
    assert names(faulty.call("GET", CONFIGMAPS)[1]) == ["a", "b", "c"], "others are not hit"


def test_a_get_shows_the_object_as_it_was(faulty: Any, at: Callable[[float], None]) -> None:
    at(10)
    create(faulty, "a", "gone")
    at(20)
    changed = {"metadata": {"name": "a"}, "data": {"x": "new"}}
    faulty.call("PUT", f"{CONFIGMAPS}/a", changed)
    faulty.call("DELETE", f"{CONFIGMAPS}/gone")
    create(faulty, "later")
    at(25)
    begin(faulty, "request", {"type": "stale", "seconds": 10})
    assert read(faulty, f"{CONFIGMAPS}/a")[1]["data"] == {"x": "x"}
    assert read(faulty, f"{CONFIGMAPS}/gone")[0] == 200
    assert read(faulty, f"{CONFIGMAPS}/later")[0] == 404


def test_a_stale_list_is_never_older_than_asked(faulty: Any, at: Callable[[float], None]) -> None:
    at(10)
    old, new = create(faulty, "a")[0], 0
    at(20)
    (new,) = create(faulty, "b")
    begin(faulty, "request", {"type": "stale", "seconds": 5})
    spared = (
        f"?resourceVersion={new}&resourceVersionMatch=NotOlderThan",
        f"?resourceVersion={new}",
        f"?resourceVersion={new}&resourceVersionMatch=Exact",
        f"?resourceVersion={new}&limit=5",
        "?limit=5",
        "?pretty=0",
    )
    assert [names(read(faulty, CONFIGMAPS + query)[1]) for query in spared] == [["a", "b"]] * 6
    assert read(faulty, f"{CONFIGMAPS}/b?resourceVersion={new}")[0] == 200
    assert applied(faulty) == []
    hit = ("?resourceVersion=0", f"?resourceVersion={old}&resourceVersionMatch=NotOlderThan")
    assert [names(read(faulty, CONFIGMAPS + query)[1]) for query in hit] == [["a"]] * 2
    assert len(applied(faulty)) == 2


def test_what_has_not_changed_is_not_stale(faulty: Any, at: Callable[[float], None]) -> None:
    at(10)
    create(faulty, "a")
    at(20)
    faulty.call("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    begin(faulty, "request", {"type": "stale", "seconds": 5})
    assert names(read(faulty)[1]) == ["a"]
    assert read(faulty, "/apis/resource.k8s.io/v1/deviceclasses")[0] == 200
    assert applied(faulty) == []


def test_beyond_the_history_the_oldest_state_is_shown_and_noted(
    faulty: Any, at: Callable[[float], None]
) -> None:
    at(10)
    create(faulty, "a")
    at(20)
    faulty.run(lambda: faulty.server.store.compact(resources.CONFIGMAPS))
    create(faulty, "b")
    at(30)
    begin(faulty, "request", {"type": "stale", "seconds": 3600})
    assert names(read(faulty)[1]) == ["a"]
    (entry,) = applied(faulty)
    assert entry["note"] == "the oldest state that is kept, 20.0 s old"


def test_a_write_or_a_watch_is_no_stale_read(faulty: Any, at: Callable[[float], None]) -> None:
    at(10)
    create(faulty, "a")
    begin(faulty, "request", {"type": "stale", "seconds": 5})
    assert faulty.call("POST", CONFIGMAPS, {"metadata": {"name": "b"}}, headers=VICTIM)[0] == 201
    with RawWatch(faulty) as watch:
        assert [watch.next_name() for _ in "ab"] == ["a", "b"]
    assert applied(faulty) == []


# ---------------------------------------------------------------- events


EVENTS: dict[str, Any] = {"userAgent": "victim", "verbs": ["watch"]}


def lag(live: Any, seconds: float = 5.0, **match: Any) -> str:
    return begin(live, "event", {"type": "delay", "seconds": seconds}, match=EVENTS | match)


def test_an_event_is_cut_in_the_middle(faulty: Any) -> None:
    begin(faulty, "event", {"type": "truncate"}, match=EVENTS | {"name": "b"})
    with RawWatch(faulty) as watch:
        create(faulty, "a", "b", "c")
        assert watch.next_name() == "a"
        rest = watch.end()
    assert watch.how_it_ended == "reset"
    assert rest
    assert b'"name":"b"' in rest
    assert not rest.endswith(b"\n")


def test_a_watch_that_resumes_is_late_too(
    faulty: Any, clock: faulty_servers.Clock, at: Callable[[float], None]
) -> None:
    at(10)
    (version, *_) = create(faulty, "old", "a")
    at(20)
    create(faulty, "b")
    at(22)
    lag(faulty, 8.0)
    with RawWatch(faulty, f"&resourceVersion={version}") as watch:
        create(faulty, "c")
        assert [round(seconds, 3) for seconds, _ in clock.delays] == [0.0, 6.0, 8.0]
        for (_, end), name in zip(clock.delays, "abc", strict=True):
            assert watch.has_none_now()
            faulty.run(end)
            assert watch.next_name() == name


def test_a_watch_that_is_too_far_behind_is_dropped(
    serve: Callable[..., Any], clock: faulty_servers.Clock
) -> None:
    limits = servers.Limits(watch_unread_bytes_max=2_000)
    live = serve(make_parts=lambda: clock.parts() | {"limits": limits})
    lag(live)
    with RawWatch(live) as watch:
        create(live, *"abc", size=1_000)
        assert watch.end() == b""
    for _, end in clock.delays:
        live.run(end)
    assert all(entry["ended"] is not None for entry in applied(live))


# ---------------------------------------------------------------- clients


def test_a_client_is_known_by_the_user_that_it_impersonates(faulty: Any) -> None:
    match = {"clients": ["scheduler"]}
    begin(faulty, "request", {"type": "reject", "code": 503}, match=match, count=1)
    begin(faulty, "response", {"type": "reject", "code": 500}, match=match, count=1)
    others = [faulty_servers.impersonating("scheduler-2"), {"Impersonate-User": "scheduler"}, {}]
    assert {faulty.call("GET", CONFIGMAPS, headers=headers)[0] for headers in others} == {200}
    mine = faulty_servers.impersonating("scheduler")
    assert [faulty.call("GET", CONFIGMAPS, headers=mine)[0] for _ in range(3)] == [503, 500, 200]
    assert {entry["facts"]["client"] for entry in applied(faulty)} == {"scheduler"}


# ------------------------------------------------------------------------ deletions


def _finalized(live: Any, *finalizers: str) -> None:
    meta = {"name": "a", "finalizers": list(finalizers)}
    live.call("PUT", f"{CONFIGMAPS}/a", {"metadata": meta, "data": {"x": "x"}})


def _delete(live: Any) -> tuple[bool, int]:
    """Delete the object; return whether it is gone, and how often the fault was applied."""
    begin(live, "request", {"type": "overlook", "seconds": 5}, match={"verbs": ["delete"]})
    live.call("DELETE", f"{CONFIGMAPS}/a")
    return live.call("GET", f"{CONFIGMAPS}/a")[0] == 404, len(applied(live))


def test_a_deletion_does_not_see_a_new_finalizer(faulty: Any, at: Callable[[float], None]) -> None:
    at(10)
    create(faulty, "a")
    at(20)
    _finalized(faulty, "a/b")
    at(22)
    assert _delete(faulty) == (True, 1)


def test_a_deletion_sees_an_old_finalizer(faulty: Any, at: Callable[[float], None]) -> None:
    at(10)
    create(faulty, "a")
    _finalized(faulty, "a/b")
    at(20)
    assert _delete(faulty) == (False, 0)
