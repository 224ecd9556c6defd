"""Options of several commands: cluster, subject, seed, and others."""

import dataclasses
import functools
import inspect
import json
import math
import os
import pathlib
import re
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from harness import errors
from harness.cli import options

if TYPE_CHECKING:
    from collections.abc import Collection

    from harness.extensions import entry_points
    from harness.history import plans
    from harness.scenario import loading, profiles

PROCESSES_PER_CORE = 8
"""Limit: more processes gain nothing, and many more overload the machine."""
REPEAT_MAX = 10_000
"""Limit because all runs of a campaign are planned before the first one starts."""
CORES_PER_KIND = 4
"""Cores for one run on kind, which starts a whole Kubernetes."""


def scenario_names() -> list[str]:
    from harness.scenario import loading

    return [*loading.SHELF.names(), *_plugins("scenarios", loading.every_name())]


def profile_names() -> list[str]:
    from harness.scenario import profiles

    return [*profiles.SHELF.names(), *_plugins("clusters", profiles.SHELF.names())]


def _defect_names() -> list[str]:
    from harness.run.defects import known_defects

    return [*known_defects.names(), *_plugins("defects", known_defects.names())]


def _plugins(kind: "entry_points.Kind", shipped: "Collection[str]") -> list[str]:
    from harness.extensions import discovery

    try:
        return discovery.usable(kind, shipped=shipped)
    except errors.PluginError:
        return []


def remedy_names() -> list[str]:
    from harness.subject import remedies

    return list(remedies.CATALOGUE.names())


def release_names() -> list[str]:
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
    found = _TIME.fullmatch(str(text))
    if found is None:
        raise errors.UsageError(
            f"--time: expected a number of seconds, or a time as 90s, 30m or 2h, got {text!r}"
        )
    return float(found[1]) * _UNITS_S[found[2]]


DEFECTS = options.of(
    "Switch on a known defect of our scheduler, claim controller or kubelets (may be repeated).",
    "--defect",
    autocompletion=_defect_names,
)
REMEDIES = options.more(
    "Give the Python scheduler or claim controller a remedy against a hazard of today's Kubernetes (may be repeated).",
    "--remedy",
    autocompletion=remedy_names,
)
THRESHOLDS = options.more(
    "Want this of the figures, in place of the scenario's own threshold: 'allocations_per_s>=50', "
    "'stuck<=0'; of a whole campaign campaign:FIGURE<=NUMBER (may be repeated).",
    "--threshold",
    metavar="FIGURE<=NUMBER",
)
RELEASE = options.more(
    "Let the Python subject do what this release of Kubernetes does: 1.34.2 or 1.36.2.",
    "--as",
    autocompletion=release_names,
    default="",
)
SEED = options.more("Seed of all random numbers; printed first.")
JOBS = options.of(
    "Number of concurrent runs (default: on the embedded cluster three for every two cores, as a run waits a third "
    f"of its time; on kind one per {CORES_PER_KIND} cores; else one per core).",
    min=1,
)
REPORTS = options.of(
    "Folder for the run directories.", "--reports", default=pathlib.Path("reports")
)
SUMMARY = options.more(
    "Append a summary in Markdown to this file ($GITHUB_STEP_SUMMARY).", "--summary"
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProfileOptions:
    """The options that choose a cluster profile."""

    cluster: list[str] | None = options.of(
        "embedded (the default), local, kind, kubeconfig, another shipped profile, or a "
        "profile's file; KEY=VALUE changes a key of it, as storage=disk (may be repeated).",
        metavar="PROFILE",
        autocompletion=profile_names,
    )

    def profile(self) -> "profiles.Profile":
        from harness.scenario import profiles

        names = [word for word in self.cluster or () if "=" not in word]
        if len(names) > 1:
            raise errors.UsageError(
                f"expected one --cluster PROFILE, got {' and '.join(names)}: name one of them"
            )
        changes = [_with_path(word) for word in self.cluster or () if "=" in word]
        return profiles.load(names[0] if names else "embedded", overrides=changes)


def _with_path(change: str) -> str:
    """Return a change of a profile with an absolute path, which later runs need."""
    key, _, value = change.partition("=")
    if key not in _PATHS:
        return change
    return f"{key}={json.dumps(str(pathlib.Path(value.strip(chr(34))).resolve()))}"


_PATHS = ("kubeconfig", "binaries")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlaceOptions(ProfileOptions):
    """The options about the cluster of runs, and what works on it beside the subject."""

    claim_controller: str = options.more(
        "Use this ResourceClaim controller instead of the scenario's: python, "
        "kube-controller-manager (or =PATH, =VERSION; only its resourceclaim-controller runs), "
        "cluster, or external (one that is already running).",
        metavar="CONTROLLER",
        default="",
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions(PlaceOptions):
    """The options about the cluster of runs, and the subject on it."""

    subject: list[str] | None = options.of(
        "Test this scheduler instead of the scenario's (may be repeated): python, "
        "kube-scheduler (or =PATH, =VERSION), cluster (or =NAME), external=NAME, "
        "command='PROGRAM {kubeconfig} {scheduler_name} ...' (run in the current folder).",
        metavar="SUBJECT",
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(ClusterOptions):
    """The options about one run: its cluster, and what the subject on it is like."""

    defect: list[str] | None = DEFECTS
    remedy: list[str] | None = REMEDIES
    release: str = RELEASE

    def planned(self, loaded: "loading.Loaded", seed: int, **others: Any) -> "plans.Plan":
        from harness.run import run_plan

        return run_plan.plan(
            loaded,
            seed=seed,
            cluster=self.profile(),
            chosen_subjects=self.subject or (),
            claim_controller=self.claim_controller,
            defects=self.defect or (),
            remedies=self.remedy or (),
            release=self.release,
            **others,
        )


def with_groups(command: Callable[..., int]) -> Callable[..., int]:
    """Return a command of Typer whose parameters that are dataclasses become their fields.

    So several commands share a group of options that is declared once.
    """
    own = inspect.signature(command).parameters
    hints = typing.get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {
        name: hints[name] for name in own if dataclasses.is_dataclass(hints[name])
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        if name in groups:
            parameters += inspect.signature(groups[name]).parameters.values()
            hints |= typing.get_type_hints(groups[name], include_extras=True)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    def grouped(given: dict[str, Any]) -> dict[str, Any]:
        made = {
            name: group(**{field.name: given[field.name] for field in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        return {name: value for name, value in given.items() if name in own} | made

    @functools.wraps(command)
    def expanded(**given: Any) -> int:
        return command(**grouped(given))

    expanded.grouped = grouped  # type: ignore[attr-defined]
    expanded.__annotations__ = {each.name: hints[each.name] for each in parameters}
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return expanded


def jobs(asked: int | None, chosen: "profiles.Profile", *, leaves_room: bool = False) -> int:
    """Return the number of concurrent runs: as asked, or one that suits the machine.

    `leaves_room`: at most one for each core if the machine is busy: runs that starve prove nothing.
    Raises UsageError if it exceeds PROCESSES_PER_CORE.
    """
    cores = os.cpu_count() or 1
    if asked is not None:
        require_bearable("--jobs", asked)
    match chosen.provider:
        case "kind":
            suitable = max(1, cores // CORES_PER_KIND)
        case "embedded":
            suitable = cores + cores // 2
        case _:
            suitable = cores
    is_busy = leaves_room and os.getloadavg()[0] > cores / 2
    return asked or (min(suitable, cores) if is_busy else suitable)


def require_bearable(what: str, count: int) -> None:
    """Raise UsageError, which names `what`, for more than PROCESSES_PER_CORE for each core."""
    cores = os.cpu_count() or 1
    most = PROCESSES_PER_CORE * cores
    if count > most:
        raise errors.UsageError(
            f"expected {what} to be at most {most} on this machine ({PROCESSES_PER_CORE} per core), "
            f"got {count}: use fewer"
        )
