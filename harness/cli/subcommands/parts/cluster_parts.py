"""Stand-alone parts of a cluster: API server, scheduler and claim controller."""

import dataclasses
import pathlib
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from harness import errors
from harness.cli import choosing

if TYPE_CHECKING:
    from collections.abc import Collection

    from harness.run.defects import known_defects

Kubeconfig = Annotated[
    pathlib.Path,
    typer.Option("--kubeconfig", help="Kubeconfig of the API server.", envvar="KUBECONFIG"),
]
ReadyFile = Annotated[
    pathlib.Path | None,
    typer.Option("--ready-file", help="Create this file when ready to work.", hidden=True),
]
Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", help="Watch only this namespace (default: all).")
]
Defects = Annotated[
    list[str] | None,
    typer.Option("--defect", help="Switch on a known defect (may be repeated)."),
]
Remedies = Annotated[
    list[str] | None,
    typer.Option("--remedy", help="Use a remedy against a known hazard (may be repeated)."),
]
Verbosity = Annotated[
    int,
    typer.Option("-v", min=0, max=10, help="Log on stderr with klog's verbosity; 0: nothing."),
]
LoggingFormat = Annotated[
    Literal["text", "json"], typer.Option(help="Form of the log lines: klog's text, or JSON.")
]
Release = Annotated[
    str | None,
    typer.Option(
        "--as",
        help="Do what this release of Kubernetes does: 1.34.2, 1.34.9, 1.35.6, 1.36.2, 1.36.3 or 1.37.",
    ),
]
Settings = Annotated[
    pathlib.Path | None,
    typer.Option("--settings", help="JSON: seed, binders, times of back-offs, pauses."),
]
Steps = Annotated[
    pathlib.Path | None, typer.Option("--steps", help="Record every named step in this file.")
]
Operations = Annotated[
    pathlib.Path | None,
    typer.Option("--operations", help="Journal every write in this file.", hidden=True),
]


def apiserver(
    kubeconfig: Annotated[
        pathlib.Path,
        typer.Option("--kubeconfig", help="Write a kubeconfig for kubectl here (TLS, mode 0600)."),
    ],
    plain_kubeconfig: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--plain-kubeconfig", help="Write a kubeconfig for plain HTTP on loopback here."
        ),
    ] = None,
    read_only_kubeconfig: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--read-only-kubeconfig", help="Write a kubeconfig with read-only rights here (TLS)."
        ),
    ] = None,
    *,
    host: Annotated[
        str, typer.Option(help="Address to listen on; loopback unless --i-know-it-is-open.")
    ] = "127.0.0.1",
    i_know_it_is_open: Annotated[
        bool,
        typer.Option("--i-know-it-is-open", help="Accept other hosts at --host (TLS only)."),
    ] = False,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, metavar="N", help="Port for plain HTTP; 0 takes a free one."
        ),
    ] = 0,
    tls_port: Annotated[
        int,
        typer.Option(min=0, max=65535, metavar="N", help="Port for TLS; 0 takes a free one."),
    ] = 0,
    watch_history: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Commits of each resource that a watch can resume from."
        ),
    ] = 100_000,
    data_dir: Annotated[
        pathlib.Path | None,
        typer.Option(
            help="Keep every commit, token and certificate here (default: in memory only)."
        ),
    ] = None,
    fsync: Annotated[
        Literal["always", "interval", "never"] | None,
        typer.Option(
            metavar="WHEN",
            help="With --data-dir: what a power failure can lose: nothing (always), about one second (interval, the "
            "default), more (never). A kill loses nothing.",
        ),
    ] = None,
    log_bytes_max: Annotated[int, typer.Option(min=1, hidden=True)] = 64 * 1024 * 1024,
    audit_log: Annotated[
        pathlib.Path | None,
        typer.Option(help="Append an audit.k8s.io/v1 event (RequestResponse) for every request."),
    ] = None,
    audit_writes_of: Annotated[
        list[str] | None,
        typer.Option(
            help="With --audit-log: log only successful writes of this resource, e.g. resourceclaims "
            "(may be repeated)."
        ),
    ] = None,
    runtime_config: Annotated[
        list[str] | None,
        typer.Option(
            help="GROUP/VERSION=true: serve an API version that is off by default (may be repeated)."
        ),
    ] = None,
    feature_gates: Annotated[
        str,
        typer.Option(help="NAME=true: switch a feature gate on, such as DRAListTypeAttributes."),
    ] = "",
    no_empty_namespaces: Annotated[
        bool,
        typer.Option(
            "--no-empty-namespaces",
            help="Leave the objects of a deleted namespace to another controller.",
        ),
    ] = False,
    faults: Annotated[
        bool, typer.Option("--faults", help="Serve the API of faults, below /flake-hunt/.")
    ] = False,
    connections_max: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum connections; further ones get 503.")
    ] = 4096,
    watches_max: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum watches; further ones get 429.")
    ] = 2048,
    roles_late_s: Annotated[float, typer.Option(min=0, hidden=True)] = 0.0,
    ready_file: ReadyFile = None,
) -> int:
    """Run the embedded API server until SIGTERM or Ctrl-C."""
    from harness.apiserver.persistence import commit_log, store_journals
    from harness.apiserver.server import process, server_limits

    _require_beside(audit_log, "--audit-log FILE", audit_writes_of, "--audit-writes-of")
    _require_beside(data_dir, "--data-dir FOLDER", fsync, "--fsync")
    return process.serve(
        process.ServerOptions(
            kubeconfig=kubeconfig,
            plain_kubeconfig=plain_kubeconfig,
            read_only_kubeconfig=read_only_kubeconfig,
            host=host,
            is_open=i_know_it_is_open,
            port=port,
            tls_port=tls_port,
            watch_history=watch_history,
            data_dir=data_dir,
            journal=store_journals.JournalOptions(
                sync=commit_log.Sync(fsync or "interval"), log_bytes_max=log_bytes_max
            ),
            audit_log=audit_log,
            audit_writes_of=tuple(audit_writes_of or ()),
            runtime_config=tuple(runtime_config or ()),
            empties_namespaces=not no_empty_namespaces,
            feature_gates=feature_gates,
            serves_faults=faults,
            limits=server_limits.Limits(
                connections_max=connections_max, watches_max=watches_max, roles_late_s=roles_late_s
            ),
            ready_file=ready_file,
        ),
        note=note,
    )


def _require_beside(
    path: pathlib.Path | None, option: str, dependent: object, dependent_option: str
) -> None:
    """Reject an option that has no effect without the file of another one."""
    if dependent and path is None:
        raise errors.UsageError(
            f"expected {option} with {dependent_option}, got none: add it, or leave "
            f"{dependent_option} out"
        )


def note(text: str) -> None:
    """Print a line about what the part does."""
    typer.echo(f"flake-hunt: {text}", err=True)


def require_defects_of(part: "known_defects.Part", defects: "Collection[str]") -> None:
    """Raise UsageError for a name that is not a defect of this part.

    Without any, the parts that have defects are not imported: it would slow down every start.
    """
    if defects:
        from harness.run.defects import known_defects

        known_defects.require_part(defects, part)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SubjectPart:
    """The options that the scheduler and the claim controller share."""

    kubeconfig: Kubeconfig
    namespace: Namespace = None
    defect: Defects = None
    remedy: Remedies = None
    release: Release = None
    verbosity: Verbosity = 0
    logging_format: LoggingFormat = "text"
    settings: Settings = None
    steps: Steps = None
    operations: Operations = None
    ready_file: ReadyFile = None

    def settled(self, part: "known_defects.Part") -> dict[str, Any]:
        """Return them as fields of `SubjectOptions`.

        Raises UsageError for a defect or a remedy of another part.
        """
        from harness.subject import remedies

        require_defects_of(part, self.defect or ())
        remedies.CATALOGUE.require_process(self.remedy or (), part)
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        defects, remedies_of_part = given.pop("defect"), given.pop("remedy")
        return given | {"defects": tuple(defects or ()), "remedies": tuple(remedies_of_part or ())}


@choosing.with_groups
def scheduler(
    of_part: SubjectPart,
    scheduler_name: Annotated[
        str, typer.Option(help="Schedule the pods with this schedulerName.")
    ] = "flake-hunt",
    *,
    leader_elect: Annotated[
        bool,
        typer.Option(
            "--leader-elect", help="Schedule only while holding the Lease named like the scheduler."
        ),
    ] = False,
    reserve_by: Annotated[
        Literal["update", "patch"] | None,
        typer.Option(
            metavar="VERB",
            help="How to reserve a claim that has an allocation for one more pod (default: update).",
        ),
    ] = None,
    filter_timeout: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="TIME",
            help="Seconds for the search for devices on one node; 0: no limit (default: 10).",
        ),
    ] = None,
    binding_timeout: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="TIME",
            help="Seconds in which allocated devices have to be ready (default: 600).",
        ),
    ] = None,
) -> int:
    """Run the Python DRA scheduler against any kubeconfig."""
    from harness.subject.process import subject_process

    return subject_process.run_scheduler(
        subject_process.SubjectOptions(
            **of_part.settled("scheduler"),
            scheduler_name=scheduler_name,
            leader_elect=leader_elect,
            reserve_by=reserve_by,
            filter_timeout_s=filter_timeout,
            binding_timeout_s=binding_timeout,
        )
    )


@choosing.with_groups
def claim_controller(
    of_part: SubjectPart,
    workers: Annotated[
        int, typer.Option(min=1, max=1000, help="Number of keys worked on at once.")
    ] = 4,
    feature_gates: Annotated[
        str,
        typer.Option(
            help="NAME=false: switch a feature gate off, DRAAdminAccess or DRAPrioritizedList."
        ),
    ] = "",
) -> int:
    """Run the Python ResourceClaim controller against any kubeconfig."""
    from harness.subject.process import subject_process

    return subject_process.run_claim_controller(
        subject_process.SubjectOptions(
            **of_part.settled("claim-controller"),
            workers=workers,
            feature_gates=feature_gates,
        )
    )
