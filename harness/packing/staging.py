"""Changed copies of runs: judged again, with a manifest and a report of their own."""

import contextlib
import pathlib
import tempfile
from collections.abc import Iterator, Mapping

from harness import errors, writing
from harness.checks import judging, verdict_files
from harness.history import directories, manifests
from harness.packing import contents
from harness.report import publishing


@contextlib.contextmanager
def staged(files: Mapping[str, bytes]) -> Iterator[directories.RunDirectory]:
    with tempfile.TemporaryDirectory(prefix="flake-hunt-pack-") as name:
        directory = directories.RunDirectory(pathlib.Path(name) / "run")
        with writing.explained(directory.path):
            for file, data in files.items():
                path = directory.path / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        yield directory


def sealed(run: contents.RunContent, directory: directories.RunDirectory) -> contents.RunContent:
    """Return a run with the files of a directory, where a manifest and the judging are written.

    Raises UsageError if the verdict, or the number of violations of a check, is not the run's.
    """
    for path in (directory.manifest, directory.verdict, *directory.pages()):
        path.unlink(missing_ok=True)
    manifests.write(directory, run_id=run.plan.run_id)
    examination = judging.examine(directory)
    if _counts(examination.judgement) != _counts(run.judgement):
        raise errors.UsageError(
            f"expected the copy of {run.path} to be judged as the run, {run.judgement.verdict} with "
            f"{run.judgement.figures.violations} violations, but it is {examination.judgement.verdict} with "
            f"{examination.judgement.figures.violations}: pack it as it is, and tell the makers of Flake Hunt"
        )
    publishing.publish(examination)
    found = contents.files_of(directory, examination.history.plan)
    return contents.RunContent(
        plan=examination.history.plan,
        judgement=examination.judgement,
        path=run.path,
        files=found,
    )


def _counts(judgement: verdict_files.Judgement) -> dict[str, tuple[str, int]]:
    found = {item.check: (str(item.verdict), item.violation_count) for item in judgement.checks}
    return found | {"": (str(judgement.verdict), judgement.figures.violations)}
