"""The driver that is tested, and how."""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

PLACEHOLDERS = (
    *("kubeconfig", "node", "driver", "kubelet_dir", "plugins_dir", "registry_dir"),
    *("cdi_dir", "state_dir", "instance"),
)
"""Placeholders in a command. `instance` is the uid of one instance of a rolling update; it differs
between them."""
_Seconds = Annotated[float, msgspec.Meta(ge=0.1)]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The driver that is tested, and how."""

    command: Sequence[str] = ()
    """The words that start it, with placeholders; none: it runs already."""
    registry: pathlib.Path | None = None
    """Of a driver that runs already: its registration socket, or the folder of it."""
    socket: pathlib.Path | None = None
    """The other socket of such a driver; None: the one that it names."""
    node: str = "node-1"
    driver_name: str = ""
    """Name for {driver}, and of the one to test if several register; empty: the first one."""
    cdi_dir: pathlib.Path | None = None
    """CDI folder of a driver that takes none; it is only read."""
    claim: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """A ResourceClaim whose requests and parameters the claims of the test have; or empty."""
    kubeconfig: pathlib.Path = pathlib.Path()
    """Of the API server whose claims the driver reads; known when the test has started it."""
    plain_kubeconfig: pathlib.Path = pathlib.Path()
    """For processes of the harness."""
    log: pathlib.Path | None = None
    """File for what the driver prints; None: it is removed with the folders."""
    deadline_s: _Seconds = 10.0
    """Seconds for a call of the driver or of the API server; kubelets wait 45."""
    start_s: _Seconds = 20.0
    """Seconds until the driver registers."""
    defect: tuple[str, ...] = ()
    """Known defects of our kubelet, as positive controls of the group kubelet."""
