"""A server that carries faults: adding them, and reading their record."""

import itertools
from collections.abc import Callable
from typing import Any

from harness.faults import injection

FAULTS = "/flake-hunt/v1/faults"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
VICTIM = {"User-Agent": "victim/1"}
TOKEN = "secret-of-the-tests"


class Clock:
    """The clock of a server's faults: a delay is over when the test says so."""

    def __init__(self) -> None:
        self._ticks = itertools.count(1)
        self.delays: list[tuple[float, Callable[[], None]]] = []
        """The delays that have begun: their seconds, and the call at their end."""

    def now(self) -> injection.FaultTime:
        return injection.FaultTime("now", next(self._ticks))

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        self.delays.append((seconds, call))

    def parts(self) -> dict[str, Any]:
        """Parts of a server with faults; made on its loop."""
        registry = injection.Faults(now=self.now, call_later=self.call_later)
        return {"faults": registry}


def begin(live: Any, point: str, action: dict[str, Any], **given: Any) -> str:
    document = {"point": point, "action": action, "match": {"userAgent": "victim"}} | given
    status, made = live.call("POST", FAULTS, document)
    assert status == 201, made
    return str(made["name"])


def applied(live: Any) -> list[dict[str, Any]]:
    status, document = live.call("GET", "/flake-hunt/v1/applied")
    assert status == 200
    assert document["bootID"]
    items: list[dict[str, Any]] = document["items"]
    return items
