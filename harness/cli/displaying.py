"""What the terminal shows: progress while something runs, and the verdict at the end. Plain lines where there is no terminal."""

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Any

import rich.console
import rich.progress
import rich.text

from harness import errors
from harness.checks import judging, verdicts
from harness.history import directories
from harness.report import escaping

STYLES = {
    verdicts.Verdict.VALID: "bold green",
    verdicts.Verdict.UNKNOWN: "bold yellow",
    verdicts.Verdict.INVALID: "bold red",
}
_VIOLATIONS_SHOWN = 3
WIDE = 160


class Console(rich.console.Console):
    """A console that obeys no control characters in what it prints, such as the names in a run's evidence."""

    def render_str(self, text: str, **options: Any) -> rich.text.Text:
        """Every text that is printed comes by here, also those in tables."""
        return super().render_str(escaping.visible(text), **options)


def console(*, stderr: bool = False) -> Console:
    """A console that wraps nothing where there is no terminal to wrap for."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=WIDE)


class RunProgress:
    """Shows the phases of a run on stderr."""

    def __init__(self, bars: rich.progress.Progress) -> None:
        self._bars = bars
        self._task: rich.progress.TaskID | None = None

    def phase(self, name: str) -> None:
        """The next phase; on no terminal, a line of its own."""
        if not self._bars.console.is_terminal:
            self._bars.console.print(name, highlight=False)
            return
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(escaping.visible(name), total=None)

    def advance(self, done: int, total: int | None) -> None:
        """So many of so many."""
        if self._task is not None:
            self._bars.update(self._task, completed=done, total=total)


@contextlib.contextmanager
def run_progress() -> Iterator[RunProgress]:
    """A progress display for one run."""
    columns = (
        rich.progress.SpinnerColumn(),
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TimeElapsedColumn(),
    )
    with rich.progress.Progress(*columns, console=console(stderr=True), transient=True) as bars:
        yield RunProgress(bars)


@contextlib.contextmanager
def keeping_evidence(path: pathlib.Path) -> Iterator[None]:
    """InterruptionError with the place of the evidence when the user interrupts."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        raise errors.InterruptionError(
            f"interrupted; what was recorded until then is in {path}"
        ) from interruption


def _subject(judgement: judging.Judgement) -> str:
    if judgement.defects:
        return f"with {', '.join(judgement.defects)}"
    return "correct subject" if judgement.subject == "python" else f"subject {judgement.subject}"


def show(
    judgement: judging.Judgement, directory: directories.RunDirectory, *, unwritten: str = ""
) -> None:
    """Print the verdict with what it rests on, and where its report is, or why it is `unwritten`."""
    out = Console(highlight=False, soft_wrap=True)
    subject = _subject(judgement)
    style = STYLES[judgement.verdict]
    out.print(f"[{style}]{judgement.verdict}[/] {judgement.scenario}, {subject}", end=": ")
    out.print(judgement.reason, markup=False)
    for violation in [item for check in judgement.checks for item in check.violations][
        :_VIOLATIONS_SHOWN
    ]:
        out.print(f"  {violation.text}", markup=False)
    for item in judgement.certificate:
        if not item.ok:
            out.print(f"  not certified: {item.question} {item.reason}", markup=False)
    figures = judgement.figures
    out.print(
        f"  {figures.claims} claims, {figures.allocations} allocations of {figures.devices} devices, "
        f"{figures.pods_running} pods ran, {figures.allocations_per_s or 0:g} allocations/s",
        markup=False,
    )
    if unwritten:
        out.print(
            f"  This verdict and its report are not in {directory.path}: {unwritten}", markup=False
        )
    else:
        out.print(f"  {directory.report}", markup=False)
