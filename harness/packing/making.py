"""Makes packs: all of the given runs, and of campaigns as many as fit, the worst first."""

import dataclasses
import io
import pathlib
import shlex
import textwrap
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata

import msgspec

from harness import errors
from harness.checks import verdicts
from harness.history import campaign_folders, results
from harness.packing import contents, packs, run_redaction
from harness.report.redaction import texts

_PURPOSES = ("subject", "asked", "hazard", "remedy", "control")
_RESERVE = 64 * 1024
"""Bytes that a campaign's pack keeps free for its list of files."""
_LARGEST = 4
"""Files that are named where a run does not fit."""
_LEFT_OUT = "its timeline, trace.json, which flake-hunt report RUN_DIR makes again"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A pack that was made, not yet written."""

    name: str
    """Its usual name, without `.zip`; also that of the folder in it."""
    content: bytes
    index: packs.Index


@dataclasses.dataclass(slots=True, kw_only=True)
class _Chosen:
    """The runs and other files of a pack."""

    runs: list[contents.RunContent] = dataclasses.field(default_factory=list)
    others: dict[str, bytes] = dataclasses.field(default_factory=dict)
    """Path in the pack -> content of files that are not of a run."""
    campaigns: list[campaign_folders.CampaignFolder] = dataclasses.field(default_factory=list)
    left_out: list[str] = dataclasses.field(default_factory=list)
    is_redacted: bool = False


def make(paths: Sequence[pathlib.Path], *, limit: int, is_redacted: bool = False) -> Pack:
    """Return the pack of run directories or of one campaign; `limit`: its largest size in bytes.

    The same bytes for the same runs. Raises UsageError if they do not fit, and as
    `contents.of_run` and `run_redaction.redacted`.
    """
    campaigns = [path for path in paths if campaign_folders.is_one(path)]
    if campaigns and len(paths) > 1:
        raise errors.UsageError(
            f"expected one campaign or some runs, got {len(paths)} with the campaign "
            f"{campaigns[0]}: pack it alone"
        )
    if campaigns and is_redacted:
        raise errors.UsageError(
            f"expected runs with --redact, got the campaign {campaigns[0]}: name some of its runs"
        )
    chosen = _of_campaign(campaigns[0], limit) if campaigns else _of_runs(paths)
    if is_redacted:
        chosen = _redacted(chosen)
    pack = _pack(chosen)
    if len(pack.content) > limit:
        chosen = _without_timelines(chosen)
        pack = _pack(chosen)
    if len(pack.content) > limit:
        raise errors.UsageError(_too_large(chosen, len(pack.content), limit))
    return pack


def _without_timelines(chosen: _Chosen) -> _Chosen:
    runs = [
        dataclasses.replace(
            run,
            files={name: run.files[name] for name in run.files if not name.startswith("trace.")},
        )
        for run in chosen.runs
    ]
    left_out = [*chosen.left_out, *(f"{run.path}: {_LEFT_OUT}" for run in runs)]
    return dataclasses.replace(chosen, runs=runs, left_out=left_out)


def _redacted(chosen: _Chosen) -> _Chosen:
    found = [run_redaction.redacted(run) for run in chosen.runs]
    left_out = [text for _, without in found for text in without]
    runs = [run for run, _ in found]
    return dataclasses.replace(chosen, runs=runs, left_out=left_out, is_redacted=True)


def _of_runs(paths: Sequence[pathlib.Path]) -> _Chosen:
    runs = [contents.of_run(path) for path in paths]
    names = [run.path for run in runs]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise errors.UsageError(f"expected different runs, got {twice} twice: leave one out")
    return _Chosen(runs=runs)


def _of_campaign(path: pathlib.Path, limit: int) -> _Chosen:
    campaign = campaign_folders.read(path)
    if campaign.problem or not campaign.runs:
        why = campaign.problem or "it has no run"
        raise errors.UsageError(f"expected a campaign that has ended, but {path} has not: {why}")
    chosen = _Chosen(campaigns=[campaign], others=contents.of_campaign(campaign))
    left = limit - _RESERVE - len(zipped(chosen.others))
    for result in sorted(campaign.results, key=_rank):
        if result.directory:
            left -= _add(chosen, campaign.directory_of(result), left)
    if not chosen.runs:
        raise errors.UsageError(f"expected room for a run of {path}, but none fits: pack one alone")
    return chosen


def _add(chosen: _Chosen, path: pathlib.Path, left: int) -> int:
    """Add a run that fits, and return its size; note one that does not."""
    try:
        run = contents.of_run(path)
    except (errors.UsageError, errors.HistoryError) as error:
        chosen.left_out.append(f"{path.parent.name}/{path.name}: {error}")
        return 0
    size = len(zipped(run.files)) + 400 * len(run.files)
    if size <= left:
        chosen.runs.append(run)
        return size
    text = f"{run.judgement.verdict}, {size / packs.MEGABYTE:.1f} MB, there was no room"
    chosen.left_out.append(f"{run.path}: {text}")
    return 0


def _rank(result: results.RunResult) -> tuple[int, int]:
    """Return the place of a run: those that count most come first, those that were cut last."""
    order = ("INVALID", "UNKNOWN", "VALID")
    verdict = order.index(result.verdict) if result.verdict in order else len(order)
    purpose = _PURPOSES.index(result.purpose) if result.purpose in _PURPOSES else len(_PURPOSES)
    return purpose + result.cut * len(_PURPOSES), verdict


# ------------------------------------------------------------------------------- the file


def _pack(chosen: _Chosen) -> Pack:
    files = dict(chosen.others)
    for run in chosen.runs:
        files |= {f"{run.path}/{name}": data for name, data in run.files.items()}
    name = _name(chosen) + "-redacted" * chosen.is_redacted
    index = packs.Index(
        flake_hunt=metadata.version("flake-hunt"),
        redacted=chosen.is_redacted,
        files=len(files),
        runs=[_run(run) for run in chosen.runs],
        campaigns=list(dict.fromkeys(name.rpartition("/")[0] for name in chosen.others)),
        left_out=chosen.left_out,
    )
    listed = msgspec.json.format(msgspec.json.encode(index), indent=1) + b"\n"
    first = {
        packs.NAME: listed,
        packs.README: "".join(f"{line}\n" for line in _readme(index, name)).encode(),
    }
    entries = {f"{name}/{file}": data for file, data in {**first, **files}.items()}
    return Pack(name=name, content=zipped(entries), index=index)


_DATE = (1980, 1, 1, 0, 0, 0)
"""The first date of zip files: a pack says nothing of when it was made."""
_MODE = 0o100644 << 16
_UNIX = 3
_COMPRESSED = (".zst", ".gz")


def zipped(entries: Mapping[str, bytes]) -> bytes:
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


def _run(run: contents.RunContent) -> packs.Run:
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
        again=[texts.program(word) for word in run.plan.again],
    )


def _name(chosen: _Chosen) -> str:
    if chosen.campaigns:
        campaign = chosen.campaigns[0]
        return contents.plain(f"campaign-{campaign.path.resolve().name}-{campaign.verdict}")
    first = chosen.runs[0].judgement
    if len(chosen.runs) > 1:
        verdict = verdicts.worst(run.judgement.verdict for run in chosen.runs)
        return contents.plain(f"{len(chosen.runs)}-runs-{verdict}-{first.run_id}")
    return contents.plain(f"{first.scenario}-{first.subject_name}-{first.verdict}-{first.run_id}")


def _too_large(chosen: _Chosen, size: int, limit: int) -> str:
    sizes = {
        f"{run.path}/{name}": len(data) for run in chosen.runs for name, data in run.files.items()
    }
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
    if index.redacted:
        yield ""
        yield from _wrapped(
            "It is redacted: names and values of the cluster were replaced, the same by the same everywhere, and "
            "manifest.json is that of the redacted files. It was judged after that: the verdict and the "
            "number of violations are those of the run itself."
        )
    if index.left_out:
        yield ""
        yield "Not in this pack:"
        for what in index.left_out:
            yield from _wrapped(what, "  ")


def _how(index: packs.Index, name: str) -> Iterator[str]:
    first = index.runs[0]
    page = f"{index.campaigns[0]}/index.html" if index.campaigns else f"{first.path}/report.html"
    yield ""
    yield f"Read it    unpack it and open {page} in a browser"
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
