"""SIGKILL at random moments under load: nothing that was acknowledged or shown is lost, and no
version comes twice.

`FLAKE_HUNT_KILLS=200 pytest --log-cli-level=INFO tests/e2e/kills/test_apiserver_kills.py` kills
more often than the suite does; `FLAKE_HUNT_KILLS_SEED` chooses other moments.
"""

import json
import logging
import os
import pathlib
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from harness import clocks
from harness.client import apis, transports
from tests.support import api_servers

KILLS = int(os.environ.get("FLAKE_HUNT_KILLS", "10"))
SEED = int(os.environ.get("FLAKE_HUNT_KILLS_SEED", "1"))
WRITERS = 4
NAMES = 12
TIMEOUT_S = 30
NAMESPACE = "default"
CONFIGMAPS = apis.Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)

_log = logging.getLogger(__name__)
pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(60 + 10 * KILLS)]


def api_of(server: api_servers.KeptServer) -> apis.Api:
    return apis.Api(transports.connect(server.plain))


def listed(server: api_servers.KeptServer) -> apis.Listing:
    api = api_of(server)
    try:
        return api.list(CONFIGMAPS, namespace=NAMESPACE)
    finally:
        api.transport.close()


class Writer(threading.Thread):
    """Creates, changes and deletes its own ConfigMaps; knows what was acknowledged and what is in
    doubt.
    """

    def __init__(self, api: apis.Api, index: int, known: dict[str, Any], seed: int) -> None:
        super().__init__(daemon=True)
        self._api, self._dice = api, random.Random(seed)
        self.names = [f"w{index}-{number}" for number in range(NAMES)]
        self.known = known
        """name -> the acknowledged object; without an entry it is acknowledged that there is none.
        """
        self.doubt: tuple[str, str | None] | None = None
        """name, and the value that it may have got (None: it may be gone); nothing when all is
        acknowledged.
        """
        self.acknowledged = 0

    def run(self) -> None:
        try:
            while True:
                self._write(self._dice.choice(self.names))
                self.doubt = None
                self.acknowledged += 1
        except transports.TransportError:
            return
        finally:
            self._api.transport.close()

    def _write(self, name: str) -> None:
        value = str(self._dice.getrandbits(40)) * self._dice.randrange(1, 40)
        document = {"metadata": {"name": name}, "data": {"value": value}}
        if name not in self.known:
            self.doubt = (name, value)
            self.known[name] = self._api.create(CONFIGMAPS, document, namespace=NAMESPACE)
        elif self._dice.random() < 0.25:
            self.doubt = (name, None)
            self._api.delete(CONFIGMAPS, name, namespace=NAMESPACE)
            del self.known[name]
        else:
            self.doubt = (name, value)
            changed = self.known[name] | {"data": {"value": value}}
            self.known[name] = self._api.update(CONFIGMAPS, changed)


class Watcher(threading.Thread):
    """Notes every event: version -> (type, name)."""

    def __init__(self, api: apis.Api, version: int) -> None:
        super().__init__(daemon=True)
        self._watch = api.watch(CONFIGMAPS, namespace=NAMESPACE, resource_version=str(version))
        self.seen: dict[int, tuple[str, str]] = {}
        self.until = 0

    def run(self) -> None:
        try:
            for line in self._watch:
                event = json.loads(line)
                meta = event["object"]["metadata"]
                version = int(meta["resourceVersion"])
                assert version > max(self.seen, default=0)
                self.seen[version] = (event["type"], meta["name"])
                if self.until and version >= self.until:
                    self._watch.close()
                    return
        except transports.TransportError:
            return


def check_objects(now: apis.Listing, writers: list[Writer]) -> int:
    """Check that the objects are those acknowledged or in doubt; return the list's version."""
    found = {item["metadata"]["name"]: item for item in now.items}
    for writer in writers:
        if writer.doubt is not None:
            settle_doubt(writer, *writer.doubt, found)
        theirs = {name: found.pop(name) for name in writer.names if name in found}
        assert {name: essence(item) for name, item in theirs.items()} == {
            name: essence(item) for name, item in writer.known.items()
        }
    assert found.keys() <= {"kube-root-ca.crt"}
    return int(now.resource_version)


def essence(item: dict[str, Any]) -> dict[str, Any]:
    """An object without what a list may leave out."""
    return {"metadata": item["metadata"], "data": item["data"]}


def settle_doubt(
    writer: Writer, name: str, value: str | None, found: dict[str, dict[str, Any]]
) -> None:
    """Settle the writes in doubt: now it is known whether they happened."""
    now = found[name]["data"]["value"] if name in found else None
    if now == value:
        if name in found:
            writer.known[name] = found[name]
        else:
            writer.known.pop(name, None)


def test_kills_lose_nothing(tmp_path: pathlib.Path) -> None:
    server, dice = api_servers.KeptServer(tmp_path), random.Random(SEED)
    known: list[dict[str, Any]] = [{} for _ in range(WRITERS)]
    acknowledged = 0
    server.start()
    version = int(listed(server).resource_version)
    try:
        for _ in range(KILLS):
            version, count, known = one_life(server, dice, version, known)
            acknowledged += count
    finally:
        server.kill()
    assert acknowledged > KILLS
    _log.info("%d kills, %d acknowledged writes, version %d", KILLS, acknowledged, version)


def one_life(
    server: api_servers.KeptServer, dice: random.Random, version: int, known: list[dict[str, Any]]
) -> tuple[int, int, list[dict[str, Any]]]:
    watcher = Watcher(api_of(server), version)
    writers = [
        Writer(api_of(server), index, known[index], dice.getrandbits(32))
        for index in range(WRITERS)
    ]
    enough, pause_s = dice.randrange(1, 60), dice.random() * 0.05
    for thread in (watcher, *writers):
        thread.start()
    wait_for(lambda: sum(writer.acknowledged for writer in writers) >= enough)
    clocks.sleep(pause_s)
    server.kill()
    for thread in (watcher, *writers):
        thread.join(TIMEOUT_S)
        assert not thread.is_alive()
    server.start()
    acknowledged = [
        int(item["metadata"]["resourceVersion"]) for objects in known for item in objects.values()
    ]
    now = check_objects(listed(server), writers)
    assert now >= max([version, *acknowledged, *watcher.seen])
    again = Watcher(api_of(server), version)
    check_events(again, watcher.seen, version, now)
    return now, sum(writer.acknowledged for writer in writers), [w.known for w in writers]


def check_events(again: Watcher, seen: dict[int, tuple[str, str]], version: int, now: int) -> None:
    """A watch that resumes from before the kill shows the same history, without a hole, and goes
    on.
    """
    again.until = now
    if now > version:
        again.start()
        again.join(TIMEOUT_S)
    else:
        again._watch.close()
    assert sorted(again.seen) == list(range(version + 1, now + 1))
    assert {number: again.seen[number] for number in seen} == seen


def wait_for(condition: Callable[[], bool]) -> None:
    clocks.wait_until(condition, timeout_s=TIMEOUT_S, why="enough writes", interval_s=0.001)
