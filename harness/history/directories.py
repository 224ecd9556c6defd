"""The layout of a run directory.

```
scenario.toml               verbatim copy of the scenario
pool-objects.json           objects of `pools.from`, without server fields; only if there are some
plan.json                   seed and resolved options
cluster.json                the cluster that ran, and its versions
processes.jsonl             starts, ends, phases
operations-<process>.jsonl  API calls
preparations-<kubelet>.jsonl  claims that were prepared and unprepared on nodes
pool-changes-<kubelet>.jsonl  changes of device pools; only in runs whose scenario has some
observations.jsonl          commits that the API server published
faults.jsonl                faults that took effect; only in runs with faults
script.jsonl                steps of the script; only in runs that play one
orders.jsonl                orders of threads that were tried; only in runs that search some
steps-<process>.jsonl       named steps of the subject
audit/                      the API server's audit log of the run, in one part or several
logs/<process>.log          output of the processes
kubelet/                    checkpoints of the nodes; they change during the run
manifest.json               the files above with their sizes and digests; the run writes it last
---- above: written before judging and never changed; below: written by judging ----
verdict.json  report.html  junit.xml  trace.json (of a large run: trace.json.gz)
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
    """A verbatim copy of the scenario file."""
    pool_objects = _File(POOL_OBJECTS)
    """The objects of `pools.from` as a List; missing if the scenario names no files."""
    plan = _File("plan.json")
    """Seed, resolved options, versions (`plans.Plan`)."""
    cluster = _File("cluster.json")
    """Name, provider and component versions of the running cluster."""
    manifest = _File("manifest.json")
    """The files that the run wrote (`manifests.Manifest`); missing if it was interrupted."""
    processes = _File("processes.jsonl", compressed=True)
    """ProcessStarted, ProcessEnded and Phase records of the orchestrator."""
    faults = _File("faults.jsonl", compressed=True)
    """FaultApplied and FaultWindow records; missing if the plan has no faults."""
    observations = _File("observations.jsonl", compressed=True)
    """Listed, Observation, Gap and Resumed records of the recorder."""
    script = _File("script.jsonl", compressed=True)
    """ScriptStep records; missing if the run plays no script."""
    orders = _File("orders.jsonl", compressed=True)
    """OrderTried records; missing if the run searches no orders of threads."""
    audit = _File("audit")
    """The folder of the API server's audit log; missing if the plan has none."""
    logs = _File("logs")
    """The folder of the processes' output."""
    verdict = _File("verdict.json")
    """The verdict with its certificate and violations (`checks.verdict_files.Judgement`)."""
    report = _File("report.html")
    """The report for people."""
    junit = _File("junit.xml")
    """The verdict for CI systems."""
    trace = _File("trace.json")
    """The timeline for ui.perfetto.dev."""
    compressed_trace = _File("trace.json.gz")
    """The timeline of a large run, instead of `trace`."""

    def new_observations(self, compression: str) -> pathlib.Path:
        """Return the file in which observations are written; `compression`: as in the plan."""
        return self.path / f"observations.jsonl{_SUFFIXES[compression]}"

    def _of_process(self, kind: str, process: str) -> pathlib.Path:
        return _form(self.path / f"{kind}-{process}.jsonl")

    operations = functools.partialmethod(_of_process, "operations")
    """Invocation, Completion and Waited records of one process."""
    steps = functools.partialmethod(_of_process, "steps")
    """Step records of one process of the subject."""
    preparations = functools.partialmethod(_of_process, "preparations")
    """Prepared, Unprepared, … records of one kubelet process."""
    pool_changes = functools.partialmethod(_of_process, "pool-changes")
    """PoolChanged records of one kubelet process."""

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
