"""SIGKILL at random moments under load: nothing that was acknowledged or shown is lost, and no
version comes twice.

`FLAKE_HUNT_KILLS=200 pytest --log-cli-level=INFO tests/e2e/kills/test_apiserver_kills.py` kills
more often than the suite does; `FLAKE_HUNT_KILLS_SEED` chooses other moments.
"""

import contextlib
import itertools
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
TIMEOUT_S = 30
NAMESPACE = "default"
CONFIGMAPS = apis.Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)

_log = logging.getLogger(__name__)
pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(60 + 10 * KILLS)]


def api_of(server: api_servers.KeptServer) -> apis.Api:
    return apis.Api(transports.connect(server.plain))


def listed(server: api_servers.KeptServer) -> tuple[int, dict[str, Any]]:
    """The version of a list, and its objects by their names."""
    api = api_of(server)
    with contextlib.closing(api.transport):
        found = api.list(CONFIGMAPS, namespace=NAMESPACE)
    objects = {item["metadata"]["name"]: essence(item) for item in found.items}
    return int(found.resource_version), objects


class Writer(threading.Thread):
    """Creates ConfigMaps; knows those that were acknowledged, and the one that is in doubt."""

    def __init__(self, api: apis.Api, prefix: str) -> None:
        super().__init__(daemon=True)
        self._api, self._prefix = api, prefix
        self.acknowledged: dict[str, Any] = {}
        self.doubt = ""

    def run(self) -> None:
        with (
            contextlib.closing(self._api.transport),
            contextlib.suppress(transports.TransportError),
        ):
            for number in itertools.count():
                self.doubt = f"{self._prefix}-{number}"
                data = {"value": self.doubt * (1 + number % 40)}
                document = {"metadata": {"name": self.doubt}, "data": data}
                made = self._api.create(CONFIGMAPS, document, namespace=NAMESPACE)
                self.acknowledged[self.doubt] = essence(made)


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


def essence(item: dict[str, Any]) -> dict[str, Any]:
    """An object without what a list may leave out."""
    return {"metadata": item["metadata"], "data": item["data"]}


def test_kills_lose_nothing(tmp_path: pathlib.Path) -> None:
    server, dice = api_servers.KeptServer(tmp_path), random.Random(SEED)
    server.start()
    version, known = listed(server)
    before = len(known)
    try:
        for life in range(KILLS):
            version, known = one_life(server, dice, version, known, f"life-{life}")
    finally:
        server.kill()
    assert len(known) > before + KILLS
    _log.info("%d kills, %d objects, version %d", KILLS, len(known), version)


def one_life(
    server: api_servers.KeptServer,
    dice: random.Random,
    version: int,
    known: dict[str, Any],
    name: str,
) -> tuple[int, dict[str, Any]]:
    watcher = Watcher(api_of(server), version)
    writers = [Writer(api_of(server), f"{name}-{index}") for index in range(WRITERS)]
    enough, pause_s = dice.randrange(1, 60), dice.random() * 0.05
    for thread in (watcher, *writers):
        thread.start()
    wait_for(lambda: sum(len(writer.acknowledged) for writer in writers) >= enough)
    clocks.sleep(pause_s)
    server.kill()
    for thread in (watcher, *writers):
        thread.join(TIMEOUT_S)
        assert not thread.is_alive()
    server.start()
    now, found = listed(server)
    for writer in writers:
        known = known | writer.acknowledged
    assert {each: found.get(each) for each in known} == known
    assert found.keys() - known.keys() <= {writer.doubt for writer in writers}
    versions = [int(item["metadata"]["resourceVersion"]) for item in found.values()]
    assert now >= max([version, *versions, *watcher.seen])
    check_events(Watcher(api_of(server), version), watcher.seen, version, now)
    return now, found


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
