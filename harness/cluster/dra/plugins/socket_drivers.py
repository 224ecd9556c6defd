"""All drivers behind sockets, of all nodes that one process of kubelets acts for.

After the kubelet's plugin manager: each node has a registry folder, where sockets come, are
replaced and go, and drivers with them. A registration that fails is tried again after a wait that
doubles.
"""

import contextlib
import dataclasses
import functools
import itertools
import os
import pathlib
import stat
from collections.abc import Callable, Collection, Iterator, Sequence

from harness import clocks, concurrency, errors, writing
from harness.client import backoffs
from harness.cluster.dra import claim_infos, driver_calls
from harness.cluster.dra.plugins import socket_plugins
from harness.cluster.kubelet_api import node_folders

LOOK_S = 0.1
"""Seconds between two looks at the registry folders."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 122.0
"""Waits between attempts to register, in seconds: the kubelet's."""
_Made = tuple[int, int, int]
"""Device, inode, and time of the last change in ns, which tell a socket from one before it."""
Note = Callable[[str], None]
"""Is told, in one line, which drivers come and go."""


@dataclasses.dataclass(slots=True, eq=False)
class _Socket:
    """A socket in the folder, and its driver."""

    path: pathlib.Path
    made: _Made
    plugin: socket_plugins.SocketPlugin | None = None
    problem: str = ""
    """Why it is not registered, as far as that is known."""
    is_gone: bool = False
    is_busy: bool = False
    """A thread registers it."""
    next_s: float = 0.0
    """Time of the next attempt, by the monotonic clock."""
    backoff: backoffs.Backoff = dataclasses.field(
        default_factory=lambda: backoffs.Backoff(first_s=FIRST_WAIT_S, max_s=LONGEST_WAIT_S)
    )


class Registry:
    """The drivers of one node. Thread-safe."""

    def __init__(self, folder: pathlib.Path, *, note: Note) -> None:
        """Make the folder if it is not there.

        Raises StorageError or UnwritableError if that fails.
        """
        with writing.explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._note = folder, note
        self._guard = concurrency.lock("kubelet.registry")
        self._sockets: dict[pathlib.Path, _Socket] = {}
        self._plugins: dict[str, list[socket_plugins.SocketPlugin]] = {}
        """Driver -> its instances, in the order in which they were registered."""

    def find(self, driver: str) -> socket_plugins.SocketPlugin | None:
        """Return the newest instance of a driver that answers, or else the newest; None: none."""
        with self._guard:
            found = list(self._plugins.get(driver, ()))
        if len(found) > 1:
            found.sort(key=socket_plugins.SocketPlugin.is_served)
        return found[-1] if found else None

    def problems(self) -> list[str]:
        """Return why sockets are not registered, one line for each."""
        with self._guard:
            found = sorted(self._sockets.values(), key=lambda item: item.path)
        return [f"{item.path}: {item.problem}" for item in found if item.problem]

    def look(self) -> None:
        """Look at the folder once: unregister what is gone, and register what is new."""
        made = dict(self._found())
        with self._guard:
            gone = [one for path, one in self._sockets.items() if made.get(path) != one.made]
            for item in gone:
                item.is_gone = True
                del self._sockets[item.path]
        for item in gone:
            self._unregister(item)
        for item in self._due(made):
            concurrency.spawn("register-driver", functools.partial(self._register, item))

    def close(self) -> None:
        """End the calls of all drivers; they stay registered with a next kubelet."""
        with self._guard:
            plugins = [plugin for found in self._plugins.values() for plugin in found]
        for plugin in plugins:
            plugin.close()

    def _due(self, made: dict[pathlib.Path, _Made]) -> list[_Socket]:
        now_s = concurrency.monotonic_s()
        with self._guard:
            for path, one in made.items():
                self._sockets.setdefault(path, _Socket(path, one))
            due = [
                item
                for item in self._sockets.values()
                if item.plugin is None and not item.is_busy and item.next_s <= now_s
            ]
            for item in due:
                item.is_busy = True
        return due

    def _register(self, item: _Socket) -> None:
        try:
            socket_plugins.register(item.path, lambda plugin: self._add(item, plugin))
            item.problem = ""
        except socket_plugins.RefusedError as error:
            self._unregister(item)
            if not item.is_gone and item.problem != str(error):
                self._note(f"driver at {item.path} is not registered: {error}")
            item.problem = str(error)
            item.next_s = concurrency.monotonic_s() + item.backoff.next_s()
        finally:
            item.is_busy = False

    def _add(self, item: _Socket, plugin: socket_plugins.SocketPlugin) -> None:
        name, endpoint = plugin.driver, plugin.endpoint
        with self._guard:
            if item.is_gone:
                raise socket_plugins.RefusedError("the socket is gone")
            instances = self._plugins.setdefault(name, [])
            if any(known.endpoint == endpoint for known in instances):
                raise socket_plugins.RefusedError(
                    "plugin registration failed with err: endpoint "
                    f"{endpoint} already registered for DRA driver plugin {name}"
                )
            item.plugin = plugin
            instances.append(plugin)
        self._note(f"driver {name} is registered, by {plugin.service.name} at {item.path}")

    def _unregister(self, item: _Socket) -> None:
        with self._guard:
            plugin, item.plugin = item.plugin, None
            if plugin is not None:
                self._plugins[plugin.driver].remove(plugin)
        if plugin is not None:
            plugin.close()
            self._note(f"driver {plugin.driver} at {item.path} is not registered any more")

    def _found(self) -> Iterator[tuple[pathlib.Path, _Made]]:
        """Yield the sockets in the folder and in folders of it; names with a dot do not count."""
        for folder, folders, names in os.walk(self._folder):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                path = pathlib.Path(folder, name)
                with contextlib.suppress(OSError):
                    found = path.stat()
                    if stat.S_ISSOCK(found.st_mode) and not name.startswith("."):
                        yield path, (found.st_dev, found.st_ino, found.st_ctime_ns)


class SocketDrivers:
    """Finds drivers in registry folders, until it is stopped. Thread-safe."""

    keeps_endings = True

    def __init__(self, registry: str, *, note: Note) -> None:
        """`registry` is the folder of all nodes, or one for each node (see `node_folders`)."""
        self._template, self._note = registry, note
        self._guard = concurrency.lock("kubelet.registries")
        self._registries: dict[str, Registry] = {}
        """By the path of the folder."""
        self._stopped = concurrency.Event("kubelet.stopped")

    def start(self, nodes: Sequence[str]) -> None:
        """Begin to look for the drivers of these nodes; those of others are looked for if asked.

        Raises StorageError or UnwritableError if a folder can be neither read nor made.
        """
        for node in nodes:
            self._registry(node)
        concurrency.spawn("kubelet-plugins", self._run)

    def wait_registered(
        self, drivers: Collection[str], nodes: Sequence[str], *, timeout_s: float
    ) -> None:
        """Wait until drivers are registered on all nodes.

        Raises ClusterError if one is not in time.
        """

        def missing() -> list[tuple[str, str]]:
            every = itertools.product(drivers, nodes)
            return [one for one in every if self._registry(one[1]).find(one[0]) is None]

        try:
            clocks.wait_until(lambda: not missing(), timeout_s=timeout_s, why="drivers")
        except errors.WaitTimeoutError:
            driver, node = missing()[0]
            folder = node_folders.of_node(self._template, node)
            problems = [*self._registry(node).problems(), f"no such socket appeared in {folder}"]
            raise errors.ClusterError(
                f"expected driver {driver} to register on node {node} within {timeout_s:g} s "
                f"({problems[0]}): see the driver's log"
            ) from None

    def plugin(self, driver: str, node: str) -> driver_calls.Plugin:
        found = self._registry(node).find(driver)
        if found is None:
            raise driver_calls.not_registered(driver)
        return found

    def is_prepared(self, info: claim_infos.ClaimInfo, node: str) -> bool:
        del node
        return not info.is_ending

    def stop(self) -> None:
        self._stopped.set()
        with self._guard:
            found = list(self._registries.values())
        for registry in found:
            registry.close()

    def _registry(self, node: str) -> Registry:
        folder = node_folders.of_node(self._template, node)
        with self._guard:
            found = self._registries.get(str(folder))
            if found is None:
                found = Registry(folder, note=self._note)
                self._registries[str(folder)] = found
            return found

    def _run(self) -> None:
        while not self._stopped.wait(LOOK_S):
            with self._guard:
                found = list(self._registries.values())
            for registry in found:
                registry.look()
