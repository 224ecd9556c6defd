"""Makes packs: all of the given runs, and of campaigns as many as fit, the worst first."""

import dataclasses
import hashlib
import pathlib
from collections.abc import Sequence
from importlib import metadata

from harness import errors
from harness.checks import verdicts
from harness.history import campaign_folders, compressed_files, results, zstd_frames
from harness.packing import (
    contents,
    pack_index,
    readme,
    run_redaction,
    sealed_archives,
    staging,
)
from harness.report.redaction import texts

_PURPOSES = ("subject", "asked", "hazard", "remedy", "control")
_RESERVE = 64 * 1024
"""Bytes that a campaign's pack keeps free for its list of files."""
_LARGEST = 4
"""Files that are named where a run does not fit."""
LEVELS = (15, 19)
"""Levels that are tried one after the other: a run's journals become a twentieth smaller, for
0.05 s a megabyte of their content, and then a sixth, for half a second."""
LEFT_OUT = "its timeline, trace.json, which flake-hunt report RUN_DIR makes again"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A pack that was made, not yet written."""

    name: str
    """Its usual name, without `.zip`; also that of the folder in it."""
    content: bytes
    index: pack_index.Index


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
    whole = chosen
    for level in LEVELS:
        if len(pack.content) > limit:
            chosen = _all_smaller(whole, level)
            pack = _pack(chosen)
    if len(pack.content) > limit:
        raise errors.UsageError(_too_large(chosen, len(pack.content), limit))
    return pack


def _all_smaller(chosen: _Chosen, level: int) -> _Chosen:
    """Return the same without what can be made again, and compressed as far as it can be."""
    runs = [smaller(run, level) for run in chosen.runs]
    without = [f"{run.path}: {LEFT_OUT}" for run in runs]
    return dataclasses.replace(chosen, runs=runs, left_out=[*chosen.left_out, *without])


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
    left = limit - _RESERVE - len(sealed_archives.content(chosen.others))
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
    size = len(sealed_archives.content(run.files)) + 400 * len(run.files)
    if size <= left:
        chosen.runs.append(run)
        return size
    text = f"{run.judgement.verdict}, {size / pack_index.MEGABYTE:.1f} MB, there was no room"
    chosen.left_out.append(f"{run.path}: {text}")
    return 0


def _rank(result: results.RunResult) -> tuple[int, int]:
    """Return the place of a run: the ones that count most in the campaign's verdict come first.

    A run that the campaign's end cut off counts nowhere.
    """
    order = ("INVALID", "UNKNOWN", "VALID")
    verdict = order.index(result.verdict) if result.verdict in order else len(order)
    purpose = _PURPOSES.index(result.purpose) if result.purpose in _PURPOSES else len(_PURPOSES)
    return purpose + result.cut * len(_PURPOSES), verdict


# ----------------------------------------------------------------------------- smaller runs


def smaller(run: contents.RunContent, level: int) -> contents.RunContent:
    """Return the run with smaller files, and with the verdict on these.

    Raises UsageError if that would be another verdict.
    """
    files = dict(_smaller(name, data, level) for name, data in run.files.items())
    with staging.staged(files) as directory:
        sealed = staging.sealed(run, directory)
    kept = {name: data for name, data in sealed.files.items() if not name.startswith("trace.json")}
    return dataclasses.replace(sealed, files=kept)


def _smaller(name: str, data: bytes, level: int) -> tuple[str, bytes]:
    """Return a file of a run, compressed as far as possible if it is a journal or a log."""
    if not _is_compressible(name, data):
        return name, data
    compressed_name = name.removesuffix(zstd_frames.SUFFIX) + zstd_frames.SUFFIX
    try:
        compressed = b"".join(compressed_files.frames(contents.opened(name, data), level))
    except (zstd_frames.FrameError, EOFError):
        return name, data
    return min((compressed_name, compressed), (name, data), key=lambda found: len(found[1]))


def _is_compressible(name: str, data: bytes) -> bool:
    is_large = len(data) >= compressed_files.LEAST_BYTES
    is_record = name.endswith(".jsonl") or (name.startswith("audit/") and not name.endswith(".gz"))
    return name.endswith(zstd_frames.SUFFIX) or (is_record and is_large)


# ------------------------------------------------------------------------------- the file


def _pack(chosen: _Chosen) -> Pack:
    files = dict(chosen.others)
    for run in chosen.runs:
        files |= {f"{run.path}/{name}": data for name, data in run.files.items()}
    name, index = _name(chosen) + "-redacted" * chosen.is_redacted, _index(chosen, {})
    text = readme.text(index, name).encode()
    files = {pack_index.README: text, **dict(sorted(files.items()))}
    index = _index(chosen, files)
    entries = {f"{name}/{pack_index.NAME}": pack_index.encode(index)}
    entries |= {f"{name}/{file}": data for file, data in files.items()}
    return Pack(name=name, content=sealed_archives.content(entries), index=index)


def _index(chosen: _Chosen, files: dict[str, bytes]) -> pack_index.Index:
    return pack_index.Index(
        flake_hunt=metadata.version("flake-hunt"),
        redacted=chosen.is_redacted,
        runs=[_run(run) for run in chosen.runs],
        campaigns=[name.rpartition("/")[0] for name in chosen.others if _is_plan(name)],
        left_out=chosen.left_out,
        files={name: _listed(data) for name, data in files.items()},
    )


def _is_plan(name: str) -> bool:
    return name.rpartition("/")[2] == campaign_folders.PLAN


def _listed(data: bytes) -> pack_index.File:
    return pack_index.File(bytes=len(data), digest=f"sha256:{hashlib.sha256(data).hexdigest()}")


def _run(run: contents.RunContent) -> pack_index.Run:
    judgement = run.judgement
    return pack_index.Run(
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
        f"expected at most {_mb(limit)}, but what the verdict needs takes {_mb(size)}, compressed as far as it "
        f"can be ({named}, …): pack fewer runs, pack the smallest run that fails in the same way (flake-hunt "
        "reproduce RUN_DIR), or use --limit-mb for a place that takes larger files"
    )


def _mb(size: int) -> str:
    return f"{size / pack_index.MEGABYTE:.1f} MB"
