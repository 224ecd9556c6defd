"""The claim controller with real threads on an API server inside the process."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from harness import clocks
from harness.client import apis
from harness.subject import assembling
from harness.subject.claim_control import claim_controllers
from harness.subject.objects import claims
from tests.support import api_objects, local_servers

Object = dict[str, Any]
TIMEOUT_S = 30.0


class World:
    """A server, and a controller that is started when the test has prepared it."""

    def __init__(
        self,
        server: local_servers.LocalServer,
        release: str | None = None,
        remedies: Sequence[str] = (),
        chosen: Sequence[str] = (),
        workers: int = 2,
    ) -> None:
        """`chosen` are known defects. With one worker, `settle` waits for all that came before."""
        self.server, self.api = server, apis.Api(server)
        self.controller = claim_controllers.ClaimController(
            self.api,
            claim_controllers.ControllerOptions(workers=workers),
            assembling.claim_controller_parts(chosen, remedies, release),
        )
        self.is_started = False

    def start(self) -> None:
        self.controller.start()
        self.is_started = True

    def stop(self) -> None:
        if self.is_started:
            self.controller.stop()

    def put(self, resource: apis.Resource, obj: Object) -> Object:
        return local_servers.put(self.server, resource, obj)

    def pod(self, name: str = "p") -> Object:
        return self.api.get(apis.PODS, name, namespace="default")

    def claims(self) -> list[Object]:
        return self.api.list(apis.CLAIMS, namespace="default").items

    def claim(self, name: str = "c") -> Object | None:
        return next((item for item in self.claims() if item["metadata"]["name"] == name), None)

    def wait(self, condition: Callable[[], object], why: str) -> None:
        clocks.wait_until(condition, timeout_s=TIMEOUT_S, why=why, interval_s=0.002)

    def wait_recorded(self, name: str = "p") -> dict[str, str | None]:
        """The claims of the pod, once they are recorded in its status."""
        entries = claims.entries_of(self.pod(name))
        wanted = [item["name"] for item in entries if "resourceClaimTemplateName" in item]
        self.wait(lambda: list(claims.recorded_names(self.pod(name))) == wanted, "recorded claims")
        return claims.recorded_names(self.pod(name))

    def allocated(self, name: str, *users: Object, **more: Any) -> Object:
        """A claim as the scheduler leaves it."""
        made = api_objects.claim(name, allocated=api_objects.allocation("a"), **more)
        return self.put(apis.CLAIMS, api_objects.protected(made, reserved_for=users))

    def reserved_for(self, name: str = "c") -> list[str]:
        claim = self.claim(name)
        return [item["name"] for item in claims.reservations_of(claim)] if claim else []

    def settle(self) -> None:
        """Wait until the controller has taken up everything that came before this call.

        With several workers, one of them may still work on an object that came earlier.
        """
        name = f"settled-{self.server.store.resource_version}"
        self.put(apis.PODS, api_objects.pod(name, templates=["settling"]))
        if not any(
            item["metadata"]["name"] == "settling"
            for item in self.api.list(apis.CLAIM_TEMPLATES, namespace="default").items
        ):
            self.put(apis.CLAIM_TEMPLATES, api_objects.template("settling"))
        self.wait_recorded(name)

    def events(self) -> list[Object]:
        return self.api.list(apis.EVENTS, namespace="default").items


@contextlib.contextmanager
def running(
    server: local_servers.LocalServer,
    release: str | None = None,
    *,
    remedies: Sequence[str] = (),
) -> Iterator[World]:
    """A world whose controller is stopped in the end."""
    world = World(server, release, remedies)
    try:
        yield world
    finally:
        world.stop()
