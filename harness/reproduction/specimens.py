"""A failed run: its violation, and the evidence of it that a text for an issue shows.

Objects are shown in YAML, shortened, as they were stored at that moment.
"""

import dataclasses
import pathlib
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from harness import regular_files
from harness.checks import judging, verdicts
from harness.history import directories, plans, records
from harness.report import escaping, evidence
from harness.report.causes import deciding_writes, log_causes, strips
from harness.report.replay import race_events

OBJECTS_MAX = 6
"""Objects of each kind that are looked for."""
WRITES_MAX = 60
"""Writes of claims that are listed."""
LINES_MAX = 120
"""Lines that are kept of one log: the first half and the last half of them."""
LINE_MAX = 400
"""Characters that are kept of one line."""
BYTES_MAX = 256 * 2**20
"""Bytes that are read of one log."""
_LOGS = "scheduler*.log"


class ClaimWrite(NamedTuple):
    """One commit of a claim of the violation, whose letter is `A` for the first holder."""

    letter: str
    name: str
    version: deciding_writes.Version
    state: str
    """The claim's devices and reservations after it, as text."""


class LogExcerpt(NamedTuple):
    """Lines of one log."""

    name: str
    """Name of the log's process."""
    lines: Sequence[str]
    left_out: int
    """Number of further lines with such a name."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """The violation of one run with everything that is known of it."""

    source: evidence.Evidence
    check: verdicts.CheckResult
    violation: verdicts.Violation
    strip: strips.Strip | None
    """None if the violation is no double allocation."""
    why: str
    """The cause of a double allocation, by the steps or by the logs; empty for others."""
    zero_ns: int
    """The time that counts as 0 ms."""
    stored: deciding_writes.DecidingWrites
    """The versions of the violation's claims and pods."""
    writes: Sequence[ClaimWrite]
    logs: Sequence[LogExcerpt]

    @property
    def plan(self) -> plans.Plan:
        return self.source.history.plan


def read(path: pathlib.Path, check: str) -> Specimen:
    directory = directories.existing(path)
    return of(evidence.Evidence(judging.examine(directory)), check)


def of(source: evidence.Evidence, check: str) -> Specimen:
    """Return the evidence of a run that failed this check.

    The violation is the first one that a fault explains, or the first one.
    """
    directory = source.history.directory
    broken = next(item for item in source.judgement.checks if item.check == check)
    violation = next((item for item in broken.violations if item.faults), broken.violations[0])
    stored = deciding_writes.DecidingWrites([violation])
    stored.read(source.history)
    writes = sorted(_writes(stored, violation), key=lambda item: item.version.resource_version)
    steps = _steps(source, violation)
    strip, why, zero_ns = None, "", source.started_ns
    if isinstance(violation, verdicts.DoubleAllocation):
        strip = strips.strip(violation, steps)
        zero_ns, why = strip.zero_ns, (not steps and _by_logs(directory, violation)) or strip.why
    elif writes:
        zero_ns = writes[0].version.ts_ns
    return Specimen(
        source=source,
        check=broken,
        violation=violation,
        strip=strip,
        why=why,
        zero_ns=zero_ns,
        stored=stored,
        writes=writes[:WRITES_MAX],
        logs=excerpts(directory, violation),
    )


def _steps(source: evidence.Evidence, violation: verdicts.Violation) -> Sequence[records.Step]:
    for found, steps in zip(source.double_allocations, source.steps, strict=True):
        if found is violation:
            return steps
    return []


def _by_logs(directory: directories.RunDirectory, violation: verdicts.DoubleAllocation) -> str:
    logs = log_causes.LogCauses()
    logs.read(directory)
    found = logs.of(violation)
    return log_causes.text(found) if found else ""


def _writes(
    stored: deciding_writes.DecidingWrites, violation: verdicts.Violation
) -> Iterator[ClaimWrite]:
    claims = _involved(violation, deciding_writes.CLAIM)
    for letter, claim in zip(string.ascii_uppercase, claims, strict=False):
        for version in stored.versions_of_claim(claim):
            if version.event != "LISTED":
                yield ClaimWrite(letter, claim.name, version, _state(race_events.stored(version)))


def _involved(violation: verdicts.Violation, kind: str) -> list[verdicts.InvolvedObject]:
    return [item for item in violation.objects if item.kind == kind][:OBJECTS_MAX]


def _state(found: race_events.Stored) -> str:
    devices = f"allocated {', '.join(found.devices)}" if found.devices else "not allocated"
    reserved = [f"reserved for {', '.join(found.pods)}"] if found.pods else []
    return ", ".join(["being deleted"] * found.is_ending + [devices, *reserved])


def excerpts(
    directory: directories.RunDirectory, violation: verdicts.Violation
) -> list[LogExcerpt]:
    objects = (
        *_involved(violation, deciding_writes.CLAIM),
        *_involved(violation, deciding_writes.POD),
    )
    words = [word for item in objects for word in (item.name, item.uid)]
    if isinstance(violation, verdicts.DoubleAllocation):
        words += [violation.device, violation.device.rpartition("/")[2]]
    alternatives = "|".join(re.escape(word) for word in dict.fromkeys(words) if word)
    pattern = re.compile(rf"(?<![\w-])(?:{alternatives or '(?!)'})(?![\w-])")
    found = (_excerpt(path, pattern) for path in sorted(directory.logs.glob(_LOGS)))
    return [excerpt for excerpt in found if excerpt.lines]


def _excerpt(path: pathlib.Path, pattern: re.Pattern[str]) -> LogExcerpt:
    with regular_files.opened(path) as file:
        lines = file.read(BYTES_MAX).decode(errors="replace").splitlines()
    found = [escaping.shortened(line, LINE_MAX) for line in lines if pattern.search(line)]
    if len(found) <= LINES_MAX:
        return LogExcerpt(path.stem, found, 0)
    half = LINES_MAX // 2
    return LogExcerpt(path.stem, [*found[:half], "…", *found[-half:]], len(found) - 2 * half)


SHOWN_MAX = 4
"""Objects that are shown: the claims first."""
YAML_LINES_MAX = 60
"""Lines of one object."""
_METADATA = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "finalizers")
_OF_POD = (
    *("spec.nodeName", "spec.schedulerName", "spec.resourceClaims", "status.phase"),
    *("status.resourceClaimStatuses", "status.extendedResourceClaimStatus"),
)
_SHOWN = {
    deciding_writes.CLAIM: ("spec.devices", "status.allocation.devices", "status.reservedFor"),
    deciding_writes.POD: _OF_POD,
}
"""Kind -> the places of an object that are shown."""


def moment(violation: verdicts.Violation) -> int | None:
    """Return the newest version that is shown; None: the last one."""
    if isinstance(violation, verdicts.DoubleAllocation):
        return violation.overlap_from_rv
    return max(violation.resource_versions, default=None)


def yaml_of(
    violation: verdicts.Violation, stored: deciding_writes.DecidingWrites
) -> list[list[str]]:
    """Return the lines of YAML of each object, in the version that was stored at the moment."""
    is_double = isinstance(violation, verdicts.DoubleAllocation)
    kinds = [*_SHOWN][:1] if is_double else [*_SHOWN]
    known = (item for item in violation.objects if item.kind in kinds)
    ordered = sorted(known, key=lambda item: kinds.index(item.kind))
    keys = dict.fromkeys((item.kind, item.namespace, item.name) for item in ordered)
    found, last = [], moment(violation)
    for kind, namespace, name in [*keys][:SHOWN_MAX]:
        versions = [
            item.object
            for item in stored.versions(kind, namespace, name)
            if not item.is_gone and (last is None or item.resource_version <= last)
        ]
        found += [lines(kind, obj) for obj in versions[-1:]]
    return found


def lines(kind: str, obj: Mapping[str, Any]) -> list[str]:
    """Return an object without what the violation is not about; opaque parameters never."""
    version = "resource.k8s.io/v1" if kind == deciding_writes.CLAIM else "v1"
    shown: dict[str, Any] = {"apiVersion": obj.get("apiVersion", version), "kind": kind}
    for place in (*(f"metadata.{key}" for key in _METADATA), *_SHOWN[kind]):
        for key, part in _picked(obj, place).items():
            shown.setdefault(key, {}).update(part)
    text = yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=120)
    found = text.splitlines()
    return found if len(found) <= YAML_LINES_MAX else [*found[:YAML_LINES_MAX], "# …"]


def _picked(part: Any, place: str) -> dict[str, Any]:
    """Return what is at a place, below the keys that lead to it; empty if nothing is there."""
    key, _, below = place.partition(".")
    found = part.get(key) if isinstance(part, Mapping) else None
    if below:
        found = _picked(found, below)
    elif isinstance(found, Mapping):
        found = {name: value for name, value in found.items() if name != "config"}
    return {key: found} if found else {}
