"""Links to the files of a run, each with what it is."""

import dataclasses
import os
import pathlib
import urllib.parse
from collections.abc import Iterator

from harness.history import directories

FILES_MAX = 200
"""Files that are linked; more are counted."""


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """A file of the run."""

    name: str
    """Its path within the run directory."""
    href: str
    about: str
    """Its content as text; empty if it is not known."""


_ABOUT = {
    "scenario.toml": "the scenario, verbatim",
    "plan.json": "seed and options of the run",
    "cluster.json": "the cluster that ran, with its versions",
    "processes.jsonl": "starts, ends and phases",
    "faults.jsonl": "faults that took effect",
    "manifest.json": "the files of the run with their digests",
    "verdict.json": "the verdict for programs",
    "junit.xml": "the verdict for CI systems",
    "summary.md": "the verdict for a pull request",
    "trace.json": "timeline for ui.perfetto.dev",
    "trace.json.gz": "timeline for ui.perfetto.dev",
}
_ABOUT_BEGINNINGS = {
    "observations": "every commit, as the watch delivered it",
    "operations-": "API calls of a process",
    "preparations-": "claims that were prepared and unprepared on nodes",
    "pool-changes-": "changes of device pools",
    "steps-": "named steps of the subject",
    "audit": "the API server's audit log",
    "logs": "output of a process",
}


def links(directory: directories.RunDirectory) -> Iterator[Link]:
    """Yield the files of the run; those that judging writes are named, whether they exist yet."""
    evidence = [directory.scenario, directory.plan, directory.cluster, directory.manifest]
    written = [path for path in evidence if os.path.lexists(path)]
    written += [*directory.journals(), *directory.audit_logs(), *_logs(directory)]
    for path in [directory.verdict, directory.junit, directory.summary, *sorted(written)]:
        name = path.relative_to(directory.path).as_posix()
        yield Link(name, urllib.parse.quote(name), _about(name))


def trace_link(path: pathlib.Path) -> Link:
    """Return the link to the trace, which is written beside the page."""
    return Link(path.name, urllib.parse.quote(path.name), _about(path.name))


def _logs(directory: directories.RunDirectory) -> list[pathlib.Path]:
    return [path for path in directory.logs.glob("*") if os.path.isfile(path)]  # noqa: PTH113 - never raises


def _about(name: str) -> str:
    if name in _ABOUT:
        return _ABOUT[name]
    for beginning, about in _ABOUT_BEGINNINGS.items():
        if name.startswith(beginning):
            return about
    return ""
