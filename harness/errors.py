"""One error tree for the whole harness.

HarnessError                     something kept the harness from doing its work         exit code 1
├── UsageError                   what the user gave cannot be used                      exit code 2
│   ├── ScenarioError            a scenario or cluster file that is missing or wrong
│   ├── KubeconfigError          a kubeconfig that is missing, unreadable or unusable
│   ├── UnusableClusterError     a kind of cluster that lacks something on this machine, or does not let us in
│   ├── DataDirectoryError       an API server's data folder that is damaged (file and byte are named), in use, or not one
│   ├── RunDirectoryError        a run directory that is missing or is not one
│   ├── VerdictError             a verdict that does not belong to the evidence beside it
│   └── UnwritableError          a file or folder that may not be written
├── StorageError                 a disk that is full or broken
├── HistoryError                 evidence that is damaged (file and line are named)         exit code 20
├── ClusterError                 a cluster that did not start, stop or answer
├── ProcessError                 a process of a run that did not start or died
├── SubjectError                 a scheduler under test that ended as soon as it was started
├── WaitTimeoutError             a condition that did not come true in its time
└── InterruptionError            the user interrupted a command that has something to report     exit code 130

A violation of a guarantee is never an exception, and a harness error never becomes a verdict of INVALID.
A message says what was expected, what came, and what to do about it.
"""

from typing import ClassVar


class HarnessError(Exception):
    """Something kept the harness from doing its work."""

    exit_code: ClassVar[int] = 1


class UsageError(HarnessError):
    """What the user gave cannot be used."""

    exit_code: ClassVar[int] = 2


class ScenarioError(UsageError):
    """A scenario or cluster file that is missing or wrong."""


class KubeconfigError(UsageError):
    """A kubeconfig that is missing, unreadable or unusable."""


class UnusableClusterError(UsageError):
    """A kind of cluster that lacks something on this machine, or does not let us in."""


class RunDirectoryError(UsageError):
    """A run directory that is missing or is not one."""


class VerdictError(UsageError):
    """A verdict that is missing, damaged, or does not belong to the evidence beside it."""


class UnwritableError(UsageError):
    """A file or folder that may not be written."""


class StorageError(HarnessError):
    """A disk that is full or broken."""


class HistoryError(HarnessError):
    """Evidence that is damaged: the message names file and line."""

    exit_code: ClassVar[int] = 20


class ClusterError(HarnessError):
    """A cluster that did not start, stop or answer."""


class DataDirectoryError(UsageError):
    """An API server's data folder that is damaged (file and byte are named), in use, or not one."""


class ProcessError(HarnessError):
    """A process of a run that did not start, or died when it should not have."""


class SubjectError(HarnessError):
    """A scheduler under test that ended as soon as it was started."""


class WaitTimeoutError(HarnessError):
    """A condition that did not come true in its time."""


class InterruptionError(HarnessError):
    """The user interrupted a command that has something to report."""

    exit_code: ClassVar[int] = 130
