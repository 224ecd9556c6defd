"""`flake-hunt part …`: one part of the harness alone, against any kubeconfig."""

import dataclasses
import pathlib
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import typer

from harness import errors
from harness.cli import choosing, key_values, options

if TYPE_CHECKING:
    from harness.run.defects import known_defects

part = typer.Typer(
    help="Run one part alone: API server, scheduler, claim controller, kubelet, driver.",
    no_args_is_help=True,
)

KUBECONFIG = options.of(
    "Kubeconfig of the API server.", "--kubeconfig", envvar="KUBECONFIG", default=...
)
DEFECTS = options.of("Switch on a known defect (may be repeated).", "--defect", metavar="NAME")
_CDI_FOLDER = "/var/run/cdi"
"""Where drivers on real nodes write their CDI files."""
_DRIVER = "gpu.flake-hunt.example"


def note(text: str) -> None:
    typer.echo(f"flake-hunt: {text}", err=True)


@part.command()
def apiserver(
    kubeconfig: pathlib.Path = options.of(
        "Write a kubeconfig for kubectl here (TLS, mode 0600).", default=...
    ),
    data_dir: pathlib.Path | None = options.of(
        "Keep every commit, token and certificate here (default: in memory only)."
    ),
    more: list[str] | None = key_values.WORDS,
) -> int:
    """Run the embedded API server until SIGTERM or Ctrl-C."""
    from harness.apiserver.server import process

    given = {"kubeconfig": kubeconfig, "data_dir": data_dir}
    options = key_values.fields(process.ServerOptions, more, **given)
    return process.serve(options, note=note)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SubjectOptions:
    """The options of the parts of the subject."""

    defect: list[str] | None = DEFECTS
    more: list[str] | None = key_values.WORDS

    def of_part(self, part_: "known_defects.Part", **given: Any) -> Any:
        from harness.subject import remedies
        from harness.subject.process import subject_process

        defects = tuple(self.defect or ())
        _require_defects_of(part_, defects)
        options = key_values.fields(
            subject_process.SubjectOptions, self.more, defects=defects, **given
        )
        remedies.CATALOGUE.require_process(options.remedies, part_)
        return options


@part.command()
@choosing.with_groups
def scheduler(
    *,
    kubeconfig: pathlib.Path = KUBECONFIG,
    options: SubjectOptions,
    scheduler_name: str = options.of(
        "Schedule the pods with this schedulerName.", metavar="NAME", default="flake-hunt"
    ),
    verbosity: int = options.of(
        "Log what `explain` reads with klog's verbosity; 0: nothing.",
        "-v",
        min=0,
        max=10,
        default=0,
    ),
) -> int:
    """Run the Python DRA scheduler against any kubeconfig.

    For example with --set release=1.36.2, which lets it do what that release of Kubernetes does.
    """
    from harness.subject.process import subject_process

    return subject_process.run_scheduler(
        options.of_part(
            "scheduler", kubeconfig=kubeconfig, scheduler_name=scheduler_name, verbosity=verbosity
        )
    )


@part.command()
@choosing.with_groups
def claim_controller(*, kubeconfig: pathlib.Path = KUBECONFIG, options: SubjectOptions) -> int:
    """Run the Python ResourceClaim controller against any kubeconfig."""
    from harness.subject.process import subject_process

    return subject_process.run_claim_controller(
        options.of_part("claim-controller", kubeconfig=kubeconfig)
    )


def _require_defects_of(of_part: "known_defects.Part", defects: Collection[str]) -> None:
    """Without defects, the parts that have some are not imported: that takes long."""
    if defects:
        from harness.run.defects import known_defects

        known_defects.require_part(defects, of_part)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _KubeletSettings:
    """The other settings of a kubelet."""

    namespace: str | None = None
    settings: pathlib.Path | None = None
    """JSON: exclusivity, termination_s, prepare, unprepare, conditions."""
    cdi_dir: str = ""
    wait_for_driver: tuple[str, ...] = ()
    preparations: pathlib.Path | None = None
    operations: pathlib.Path | None = None
    changes: pathlib.Path | None = None
    changes_journal: pathlib.Path | None = None
    run_id: str = ""
    seed: int = 0
    ready_file: pathlib.Path | None = None

    def require(self, plugins_registry: str, defects: Collection[str]) -> None:
        """Raise UsageError for what needs drivers behind sockets, or the one in this process."""
        if not plugins_registry and (self.cdi_dir or self.wait_for_driver):
            raise errors.UsageError(
                "expected --plugins-registry with cdi_dir and wait_for_driver: the driver in this "
                "process registers nowhere"
            )
        if plugins_registry and defects:
            from harness.cluster.dra import kubelet_defects

            for name in filter(kubelet_defects.is_of_driver, defects):
                raise errors.UsageError(
                    f"expected a defect of the kubelet with --plugins-registry, got {name!r}, which "
                    "is one of the driver: give it to `flake-hunt part driver`"
                )


@part.command()
def kubelet(
    kubeconfig: pathlib.Path = KUBECONFIG,
    node: list[str] | None = options.of(
        "Act only for this fake node (may be repeated; default: all)."
    ),
    defect: list[str] | None = DEFECTS,
    state: pathlib.Path | None = options.of(
        "Keep checkpoints in this folder (default: in memory)."
    ),
    plugins_registry: str = options.of(
        "Call the DRA drivers that register in this folder, as a real kubelet does; "
        "{node}: one folder a node (default: the test driver in this process).",
        metavar="DIR",
        default="",
    ),
    more: list[str] | None = key_values.WORDS,
) -> int:
    """Run the kubelets of all fake nodes, with DRA drivers, against any kubeconfig."""
    from harness.cluster.dra import kubelet_defects, node_claims
    from harness.cluster.driver import driver_settings
    from harness.cluster.fake_nodes import kubelet_process
    from harness.scenario import pool_changes

    chosen = key_values.fields(_KubeletSettings, more)
    _require_defects_of("kubelet", defect or ())
    chosen.require(plugins_registry, defect or ())
    return kubelet_process.run(
        kubelet_process.KubeletOptions(
            kubeconfig=kubeconfig,
            namespace=chosen.namespace,
            operations=chosen.operations,
            run_id=chosen.run_id,
            plugins_registry=plugins_registry,
            required_drivers=chosen.wait_for_driver,
            note=note,
            only_nodes=tuple(node or ()),
            claims=node_claims.NodeClaimsOptions(
                driver=driver_settings.read(chosen.settings),
                cdi=(chosen.cdi_dir or _CDI_FOLDER) if plugins_registry else "",
                state=state,
                journal=chosen.preparations,
                parts=kubelet_defects.parts(defect or ()),
                run_id=chosen.run_id,
                seed=chosen.seed,
            ),
            changes=driver_settings.decode(chosen.changes, pool_changes.PoolChanges)
            if chosen.changes
            else None,
            changes_journal=chosen.changes_journal,
            ready_file=chosen.ready_file,
        )
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _DriverSettings:
    """The other settings of a driver."""

    plugins_dir: str = "/var/lib/kubelet/plugins"
    """Kubelets are served on DIR/DRIVER/dra.sock."""
    registry_dir: str = "/var/lib/kubelet/plugins_registry"
    """Registers on DIR/DRIVER-reg.sock: a kubelet watches this folder."""
    cdi_dir: str = _CDI_FOLDER
    instance: str = ""
    """uid of this pod, for a rolling update: it is part of the sockets' names, and two instances
    share --state."""
    ready_file: pathlib.Path | None = None


@part.command()
def driver(
    kubeconfig: pathlib.Path = KUBECONFIG,
    state: str = options.of(
        "Remember here what is prepared; it has to survive restarts.", metavar="DIR", default=...
    ),
    node: list[str] = options.of(
        "Serve on this node (may be repeated: for fake nodes).", default=...
    ),
    driver_name: list[str] | None = options.of(
        f"Name of the driver (may be repeated; default: {_DRIVER}).", metavar="NAME"
    ),
    devices: str = options.of(
        "Publish this number of devices of each node, or those of the ResourceSlices in "
        "a file (YAML or JSON).",
        metavar="N|FILE",
        default="",
    ),
    settings: pathlib.Path | None = options.of(
        "JSON: exclusivity, prepare, unprepare (delays, failures, crash_at, block_at, …), "
        "services, device_status; read again when it changes.",
        metavar="FILE",
    ),
    defect: list[str] | None = DEFECTS,
    more: list[str] | None = key_values.WORDS,
) -> int:
    """Run a DRA driver for tests, which serves kubelets on unix sockets and misbehaves on demand.

    It prepares claims as their allocation says, writes CDI files, refuses a device that another
    claim holds, and knows after a restart what it has prepared. SIGTERM ends it: it removes its
    sockets and its ResourceSlices.

    --set changes plugins_dir, registry_dir and cdi_dir, in which {node} stands for the node, as in
    --state; and instance=UID gives each instance sockets of its own in a rolling update.
    """
    from harness.cluster.driver import driver_process, drivers, served_drivers

    chosen = key_values.fields(_DriverSettings, more)
    parts = served_drivers.CORRECT
    if defect:
        from harness.cluster.dra import kubelet_defects

        parts = kubelet_defects.driver_parts(defect)
    return driver_process.run(
        driver_process.DriverOptions(
            kubeconfig=kubeconfig,
            nodes=tuple(dict.fromkeys(node)),
            names=tuple(dict.fromkeys(driver_name or [_DRIVER])),
            plugins=chosen.plugins_dir,
            registry=chosen.registry_dir,
            files=drivers.DriverFiles(cdi=chosen.cdi_dir, state=state),
            devices=driver_process.equal_devices(int(devices or 0))
            if devices.isdecimal() or not devices
            else driver_process.read_devices(pathlib.Path(devices)),
            settings=settings,
            parts=parts,
            instance=chosen.instance,
            ready_file=chosen.ready_file,
        )
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    ready_file: pathlib.Path | None = None


@part.command(hidden=True)
def record(
    kubeconfig: pathlib.Path = KUBECONFIG,
    run_directory: pathlib.Path = options.argument(
        "Its plan.json names the resources to record and the compression.", "RUN_DIR"
    ),
    more: list[str] | None = key_values.WORDS,
) -> int:
    """Record every commit that the API server publishes, in observations.jsonl of a run directory.

    With recording.compression = "zstd" in the scenario it is observations.jsonl.zst, with a zstd
    block for each write; `zstd -dc` prints it.
    """
    from harness.client import recorders

    return recorders.run(
        key_values.fields(
            recorders.RecorderOptions, more, kubeconfig=kubeconfig, run_directory=run_directory
        )
    )


@part.command(hidden=True)
def fault_proxy(
    settings: pathlib.Path = options.argument(
        "JSON: clients (name, kubeconfig, proxied_kubeconfig, port), admin (kubeconfig, port).",
        "FILE",
    ),
    more: list[str] | None = key_values.WORDS,
) -> int:
    """Pass the requests of clients to the API server of any cluster, with faults on demand."""
    from harness.fault_proxy import process

    chosen = key_values.fields(_Ready, more)
    return process.serve(settings, ready_file=chosen.ready_file, note=note)
