"""The driver that is tested, and how."""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

PLACEHOLDERS = (
    *("kubeconfig", "node", "driver", "kubelet_dir", "plugins_dir", "registry_dir"),
    *("cdi_dir", "state_dir", "instance"),
)
"""Placeholders in a command. `instance` is the uid of one instance of a rolling update; it differs
between them."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The driver that is tested, and how."""

    command: Sequence[str] = ()
    """The words that start it, with placeholders; none: it runs already."""
    registry: pathlib.Path | None = None
    """Of a driver that runs already: its registration socket, or the folder of it."""
    socket: pathlib.Path | None = None
    """The other socket of such a driver, if GetInfo does not name it as this machine sees it."""
    node: str = "node-1"
    driver_name: str = ""
    """The driver to test if several register; it fills {driver}, too. Empty: the first one."""
    cdi_folder: pathlib.Path | None = None
    """The CDI folder of a driver that takes none."""
    claim: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """A ResourceClaim whose requests and parameters the claims of the test have; or empty."""
    kubeconfig: pathlib.Path = pathlib.Path()
    """Of the API server whose claims the driver reads; known when the test has started it."""
    plain_kubeconfig: pathlib.Path = pathlib.Path()
    """For processes of the harness."""
    kubelet_defects: Sequence[str] = ()
    """Known defects of the kubelet, for positive controls."""
    log: pathlib.Path | None = None
    """File for what the driver prints; None: it is removed with the folders."""
    call_s: float
    """Time limit of a call of the driver or of the API server, in seconds."""
    start_s: float
    """Time limit of a start of the driver, until it has registered."""
