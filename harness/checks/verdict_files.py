"""A judgement and its file, verdict.json, which has to fit the evidence beside it."""

import functools
import hashlib
import pathlib
from importlib import metadata
from typing import Any

import msgspec

from harness import errors, writing
from harness.checks import check_registry, run_figures, threshold_results, verdicts
from harness.history import directories, files

_HARNESS = pathlib.Path(__file__).parents[1]
_SOURCES = ("checks", "extensions", "faults", "history", "manifests", "model", "scenario")
"""Packages whose code decides about a verdict: the checks, and all that they import."""


class Judges(msgspec.Struct, frozen=True, kw_only=True):
    """The judges of a verdict; two verdicts by judges of one digest can be compared."""

    version: str
    """Version of Flake Hunt; empty if it is not installed."""
    digest: str
    """`sha256:<hex>` of the source of the checks and of all packages that they import."""


@functools.cache
def present() -> Judges:
    try:
        version = metadata.version("flake-hunt")
    except metadata.PackageNotFoundError:
        version = ""
    whole = hashlib.sha256()
    for package in _SOURCES:
        for path in sorted((_HARNESS / package).rglob("*.py")):
            whole.update(f"{path.relative_to(_HARNESS).as_posix()}\0".encode())
            whole.update(hashlib.sha256(path.read_bytes()).digest())
    return Judges(version=version, digest=f"sha256:{whole.hexdigest()}")


CHECK_FAILED = "the check failed: "
"""The reason of a check that raised an exception begins with this."""
_AT_REST = frozenset(check.name for check in check_registry.CHECKS if check.at_rest)
"""Checks of runs that came to rest."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict about a run and everything it rests on: the content of verdict.json."""

    schema: int = verdicts.SCHEMA_VERSION
    run_id: str
    scenario: str
    subject: str
    """Kinds of the schedulers, joined by ` + `, and the release that they are like."""
    subject_name: str
    """The subject as text, as pages and tables name it: `correct`, its defects, its version."""
    defects: list[str]
    remedies: list[str]
    seed: int
    ended_by_violation: bool
    """A violation ended the run, as planned, before it had its whole load and came to rest."""
    verdict: verdicts.Verdict
    reason: str
    certificate: list[verdicts.CertificateItem]
    checks: list[verdicts.CheckResult]
    not_examined: list[verdicts.NotExamined]
    """The guarantees about which the run says nothing, also those that its plan does not owe."""
    unexamined: list[str] = msgspec.field(default_factory=list)
    """The guarantees about what the run used of which it judged nothing, or not all, in words; the
    reason of a VALID run names them."""
    thresholds: list[threshold_results.Result] = msgspec.field(default_factory=list)
    """The answers of the thresholds per run."""
    campaign_figures: dict[str, float | None] = msgspec.field(default_factory=dict)
    """Figures that thresholds per campaign ask for, by their names; None: it is missing."""
    figures: run_figures.Figures
    evidence: dict[str, str]
    """Name of every judged file -> its SHA-256."""
    manifest: str
    """Digest of manifest.json, which has those of all files of the run; empty: it has none."""
    judges: Judges

    def is_needed(self, check: verdicts.CheckResult) -> bool:
        """Return False for the UNKNOWN of a check of runs at rest, if this one is not at rest.

        A check that failed is always needed.
        """
        is_excused = self.ended_by_violation and check.check in _AT_REST
        is_unknown = check.verdict is verdicts.Verdict.UNKNOWN
        return not (is_excused and is_unknown) or check.reason.startswith(CHECK_FAILED)

    @property
    def missed_thresholds(self) -> list[str]:
        return threshold_results.sentences(self.thresholds, verdicts.Verdict.INVALID)

    def violations_of(self, check: str) -> int:
        return sum(item.violation_count for item in self.checks if item.check == check)

    @property
    def exit_code(self) -> int:
        return self.verdict.exit_code


def encode(judgement: Judgement) -> bytes:
    return msgspec.json.format(msgspec.json.encode(judgement), indent=2) + b"\n"


def write(directory: directories.RunDirectory, judgement: Judgement) -> None:
    writing.replace(directory.verdict, encode(judgement))


def read(directory: directories.RunDirectory) -> dict[str, Any]:
    """Return the document in verdict.json.

    Raises VerdictError if it is missing, damaged, or has another schema.
    """
    try:
        content = files.read_small(directory.verdict)
        schema = msgspec.json.decode(content, type=_Head).schema
        document: dict[str, Any] = msgspec.json.decode(content)
    except (errors.HistoryError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _reject(directory, f"expected the verdict of a run ({error})") from error
    if schema != verdicts.SCHEMA_VERSION:
        raise _reject(directory, f"expected schema {verdicts.SCHEMA_VERSION}, got {schema}")
    return document


class _Head(msgspec.Struct):
    schema: int
    evidence: dict[str, str]


def require_own(directory: directories.RunDirectory, judgement: Judgement) -> None:
    """Reject a verdict.json that differs from this judgement of the evidence beside it.

    Raises VerdictError if the evidence was changed, or if the verdict was edited, copied from
    another run, or written by another version of the judges.
    """
    document = read(directory)
    run_id = document.get("run_id")
    if run_id != judgement.run_id:
        raise _reject(
            directory, f"expected the verdict on run {judgement.run_id}, got that on {run_id!r:.60}"
        )
    evidence = document["evidence"]
    changed = sorted(
        name
        for name in evidence.keys() | judgement.evidence.keys()
        if evidence.get(name) != judgement.evidence.get(name)
    )
    if changed:
        raise _reject(directory, f"the evidence has changed since ({', '.join(changed)} differ)")
    judged = msgspec.to_builtins(judgement, str_keys=True)
    if document | {"judges": judged["judges"]} != judged:  # other judges may say the same
        raise _reject(
            directory,
            "it was edited, or written by another version of Flake Hunt, or the run was changed",
        )


def _reject(directory: directories.RunDirectory, why: str) -> errors.VerdictError:
    return errors.VerdictError(
        f"{directory.verdict}: {why}. Judge the run again: flake-hunt check {directory.path}"
    )
