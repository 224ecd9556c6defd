"""Drivers on real sockets in this process, whose answers a test chooses."""

import contextlib
import pathlib
import threading
from collections.abc import Callable
from typing import Any

from harness.cluster.kubelet_api import messages, preparations, servers, services

DRIVER = "gpu.example"


class DriverServer:
    """One instance of a driver: its own socket, and the one in the registry folder."""

    def __init__(
        self,
        folder: pathlib.Path,
        instance: str = "",
        *,
        driver: str = DRIVER,
        kind: str = services.PLUGIN_TYPE,
        versions: tuple[str, ...] = tuple(services.DRA),
        endpoint: pathlib.Path | None = None,
        told_endpoint: str = "",
    ) -> None:
        self.kind, self.driver, self.versions = kind, driver, versions
        self.registration = folder / "registry" / f"{driver}{instance}-reg.sock"
        self.endpoint = endpoint or folder / "plugins" / f"{driver}{instance}.sock"
        self.told_endpoint = told_endpoint or str(self.endpoint)
        self.statuses: list[tuple[bool, str]] = []
        self.calls: list[tuple[str, str, list[str]]] = []
        """Service, method, and the uids of the claims."""
        self.told = threading.Event()
        self.answer: Callable[[Any], Any] = lambda good: good
        """Changes an answer, or raises."""
        self._endpoint, self._registration = contextlib.ExitStack(), contextlib.ExitStack()
        self.start()

    def start(self) -> None:
        handlers: dict[services.Method, Any] = {}
        for service in services.DRA.values():
            handlers[service.prepare] = self._handler(service, "prepare")
            handlers[service.unprepare] = self._handler(service, "unprepare")
        registration = {services.GET_INFO: self._info, services.NOTIFY: self._note}
        if not self.endpoint.exists():
            self._endpoint.enter_context(servers.Server(self.endpoint, handlers))
        self._registration.enter_context(servers.Server(self.registration, registration))

    def stop(self) -> None:
        self._registration.close()
        self.stop_endpoint()

    def stop_endpoint(self) -> None:
        """End as a crash does: the registration socket stays."""
        self._endpoint.close()

    def _info(self, asked: Any) -> Any:
        return services.GET_INFO.answer(
            type=self.kind,
            name=self.driver,
            endpoint=self.told_endpoint,
            supported_versions=self.versions,
        )

    def _note(self, status: Any) -> Any:
        self.statuses.append((status.plugin_registered, status.error))
        self.told.set()
        return services.NOTIFY.answer()

    def _handler(self, service: services.DraService, method: str) -> servers.Handler:
        def answer(asked: Any) -> Any:
            uids = [claim.uid for claim in messages.references(asked)]
            self.calls.append((service.name, method, uids))
            device = preparations.PreparedDevice(pool="p", device="d", cdi_device_ids=("v/c=d",))
            if method == "prepare":
                return self.answer(messages.prepare_answer(service, dict.fromkeys(uids, (device,))))
            return self.answer(messages.unprepare_answer(service, dict.fromkeys(uids)))

        return answer
