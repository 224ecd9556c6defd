"""`flake-hunt part driver`: the test driver as a plug-in of kubelets, on unix sockets."""

import contextlib
import dataclasses
import functools
import itertools
import os
import pathlib
import sys
from collections.abc import Mapping
from typing import Any

from harness import clocks, errors, processes, writing
from harness.client import apis, informers, transports
from harness.cluster.driver import (
    driver_settings,
    drivers,
    served_drivers,
    slice_publishing,
)
from harness.cluster.kubelet_api import (
    calls,
    messages,
    node_folders,
    preparations,
    servers,
    services,
    socket_paths,
)
from harness.manifests import reading, sources
from harness.model.objects import Object

_PUBLISHED_S = 20.0
"""Seconds in which the ready file waits for the slices; they are published later, too."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DriverOptions:
    """Options of the program. Folders may have `{node}` in them, and must with several nodes."""

    kubeconfig: pathlib.Path
    nodes: tuple[str, ...]
    names: tuple[str, ...]
    """The names of the drivers to be; each serves on every node."""
    plugins: str
    registry: str
    files: drivers.DriverFiles
    devices: tuple[Object, ...] = ()
    """Entries of `spec.devices` of the slices of each node; empty: publish no slices."""
    settings: pathlib.Path | None = None
    parts: served_drivers.DriverParts = served_drivers.CORRECT
    instance: str = ""
    """The uid of this instance, beside others of the same driver; empty: there are no others."""
    ready_file: pathlib.Path | None = None
    """File to create once the sockets are served and the slices published."""

    def __post_init__(self) -> None:
        """Raise UsageError if several nodes are to share a folder, or a path is too long."""
        templates = (self.plugins, self.registry, *self.files)
        shared = [item for item in templates if node_folders.NODE not in item]
        if len(self.nodes) > 1 and shared:
            raise errors.UsageError(
                f"expected folders with {node_folders.NODE} in them for {len(self.nodes)} nodes, "
                f"got {shared[0]}"
            )
        for node in self.nodes:
            for name in self.names:
                socket_paths.require_short(self.endpoint(name, node))
                socket_paths.require_short(self.registration(name, node))

    def endpoint(self, name: str, node: str) -> pathlib.Path:
        folder = node_folders.of_node(self.plugins, node)
        return folder / name / f"dra{self._suffix}.sock"

    def registration(self, name: str, node: str) -> pathlib.Path:
        folder = node_folders.of_node(self.registry, node)
        return folder / f"{name}{self._suffix}-reg.sock"

    @property
    def state(self) -> pathlib.Path:
        return node_folders.of_node(self.files.state, self.nodes[0])

    @property
    def _suffix(self) -> str:
        return f"-{self.instance}" if self.instance else ""


def run(options: DriverOptions) -> int:
    """Serve until SIGTERM; return the exit code.

    Raises UsageError for unusable options, files or sockets, KubeconfigError if the API server
    rejects the credentials, and ClusterError if it does not answer.
    """
    stopped = processes.StopEvent()
    processes.end_on_thread_failure("flake-hunt part driver")
    processes.allow_files()
    for template, node in itertools.product(options.files, options.nodes):
        _make_writable(node_folders.of_node(template, node))
    with contextlib.ExitStack() as running:
        settings = driver_settings.LiveSettings(options.settings)
        transport = running.enter_context(
            contextlib.closing(transports.connect(options.kubeconfig, user_agent=options.names[0]))
        )
        api = apis.Api(transport)
        moments = served_drivers.MomentActions(settings, options.state)
        served = [_served(options, name, api, settings, moments) for name in options.names]
        if options.devices:
            _publish(options, api, running)
        for one, node in itertools.product(served, options.nodes):
            name = one.driver.name
            endpoint, registration = options.endpoint(name, node), options.registration(name, node)
            plugin = _Plugin(one, node=node, endpoint=endpoint, settings=settings)
            running.enter_context(servers.Server(endpoint, plugin.handlers()))
            running.enter_context(servers.Server(registration, plugin.of_registration()))
        for one in served:  # first: calls that wait would not end
            running.callback(one.driver.stop)
        running.callback(moments.stop)
        if options.ready_file is not None:
            processes.touch_ready(options.ready_file)
        stopped.wait()
    return 0


def _make_writable(folder: pathlib.Path) -> None:
    """Make a folder of state or CDI files, so that missing rights show at once."""
    with writing.explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise errors.UsageError(
            f"{folder}: expected the right to write files there: name another folder"
        )


def _served(
    options: DriverOptions,
    name: str,
    api: apis.Api,
    settings: driver_settings.LiveSettings,
    moments: served_drivers.MomentActions,
) -> served_drivers.ServedDriver:
    driver = options.parts.driver(settings.now(), name=name, files=options.files, at=moments)
    for problem in driver.recover():
        sys.stderr.write(f"flake-hunt driver: {problem}\n")
    lock_file = options.state / f"{name}.lock" if options.instance else None
    return options.parts.served(driver, api, at=moments, lock_file=lock_file, settings=settings)


class _Plugin:
    """One driver on one node: answers calls of the kubelet on its own socket, and on the one by
    which the kubelet finds it."""

    def __init__(
        self,
        served: served_drivers.ServedDriver,
        *,
        node: str,
        endpoint: pathlib.Path,
        settings: driver_settings.LiveSettings,
    ) -> None:
        self._served, self._node, self._settings = served, node, settings
        self._endpoint, self._services = endpoint, settings.now().services

    def handlers(self) -> Mapping[services.Method, Any]:
        return {
            getattr(service, call): functools.partial(self._answer, call, service)
            for service in services.DRA.values()
            if service.name in self._services
            for call in ("prepare", "unprepare")
        }

    def of_registration(self) -> Mapping[services.Method, Any]:
        return {services.GET_INFO: self._info, services.NOTIFY: self._note}

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


def _publish(options: DriverOptions, api: apis.Api, running: contextlib.ExitStack) -> None:
    """Publish the devices of each driver on each node; remove the slices at a clean end.

    The slices of one instance beside others stay: they are those of its successor.
    """
    publishers = [
        slice_publishing.SlicePublisher(api, driver=name, node=node, devices=options.devices)
        for name, node in itertools.product(options.names, options.nodes)
    ]
    informer = informers.Informer(api, apis.SLICES, name="slices", handlers=publishers, trims=True)
    for publisher in publishers if not options.instance else ():
        running.callback(publisher.remove)
    informer.start()
    running.callback(informer.stop)
    informer.wait_synced(timeout_s=_PUBLISHED_S)
    for publisher in publishers:
        publisher.start()
        running.callback(publisher.stop)
    for publisher in publishers:
        publisher.wait_published(timeout_s=_PUBLISHED_S)


def equal_devices(count: int) -> tuple[Object, ...]:
    return tuple(
        {
            "name": f"device-{index:03d}",
            "attributes": {"model": {"string": "fake"}, "index": {"int": index}},
        }
        for index in range(count)
    )


def read_devices(path: pathlib.Path) -> tuple[Object, ...]:
    """Return the devices of all ResourceSlices of a file, in YAML or JSON.

    Raises ManifestError if it cannot be read, or has other things or no devices.
    """
    slices = reading.read([str(path)], kinds=["ResourceSlice"], of="--devices")
    devices = tuple(device for manifest in slices for device in _devices(manifest))
    if not devices:
        raise errors.ManifestError(f"{path}: expected ResourceSlices with devices, got none")
    return devices


def _devices(manifest: sources.Manifest) -> list[Object]:
    spec = manifest.obj.get("spec")
    found = spec.get("devices") or [] if isinstance(spec, dict) else None
    if not isinstance(found, list) or not all(
        isinstance(item, dict) and isinstance(item.get("name"), str) for item in found
    ):
        raise manifest.error("expected a list of devices with names", field="spec.devices")
    return found
