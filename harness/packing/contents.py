"""The files of runs and campaigns that a pack takes."""

import dataclasses
import pathlib
import re

from harness import errors
from harness.checks import judging, verdict_files
from harness.history import campaign_folders, directories, files, manifests, plans

_OF_CAMPAIGN = (
    campaign_folders.PLAN,
    campaign_folders.RESULTS,
    campaign_folders.DOCUMENT,
    campaign_folders.INDEX,
    "junit.xml",
    "summary.md",
)
_UNUSUAL = re.compile(r"[^\w.-]+", re.ASCII)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunContent:
    """A run with its files, and the judgement that they give."""

    plan: plans.Plan
    judgement: verdict_files.Judgement
    path: str
    files: dict[str, bytes]
    """Path in the run directory, with `/` -> content."""


def plain(text: str) -> str:
    return _UNUSUAL.sub("-", text).strip("-.") or "run"


def of_run(path: pathlib.Path) -> RunContent:
    """Return a run that has ended and was judged, and whose verdict is that of its evidence."""
    directory = directories.existing(path)
    judged = judging.examine(directory)
    plan, judgement = judged.history.plan, judged.judgement
    _require_ended(directory, plan)
    verdict_files.require_own(directory, judgement)
    name = f"{plain(plan.scenario)}/{plain(path.resolve().name)}"
    return RunContent(plan=plan, judgement=judgement, path=name, files=files_of(directory, plan))


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


def files_of(directory: directories.RunDirectory, plan: plans.Plan) -> dict[str, bytes]:
    """Return what the run and its judging wrote: path in the run directory -> content."""
    judged = (directory.manifest, directory.verdict, *directory.pages())
    found = [*manifests.written(directory, plan), *(path.name for path in judged)]
    paths = {name: directory.path / name for name in found}
    return {name: _content(path) for name, path in paths.items() if path.is_file()}


def _content(path: pathlib.Path) -> bytes:
    with files.open_regular(path) as file:
        try:
            return file.read()
        except OSError as error:
            raise errors.HistoryError(f"{path.name}: cannot be read ({error.strerror})") from error


def of_campaign(campaign: campaign_folders.CampaignFolder) -> dict[str, bytes]:
    """Return the files of a campaign's folder: path in the pack -> content."""
    folder = f"{campaign_folders.FOLDER}/{plain(campaign.path.resolve().name)}"
    paths = {name: campaign.path / name for name in _OF_CAMPAIGN}
    return {f"{folder}/{name}": _content(path) for name, path in paths.items() if path.is_file()}
