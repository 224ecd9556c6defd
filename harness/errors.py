"""The errors of the harness, all HarnessError; a command ends with the exit code of the error.

Violations of a guarantee are never exceptions, and a harness error never makes a verdict INVALID.
A message states the expectation, the actual value, and the remedy.
"""

from typing import ClassVar


class HarnessError(Exception):
    """The harness could not do its work."""

    exit_code: ClassVar[int] = 1


class UsageError(HarnessError):
    """Usage or configuration error."""

    exit_code: ClassVar[int] = 2


class ScenarioError(UsageError):
    """A scenario or cluster file is missing or invalid."""


class ManifestError(UsageError):
    """A file of API objects is missing or invalid; the message names file, document and field."""


class KubeconfigError(UsageError):
    """A kubeconfig is missing, unreadable or unusable."""


class UnusableClusterError(UsageError):
    """This machine lacks a requirement of the cluster, or the cluster denies access."""


class RunDirectoryError(UsageError):
    """A run directory is missing, or the path is not one."""


class VerdictError(UsageError):
    """A verdict is missing, damaged, or not about the evidence beside it."""


class MissingExtraError(UsageError):
    """A library that an extra of the package installs is missing."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"expected {library}, which is not installed: {install_command(extra)}")


def install_command(extra: str) -> str:
    """Return the command that installs what an extra of this package needs.

    No registry has the package itself: if it was not installed from a checkout, the command names
    the libraries.
    """
    import importlib.metadata  # 15 ms

    package = importlib.metadata.distribution("flake-hunt")
    if "dir_info" in (package.read_text("direct_url.json") or ""):
        return f"pip install '.[{extra}]'"
    needed = [line.split(";")[0] for line in package.requires or () if f"== '{extra}'" in line]
    return " ".join(["pip install", *(f"'{library.strip()}'" for library in needed)])


class PluginError(UsageError):
    """A plug-in is missing, ambiguous or broken, or has answered what it may not."""


class UnwritableError(UsageError):
    """Permission to write a file or folder is missing."""


class StorageError(HarnessError):
    """A disk is full or broken."""


class HistoryError(HarnessError):
    """Evidence is damaged; the message names file and line."""

    exit_code: ClassVar[int] = 20


class ClusterError(HarnessError):
    """A cluster did not start, stop or answer."""


class DataDirectoryError(UsageError):
    """The data folder of an API server is damaged (names file and byte), in use, or not one."""


class ProcessError(HarnessError):
    """A process of a run did not start, or died unexpectedly."""


class SubjectError(UsageError):
    """A scheduler under test ended right after its start."""


class FaultError(HarnessError):
    """A fault could not be injected, healed or observed."""


class WaitTimeoutError(HarnessError):
    """A condition was not met within its time limit."""


class TimeUpError(HarnessError):
    """The time budget of a campaign ended during a run."""


class InterruptionError(HarnessError):
    """The user interrupted a command that has something to report."""

    exit_code: ClassVar[int] = 130
