"""Options of several commands: cluster, subject, seed, and others."""

import dataclasses
import functools
import inspect
import math
import os
import pathlib
import re
import typing
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from harness import errors

if TYPE_CHECKING:
    from collections.abc import Collection

    from harness.extensions import entry_points
    from harness.scenario import profiles

PROCESSES_PER_CORE = 8
"""Limit without --force: more processes gain nothing, and many more overload the machine."""
REPEAT_MAX = 10_000
"""Limit because all runs of a campaign are planned before the first one starts."""
CORES_PER_KIND = 4
"""Cores for one run on kind, which starts a whole Kubernetes."""


def scenario_names() -> list[str]:
    """Return the names of the scenarios, for shell completion."""
    from harness.scenario import loading

    return [*loading.shipped_names(), *_plugins("scenarios", loading.every_name())]


def profile_names() -> list[str]:
    """Return the names of the cluster profiles, for shell completion."""
    from harness.scenario import profiles

    return [*profiles.shipped_names(), *_plugins("clusters", profiles.shipped_names())]


def _defect_names() -> list[str]:
    from harness.run.defects import known_defects

    return [*known_defects.names(), *_plugins("defects", known_defects.names())]


def _plugins(kind: "entry_points.Kind", shipped: "Collection[str]") -> list[str]:
    """Return the names of plug-ins; none if they cannot be found, in silence."""
    from harness.extensions import discovery

    try:
        return discovery.usable(kind, shipped=shipped)
    except errors.PluginError:
        return []


def remedy_names() -> list[str]:
    """Return the names of the remedies, for shell completion."""
    from harness.subject import remedies

    return list(remedies.CATALOGUE.names())


def release_names() -> list[str]:
    """Return the releases that the Python subject can be like, for shell completion."""
    from harness.subject import releases

    return list(releases.names())


def require_number(value: float | None) -> float | None:
    """Reject `nan` and `inf`, which pass every range check."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"expected a finite number, got {value}")
    return value


_UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_TIME = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)(s|m|h|)")


def seconds(text: str | float) -> float:
    """Parse a time: a number of seconds, or one with the unit s, m or h."""
    found = _TIME.fullmatch(str(text))
    if found is None:
        raise errors.UsageError(
            f"--time: expected a number of seconds, or a time as 90s, 30m or 2h, got {text!r}"
        )
    return float(found[1]) * _UNITS_S[found[2]]


def of_cluster(*names: str, **settings: Any) -> Any:
    """Return an option in the panel `Cluster` of `--help`."""
    return typer.Option(*names, rich_help_panel="Cluster", **settings)


Cluster = Annotated[
    str,
    of_cluster(
        "--cluster",
        metavar="PROFILE",
        autocompletion=profile_names,
        help="embedded, local, kind, kubeconfig, another shipped cluster profile, or a profile's file.",
    ),
]
ClusterSet = Annotated[
    list[str] | None,
    of_cluster(
        "--cluster-set",
        metavar="KEY=VALUE",
        help="Change the profile: --cluster-set storage=disk (may be repeated).",
    ),
]
Subject = Annotated[
    list[str] | None,
    of_cluster(
        "--subject",
        metavar="SUBJECT",
        help="Test this scheduler instead of the scenario's (may be repeated): python, "
        "kube-scheduler (or =PATH, =VERSION), cluster (or =NAME), external=NAME, command='PROGRAM {kubeconfig} {scheduler_name} ...' (run in the current folder).",
    ),
]
ClaimController = Annotated[
    str,
    of_cluster(
        "--claim-controller",
        metavar="CONTROLLER",
        help="Use this ResourceClaim controller instead of the scenario's: python, "
        "kube-controller-manager (or =PATH, =VERSION; only its resourceclaim-controller runs), cluster, or external "
        "(one that is already running).",
    ),
]
Carrier = Literal["auto", "server", "proxy"]
FaultCarrier = Annotated[
    Carrier,
    of_cluster(
        "--fault-carrier",
        help="Where faults of API calls and watches are injected: in the embedded API server (server), or in a "
        "proxy before any API server; auto: server on an embedded cluster, else proxy.",
    ),
]
Binaries = Annotated[
    pathlib.Path | None,
    of_cluster(
        help="Folder of etcd, kube-apiserver and kube-scheduler (default: KUBE_BINARIES, KUBEBUILDER_ASSETS, then PATH)."
    ),
]
Kubeconfig = Annotated[
    pathlib.Path | None,
    of_cluster(
        help="With --cluster kubeconfig: its file (default: KUBECONFIG, then ~/.kube/config)."
    ),
]
Context = Annotated[
    str | None,
    of_cluster(help="With --cluster kubeconfig: its context (default: the current one)."),
]
IKnow = Annotated[
    bool,
    of_cluster(
        "--i-know-this-cluster",
        help="With --cluster kubeconfig: use a cluster that is not marked as a test cluster.",
    ),
]
Defects = Annotated[
    list[str] | None,
    typer.Option(
        "--defect",
        autocompletion=_defect_names,
        help="Switch on a known defect of our scheduler, claim controller or kubelets (may be repeated).",
    ),
]
Remedies = Annotated[
    list[str] | None,
    typer.Option(
        "--remedy",
        autocompletion=remedy_names,
        help="Give the Python scheduler or claim controller a remedy against a hazard of today's Kubernetes (may be repeated).",
    ),
]
Thresholds = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="FIGURE<=NUMBER",
        help="Want this of the figures, in place of the scenario's own threshold: 'allocations_per_s>=50', "
        "'stuck<=0'; of a whole campaign campaign:FIGURE<=NUMBER (may be repeated).",
    ),
]
Release = Annotated[
    str,
    typer.Option(
        "--as",
        autocompletion=release_names,
        help="Let the Python subject do what this release of Kubernetes does: 1.34.2, 1.34.9, 1.35.6, 1.36.2, 1.36.3 or 1.37.",
    ),
]
Seed = Annotated[int | None, typer.Option(help="Seed of all random numbers; printed first.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of concurrent runs (default: on the embedded cluster three for every two cores, as a run waits a third "
        f"of its time; on kind one per {CORES_PER_KIND} cores; else one per core).",
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help=f"Allow more than {PROCESSES_PER_CORE} processes per core."),
]
Reports = Annotated[pathlib.Path, typer.Option("--reports", help="Folder for the run directories.")]

Locustfile = Annotated[
    str,
    typer.Option(
        "--locustfile",
        metavar="FILE",
        help="Locustfile, or name of a traffic plug-in, with other users for scenarios of the profile churn.",
    ),
]

Summary = Annotated[
    pathlib.Path | None,
    typer.Option(
        "--summary", help="Append a summary in Markdown to this file ($GITHUB_STEP_SUMMARY)."
    ),
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProfileOptions:
    """The options that choose a cluster profile."""

    cluster: Cluster = "embedded"
    cluster_set: ClusterSet = None
    binaries: Binaries = None
    kubeconfig: Kubeconfig = None
    context: Context = None
    i_know_this_cluster: IKnow = False

    def profile(self, more: Sequence[str] = ()) -> "profiles.Profile":
        """Load the profile that the options select; `more` are further changes, as key=value.

        Raises ScenarioError if it is missing or invalid, and UsageError for an option of another
        kind of cluster.
        """
        import json

        from harness.scenario import profiles

        provider = profiles.load(self.cluster).provider
        self._require_kubeconfig(provider)
        chosen = [*(self.cluster_set or ()), *more]
        if self.binaries is not None and provider == "local":
            chosen.append(f"binaries={json.dumps(folder(self.binaries))}")
        if self.kubeconfig is not None:
            chosen.append(f"kubeconfig={json.dumps(str(self.kubeconfig.resolve()))}")
        if self.context is not None:
            chosen.append(f"context={json.dumps(self.context)}")
        if self.i_know_this_cluster:
            chosen.append("i_know_this_cluster=true")
        return profiles.load(self.cluster, overrides=chosen)

    def _require_kubeconfig(self, provider: str) -> None:
        """Raise UsageError for options that have no effect on this kind of cluster."""
        of_kubeconfig = {
            "--kubeconfig": self.kubeconfig is not None,
            "--context": self.context is not None,
            "--i-know-this-cluster": self.i_know_this_cluster,
        }
        given = [option for option, is_given in of_kubeconfig.items() if is_given]
        if given and provider != "kubeconfig":
            raise errors.UsageError(
                f"expected {' and '.join(given)} with --cluster kubeconfig, got --cluster {self.cluster}: "
                f"add --cluster kubeconfig, or leave {'it' if len(given) == 1 else 'them'} out"
            )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlaceOptions(ProfileOptions):
    """The options about the cluster of runs, and what works on it beside the subject."""

    claim_controller: ClaimController = ""
    fault_carrier: FaultCarrier = "auto"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions(PlaceOptions):
    """The options about the cluster of runs, and the subject on it."""

    subject: Subject = None


def with_groups(command: Callable[..., int]) -> Callable[..., int]:
    """Return a command of Typer whose parameters that are dataclasses become their fields.

    So several commands share a group of options that is declared once.
    """
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    hints = typing.get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        group: Any = hints[name]
        if hasattr(group, "__dataclass_fields__"):
            groups[name] = group
            parameters += inspect.signature(group).parameters.values()
            hints |= typing.get_type_hints(group, include_extras=True)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def expanded(**given: Any) -> int:
        for name, group in groups.items():
            fields = [field.name for field in dataclasses.fields(group)]
            given[name] = group(**{field: given.pop(field) for field in fields})
        return command(**given)

    expanded.__annotations__ = {each.name: hints[each.name] for each in parameters}
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return expanded


def folder(binaries: pathlib.Path | None) -> str:
    """Return the folder of the binaries for the plan; empty if none was given."""
    return "" if binaries is None else str(binaries.resolve())


def jobs(
    asked: int | None,
    chosen: "profiles.Profile",
    *,
    is_forced: bool,
    leaves_room: bool = False,
) -> int:
    """Return the number of concurrent runs: as asked, or one that suits the machine.

    `leaves_room`: at most one for each core if the machine is busy: runs that starve prove nothing.
    Raises UsageError if it exceeds PROCESSES_PER_CORE, unless forced.
    """
    cores = os.cpu_count() or 1
    if asked is not None:
        require_bearable("--jobs", asked, is_forced=is_forced)
    match chosen.provider:
        case "kind":
            suitable = max(1, cores // CORES_PER_KIND)
        case "embedded":
            suitable = cores + cores // 2
        case _:
            suitable = cores
    is_busy = leaves_room and os.getloadavg()[0] > cores / 2
    return asked or (min(suitable, cores) if is_busy else suitable)


def require_bearable(what: str, count: int, *, is_forced: bool) -> None:
    """Reject more than PROCESSES_PER_CORE processes for each core, unless forced.

    Raises UsageError, which names `what`.
    """
    cores = os.cpu_count() or 1
    most = PROCESSES_PER_CORE * cores
    if count > most and not is_forced:
        raise errors.UsageError(
            f"expected {what} to be at most {most} on this machine ({PROCESSES_PER_CORE} per core), got {count}: "
            "use fewer, or add --force"
        )
