"""The layout of a run directory.

```
scenario.toml               verbatim copy of the scenario
pool-objects.json           objects of `pools.from`, without server fields; only if there are some
plan.json                   seed, resolved options, versions (`plans.Plan`)
cluster.json                the cluster that ran, and its versions
processes.jsonl             ProcessStarted, ProcessEnded, Phase, …
operations-<process>.jsonl  API calls: Invocation, Completion, Waited
preparations-<kubelet>.jsonl  claims on nodes: Prepared, Unprepared, …
pool-changes-<kubelet>.jsonl  PoolChanged; only in runs whose scenario has some
observations.jsonl          commits that the API server published: Listed, Observation, Gap, Resumed
faults.jsonl                FaultApplied, FaultWindow; only in runs with faults
script.jsonl                ScriptStep; only in runs that play one
orders.jsonl                OrderTried; only in runs that search orders of threads
steps-<process>.jsonl       Step of the subject
audit/                      the API server's audit log of the run, in one part or several
logs/<process>.log          output of the processes
kubelet/                    checkpoints of the nodes; they change during the run
manifest.json               the files above with their sizes and digests; the run writes it last
---- above: written before judging and never changed; below: written by judging ----
verdict.json                `checks.verdict_files.Judgement`
report.html  junit.xml      for people, for CI systems
trace.json                  for ui.perfetto.dev (of a large run: trace.json.gz)
```

When a run has ended, journals and audit logs of 16 KiB or more are compressed (`….jsonl.zst`,
`….log.zst`), and so is output of 1 MiB or more. Every path below is that of the form there is.
"""

import dataclasses
import functools
import os
import pathlib
import stat

from harness import errors, writing
from harness.history import zstd_frames

_JOURNAL_SUFFIXES = (".jsonl", f".jsonl{zstd_frames.SUFFIX}")
_SUFFIXES = {"none": "", "zstd": zstd_frames.SUFFIX}
POOL_OBJECTS = "pool-objects.json"
_ADVICE = "name the folder of one run, reports/<scenario>/<run>"


def forms(path: pathlib.Path) -> list[pathlib.Path]:
    """Return the forms of a file that exist, plain and compressed; there should be one."""
    plain = plain_form(path)
    both = (plain, plain.with_name(plain.name + zstd_frames.SUFFIX))
    return [form for form in both if os.path.lexists(form)]


def plain_form(path: pathlib.Path) -> pathlib.Path:
    """Return the path without the ending of compressed files."""
    return path.with_suffix("") if path.suffix == zstd_frames.SUFFIX else path


def journal_stem(path: pathlib.Path) -> str:
    """Return the name of a journal without its endings: `operations-traffic-0`."""
    return plain_form(path).name.removesuffix(".jsonl")


def _form(path: pathlib.Path) -> pathlib.Path:
    """Return the form of a file that there is; the plain one if there is none, or if both are."""
    return next(iter(forms(path)), path)


class _File:
    def __init__(self, name: str, *, compressed: bool = False) -> None:
        """`compressed`: it may be, and then the path is that of the form there is."""
        self._name, self._compressed = name, compressed

    def __get__(self, directory: "RunDirectory", owner: object = None) -> pathlib.Path:
        path = directory.path / self._name
        return _form(path) if self._compressed else path


@dataclasses.dataclass(frozen=True, slots=True)
class RunDirectory:
    """The paths of one run directory."""

    path: pathlib.Path

    scenario = _File("scenario.toml")
    pool_objects = _File(POOL_OBJECTS)
    plan = _File("plan.json")
    cluster = _File("cluster.json")
    manifest = _File("manifest.json")
    processes = _File("processes.jsonl", compressed=True)
    faults = _File("faults.jsonl", compressed=True)
    observations = _File("observations.jsonl", compressed=True)
    script = _File("script.jsonl", compressed=True)
    orders = _File("orders.jsonl", compressed=True)
    audit = _File("audit")
    logs = _File("logs")
    verdict = _File("verdict.json")
    report = _File("report.html")
    junit = _File("junit.xml")
    trace = _File("trace.json")
    compressed_trace = _File("trace.json.gz")

    def new_observations(self, compression: str) -> pathlib.Path:
        """Return the file in which observations are written; `compression`: as in the plan."""
        return self.path / f"observations.jsonl{_SUFFIXES[compression]}"

    def _of_process(self, kind: str, process: str) -> pathlib.Path:
        return _form(self.path / f"{kind}-{process}.jsonl")

    operations = functools.partialmethod(_of_process, "operations")
    steps = functools.partialmethod(_of_process, "steps")
    preparations = functools.partialmethod(_of_process, "preparations")
    pool_changes = functools.partialmethod(_of_process, "pool-changes")

    def kubelet_state(self, process: str) -> pathlib.Path:
        """Return the folder of the checkpoints of one kubelet process."""
        return self.path / process

    def journals(self) -> list[pathlib.Path]:
        alone = (self.processes, self.faults, self.script, self.orders, self.observations)
        single = [form for path in alone for form in forms(path)]
        kinds = ("operations-", "preparations-", "pool-changes-", "steps-")
        by_processes = [path for kind in kinds for path in self._named(kind)]
        return [*single, *by_processes]

    def _named(self, prefix: str) -> list[pathlib.Path]:
        try:
            names = sorted(os.listdir(self.path))  # noqa: PTH208 - asked for often; glob takes longer
        except OSError:
            return []
        found = [name for name in names if name.startswith(prefix)]
        return [self.path / name for name in found if name.endswith(_JOURNAL_SUFFIXES)]

    all_operations = functools.partialmethod(_named, "operations-")
    all_steps = functools.partialmethod(_named, "steps-")

    def audit_logs(self) -> list[pathlib.Path]:
        return sorted(path for path in self.audit.glob("*.log*"))

    def log(self, process: str) -> pathlib.Path:
        return _form(self.logs / f"{process}.log")

    def pages(self) -> list[pathlib.Path]:
        """Return the files that are rendered from the verdict; of the trace the form there is."""
        forms = (self.trace, self.compressed_trace)
        traces = [path for path in forms if os.path.lexists(path)] or [self.trace]
        return [self.report, self.junit, *traces]


def create(path: pathlib.Path) -> RunDirectory:
    """Create a new, empty run directory.

    Raises RunDirectoryError if the path exists, StorageError or UnwritableError if it cannot be
    created.
    """
    directory = RunDirectory(path)
    try:
        directory.logs.mkdir(parents=True)
    except FileExistsError as error:
        raise errors.RunDirectoryError(
            f"expected a new run directory, but {path} exists already: name another one"
        ) from error
    except OSError as error:
        raise writing.explain(error, path) from error
    return directory


def existing(path: pathlib.Path) -> RunDirectory:
    """Return an existing run directory.

    Raises RunDirectoryError if the path is not a folder with a plan.json.
    """
    directory = RunDirectory(path)
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
        why = f"has no plan.json: {_ADVICE}" if is_folder else f"is a file: {_ADVICE}"
        if is_folder and directory.plan.is_file():
            return directory
    except (FileNotFoundError, NotADirectoryError):
        why = "does not exist"
    except (OSError, ValueError) as error:
        why = f"cannot be read ({getattr(error, 'strerror', None) or error})"
    raise errors.RunDirectoryError(f"expected a run directory, but {path} {why}")


def link_latest(reports: pathlib.Path, directory: RunDirectory) -> None:
    """Point the symbolic link `<reports>/latest` at this directory.

    Atomic, because several runs may do it at once. Does nothing on file systems without links.
    """
    link = reports / f".latest-{directory.path.name}"
    try:
        link.symlink_to(directory.path.relative_to(reports))
        link.replace(reports / "latest")
    except (OSError, ValueError):
        link.unlink(missing_ok=True)
