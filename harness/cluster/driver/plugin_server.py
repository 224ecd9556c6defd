"""The services of the program on sockets: DRAPlugin in both versions, and Registration."""

import contextlib
import functools
import pathlib
import sys
from collections.abc import Mapping
from typing import Any

from harness import clocks
from harness.cluster.driver import driver_settings, served_drivers
from harness.cluster.kubelet_api import calls, messages, preparations, servers, services


class PluginServer:
    """One driver on one node: its own socket, then the one by which the kubelet finds it."""

    def __init__(
        self,
        served: served_drivers.ServedDriver,
        *,
        node: str,
        endpoint: pathlib.Path,
        registration: pathlib.Path,
        settings: driver_settings.LiveSettings,
    ) -> None:
        """Serve. Raises UsageError if one of the sockets cannot be served."""
        self._served, self._node, self._settings = served, node, settings
        self._endpoint, self._services = endpoint, settings.now().services
        with contextlib.ExitStack() as made:
            made.enter_context(servers.Server(endpoint, self._handlers()))
            told = {services.GET_INFO: self._info, services.NOTIFY: self._note}
            made.enter_context(servers.Server(registration, told))
            self._servers = made.pop_all()

    def stop(self) -> None:
        """Let the kubelet see that the driver goes, let calls end, and remove both sockets."""
        self._servers.close()

    def _handlers(self) -> Mapping[services.Method, Any]:
        handlers: dict[services.Method, Any] = {}
        for service in services.DRA.values():
            if service.name in self._services:
                for call in ("prepare", "unprepare"):
                    handler = functools.partial(self._answer, call, service)
                    handlers[getattr(service, call)] = handler
        return handlers

    def _info(self, asked: Any) -> Any:
        del asked
        return services.GET_INFO.answer(
            type=services.PLUGIN_TYPE,
            name=self._served.driver.name,
            endpoint=str(self._endpoint.absolute()),  # a kubelet has another current folder
            supported_versions=self._services,
        )

    def _note(self, status: Any) -> Any:
        self._log("is registered" if status.plugin_registered else "was refused")
        if not status.plugin_registered:
            raise calls.CallError("UNKNOWN", f"failed registration process: {status.error}")
        return services.NOTIFY.answer()

    def _answer(self, call: str, service: services.DraService, asked: Any) -> Any:
        """Prepare or unprepare, by the settings of now. Raises CallError on demand."""
        spec = self._settings.now()
        self._served.driver.change(spec)
        if code := getattr(spec, call).code:
            raise calls.CallError(code, "the driver fails on demand")
        claims = messages.references(asked)
        results: Mapping[str, object] = getattr(self._served, call)(claims, self._node)
        for claim in claims:
            found = results.get(claim.uid)
            is_bad = isinstance(found, preparations.PreparationError)
            how, why = ("has not", f": {found}") if is_bad else ("has", "")
            self._log(f"{how} {call}d claim {claim.namespace}/{claim.name} ({claim.uid}){why}")
        return getattr(messages, f"{call}_answer")(service, results)

    def _log(self, text: str) -> None:
        when, name = clocks.wall_text(), self._served.driver.name
        sys.stdout.write(f"{when} {name} on {self._node} {text}\n")
        sys.stdout.flush()
