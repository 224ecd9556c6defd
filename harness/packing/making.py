"""Makes packs of runs that have ended and were judged."""

import dataclasses
import io
import pathlib
import re
import shlex
import textwrap
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata

import msgspec

from harness import errors
from harness.checks import judging, verdict_files, verdicts
from harness.history import directories, files, manifests, plans
from harness.packing import packs
from harness.report import redaction

_LARGEST = 4
"""Files that are named where a run does not fit."""
_LEFT_OUT = "its timeline, trace.json, which flake-hunt report RUN_DIR makes again"
_UNUSUAL = re.compile(r"[^\w.-]+", re.ASCII)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A pack that was made, not yet written."""

    name: str
    """Its usual name, without `.zip`; also that of the folder in it."""
    content: bytes
    index: packs.Index


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A run with its files, and the judgement that they give."""

    plan: plans.Plan
    judgement: verdict_files.Judgement
    path: str
    files: dict[str, bytes]
    """Path in the run directory, with `/` -> content."""


def make(paths: Sequence[pathlib.Path], *, limit: int) -> Pack:
    """Return the pack of run directories; `limit`: its largest size in bytes.

    The same bytes for the same runs. Raises UsageError if they do not fit, and for a run that has
    not ended, was not judged, or has the verdict of other evidence.
    """
    runs = [_run(path) for path in paths]
    names = [run.path for run in runs]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise errors.UsageError(f"expected different runs, got {twice} twice: leave one out")
    pack = _pack(runs)
    if len(pack.content) > limit:
        runs = [dataclasses.replace(run, files=_without_timeline(run.files)) for run in runs]
        pack = _pack(runs, left_out=[f"{run.path}: {_LEFT_OUT}" for run in runs])
    if len(pack.content) > limit:
        raise errors.UsageError(_too_large(runs, len(pack.content), limit))
    return pack


def _without_timeline(content: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in content.items() if not name.startswith("trace.")}


# ------------------------------------------------------------------------------- the runs


def _run(path: pathlib.Path) -> _Run:
    directory = directories.existing(path)
    judged = judging.examine(directory)
    plan, judgement = judged.history.plan, judged.judgement
    _require_ended(directory, plan)
    verdict_files.require_own(directory, judgement)
    name = f"{_plain(plan.scenario)}/{_plain(path.resolve().name)}"
    pages = (directory.manifest, directory.verdict, *directory.pages())
    written = [*manifests.written(directory, plan), *(page.name for page in pages)]
    there = (name for name in written if (directory.path / name).is_file())
    found = {name: _content(directory.path / name) for name in there}
    return _Run(plan=plan, judgement=judgement, path=name, files=found)


def _require_ended(directory: directories.RunDirectory, plan: plans.Plan) -> None:
    if plan.expects_manifest and not directory.manifest.is_file():
        raise errors.RunDirectoryError(
            f"expected a run that has ended, but {directory.path} is under way, or was interrupted"
        )
    missing = [path.name for path in (directory.verdict, directory.report) if not path.is_file()]
    if missing:
        raise errors.RunDirectoryError(
            f"expected a run that was judged, but {directory.path} has no {missing[0]}: "
            f"flake-hunt check {directory.path}"
        )


def _content(path: pathlib.Path) -> bytes:
    with files.open_regular(path) as file:
        try:
            return file.read()
        except OSError as error:
            raise errors.HistoryError(f"{path.name}: cannot be read ({error.strerror})") from error


def _plain(text: str) -> str:
    return _UNUSUAL.sub("-", text).strip("-.") or "run"


# ------------------------------------------------------------------------------- the file


def _pack(runs: Sequence[_Run], left_out: Sequence[str] = ()) -> Pack:
    found = {f"{run.path}/{name}": data for run in runs for name, data in run.files.items()}
    name = _name(runs)
    index = packs.Index(
        flake_hunt=metadata.version("flake-hunt"),
        files=len(found),
        runs=[_listed(run) for run in runs],
        left_out=[*left_out],
    )
    listed = msgspec.json.format(msgspec.json.encode(index), indent=1) + b"\n"
    first = {
        packs.NAME: listed,
        packs.README: "".join(f"{line}\n" for line in _readme(index, name)).encode(),
    }
    entries = {f"{name}/{file}": data for file, data in {**first, **found}.items()}
    return Pack(name=name, content=_zipped(entries), index=index)


_DATE = (1980, 1, 1, 0, 0, 0)
"""The first date of zip files: a pack says nothing of when it was made."""
_MODE = 0o100644 << 16
_UNIX = 3
_COMPRESSED = (".zst", ".gz")


def _zipped(entries: Mapping[str, bytes]) -> bytes:
    """Return the zip of these files in their order; the same bytes for the same files."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in entries.items():
            header = zipfile.ZipInfo(name, _DATE)
            header.external_attr, header.create_system = _MODE, _UNIX
            is_compressed = name.endswith(_COMPRESSED)
            header.compress_type = zipfile.ZIP_STORED if is_compressed else zipfile.ZIP_DEFLATED
            archive.writestr(header, data)
    return file.getvalue()


def _listed(run: _Run) -> packs.Run:
    judgement = run.judgement
    return packs.Run(
        path=run.path,
        run_id=run.plan.run_id,
        scenario=judgement.scenario,
        subject=judgement.subject_name,
        verdict=str(judgement.verdict),
        reason=judgement.reason,
        violations=judgement.figures.violations,
        seed=judgement.seed,
        again=[redaction.program(word) for word in run.plan.again],
    )


def _name(runs: Sequence[_Run]) -> str:
    first = runs[0].judgement
    if len(runs) > 1:
        verdict = verdicts.worst(run.judgement.verdict for run in runs)
        return _plain(f"{len(runs)}-runs-{verdict}-{first.run_id}")
    return _plain(f"{first.scenario}-{first.subject_name}-{first.verdict}-{first.run_id}")


def _too_large(runs: Sequence[_Run], size: int, limit: int) -> str:
    sizes = {f"{run.path}/{name}": len(data) for run in runs for name, data in run.files.items()}
    largest = sorted(sizes, key=lambda name: -sizes[name])[:_LARGEST]
    named = ", ".join(f"{name} {_mb(sizes[name])}" for name in largest)
    return (
        f"expected at most {_mb(limit)}, but what the verdict needs takes {_mb(size)} "
        f"({named}, …): pack fewer runs, pack the smallest run that fails in the same way (flake-hunt "
        "reproduce RUN_DIR), or use --limit-mb for a place that takes larger files"
    )


def _mb(size: int) -> str:
    return f"{size / packs.MEGABYTE:.1f} MB"


# ------------------------------------------------------------------------------- README.txt

_WIDTH = 100
_RUNS_MAX = 50


def _readme(index: packs.Index, name: str) -> Iterator[str]:
    yield from _wrapped(
        f"This is a pack of Flake Hunt {index.flake_hunt}, which asks: did a Kubernetes scheduler ever give one "
        f"device to two claims? It has the record of {verdicts.counted(len(index.runs), 'run')}, the verdict on "
        "each, and the report for people."
    )
    yield ""
    for run in index.runs[:_RUNS_MAX]:
        yield from _wrapped(f"{run.verdict} {run.scenario}, {run.subject}: {run.reason}", "  ")
    if len(index.runs) > _RUNS_MAX:
        yield f"  and {len(index.runs) - _RUNS_MAX} more"
    yield from _how(index, name)
    if index.left_out:
        yield ""
        yield "Not in this pack:"
        for what in index.left_out:
            yield from _wrapped(what, "  ")


def _how(index: packs.Index, name: str) -> Iterator[str]:
    first = index.runs[0]
    yield ""
    yield f"Read it    unpack it and open {first.path}/report.html in a browser"
    yield "Judge it   flake-hunt check FILE.zip, as it is; or unpack it, and"
    yield f"           flake-hunt check {name}"
    yield f"Install    pip install flake-hunt=={index.flake_hunt}"
    if len(index.runs) == 1 and first.again:
        yield f"Repeat it  {shlex.join(['flake-hunt', *first.again])}"
    yield ""
    yield from _wrapped(
        "The verdict comes from the record alone and can be repeated years later. Exit code 0: VALID, 10: INVALID, "
        "20: UNKNOWN, also if the pack is damaged."
    )


def _wrapped(paragraph: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        paragraph,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
