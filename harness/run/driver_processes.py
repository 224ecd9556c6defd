"""Starts the processes of a run's DRA driver, with short folders for their sockets."""

import pathlib
import shutil
import tempfile
from collections.abc import Sequence

from harness import processes, writing
from harness.cluster.kubelet_api import boot_ids, node_folders
from harness.history import directories
from harness.run import supervising
from harness.run.programs import driver_commands, scheduler_commands

Words = list[str | pathlib.Path]
NOT_REGISTERED = "to register on node"
"""Words of a kubelet that ends because a driver is not registered in time."""


class DriverProcesses:
    """The processes of the driver, and the folders by which kubelets and they find each other."""

    def __init__(
        self,
        chosen: driver_commands.ChosenDriver,
        places: Sequence[driver_commands.Place],
        *,
        directory: directories.RunDirectory,
        supervisor: supervising.Supervisor,
    ) -> None:
        """`places`: what each process serves; none is started yet."""
        self._chosen, self._supervisor = chosen, supervisor
        self._places = {place.process: place for place in places}
        self._state = directory.kubelet_state(driver_commands.PROCESS).resolve()
        self._sockets: pathlib.Path | None = None
        """Folder of the sockets, once there is one."""

    @property
    def names(self) -> list[str]:
        return list(self._places)

    @property
    def that_report(self) -> list[str]:
        """The names of those that say when they are ready."""
        return self.names if self._chosen.is_ours else []

    def alone_on(self, node: str) -> list[str]:
        return [name for name, place in self._places.items() if place.nodes == (node,)]

    def cdi_folder(self, node: str) -> pathlib.Path | None:
        """Return the folder of a node's CDI files; None: no process of the run writes any."""
        if not self._places:
            return None
        return node_folders.of_node(self._folders()["cdi_dir"], node)

    def kubelet_options(self) -> Words:
        """Return the options by which kubelets find the drivers; none if they are in process."""
        if self._chosen.is_in_process:
            return []
        folders = self._folders()
        cdi = processes.changed(cdi_dir=folders["cdi_dir"])
        return ["--plugins-registry", folders["registry_dir"], *cdi]

    def start(self, name: str, *, first: str, options: Words, kubeconfig: pathlib.Path) -> None:
        """Start a process that was first named `first`; only our own program gets `options`."""
        place = self._places[first]
        if self._chosen.is_ours:
            nodes = [word for node in place.nodes for word in ("--node", node)]
            served = [word for driver in place.drivers for word in ("--driver-name", driver)]
            folders = self._folders()
            own: Words = ["driver", "--kubeconfig", kubeconfig, *nodes, *served, *options]
            own += ["--state", folders.pop("state_dir"), *processes.changed(**folders)]
            self._supervisor.start_part(name, *own)
            return
        boot_id = self._boot_id(place)
        values = {"kubeconfig": str(kubeconfig), **self._values(place)}
        argv = scheduler_commands.filled(self._chosen.command, values)
        self._supervisor.start_foreign(
            name,
            boot_ids.seen_by(argv, boot_id) if boot_id and shutil.which(argv[0]) else argv,
            env={"KUBECONFIG": str(kubeconfig)},
            program=argv[0],
        )

    def remove_sockets(self) -> None:
        if self._sockets is not None:
            shutil.rmtree(self._sockets, ignore_errors=True)

    def _folders(self) -> dict[str, str]:
        if self._sockets is None:
            self._sockets = pathlib.Path(tempfile.mkdtemp(prefix="fh-"))
        return {
            "plugins_dir": f"{self._sockets}/{node_folders.NODE}/p",
            "registry_dir": f"{self._sockets}/{node_folders.NODE}/r",
            "cdi_dir": f"{self._state}/cdi/{node_folders.NODE}",
            "state_dir": f"{self._state}/state/{node_folders.NODE}",
        }

    def _boot_id(self, place: driver_commands.Place) -> pathlib.Path | None:
        """A node without a CDI folder has just booted, and gets a new one."""
        if len(place.nodes) > 1:
            return None
        node = place.nodes[0]
        path = _made(f"{self._state}/boot_ids", node) / node
        cdi = self.cdi_folder(node)
        if cdi is None or not cdi.exists():
            boot_ids.renew(path)
        return path

    def _values(self, place: driver_commands.Place) -> dict[str, str]:
        """Return what placeholders stand for; folders of a single node are made."""
        folders, node = self._folders(), place.nodes[0]
        if len(place.nodes) == 1:
            folders = {key: str(_made(text, node)) for key, text in folders.items()}
        return {"node": node, "driver": place.drivers[0], **folders}


def _made(template: str, node: str) -> pathlib.Path:
    folder = node_folders.of_node(template, node)
    with writing.explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder
