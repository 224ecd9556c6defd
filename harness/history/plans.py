"""The plan of a run: the scenario with its seed and everything resolved, as plan.json."""

import pathlib
from typing import Any

import msgspec

from harness import errors, writing
from harness.history import files, records


class Requirements(msgspec.Struct, frozen=True, kw_only=True):
    """The least a run must have done for a VALID verdict to mean anything."""

    allocations_min: int
    """Claims that were allocated (counted as holds)."""
    pods_running_min: int
    """Pods that were seen Running."""
    reuse_min: int = 0
    """Holds of a device that another claim had held before: devices were short."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was decided before the run began."""

    schema: int = records.SCHEMA_VERSION
    run_id: str
    scenario: str
    seed: int
    subject: str
    """`python` (ours), later others."""
    defects: list[str]
    cluster: str
    """The provider: `embedded`, `local`, `kind` or `kubeconfig`."""
    namespace: str
    boot_id: str
    created_wall_ns: int
    until_found: bool
    """End as soon as a double allocation shows: a positive control that was caught has nothing more to prove."""
    requirements: Requirements
    expected_operations: list[str]
    """Processes that must leave an operations file with a trailer."""
    expected_steps: list[str]
    """Processes that must leave a steps file with a trailer."""
    resources: list[str]
    """Resources whose every commit must have been observed."""
    settings: dict[str, Any]
    """The scenario after overrides, as a plain document."""
    again: list[str] = []
    """The command line that makes such a run again, after `flake-hunt`; empty where there is none."""
    cluster_profile: dict[str, Any] = {}
    """The cluster profile after overrides, as a plain document; empty where no cluster was started."""
    versions: dict[str, str]
    """python, platform, flake-hunt, commit and the libraries that matter."""


def write(path: pathlib.Path, plan: Plan) -> None:
    """Write plan.json, for people too."""
    writing.replace(path, msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n")


def read(path: pathlib.Path) -> Plan:
    """Read plan.json; RunDirectoryError when it is damaged or of another schema."""
    try:
        content = files.read_small(path)
        _require_schema(path, content)
        return msgspec.json.decode(content, type=Plan)
    except (
        errors.HistoryError,
        msgspec.DecodeError,
        UnicodeDecodeError,
        RecursionError,
    ) as error:
        raise errors.RunDirectoryError(f"{path}: expected the plan of a run ({error})") from error


class _Schema(msgspec.Struct):
    schema: int


def _require_schema(path: pathlib.Path, content: bytes) -> None:
    """Reject another schema before its fields are read, which may be others."""
    found = msgspec.json.decode(content, type=_Schema).schema
    if found != records.SCHEMA_VERSION:
        raise errors.RunDirectoryError(
            f"{path}: expected schema {records.SCHEMA_VERSION}, got {found}: "
            "read it with the version that wrote it"
        )
