"""Progress and verdicts on the terminal; plain lines if there is no terminal."""

import collections
import contextlib
import pathlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import rich.console
import rich.progress
import rich.table
import rich.text

from harness import errors
from harness.checks import run_figures, verdict_files, verdicts
from harness.cli.terminal import outputs
from harness.history import directories
from harness.report import escaping, run_facts
from harness.run import progressing

STYLES = {
    verdicts.Verdict.VALID: "bold green",
    verdicts.Verdict.UNKNOWN: "bold yellow",
    verdicts.Verdict.INVALID: "bold red",
}
_VIOLATIONS_SHOWN = 3
_OBJECTS_SHOWN = 6
_PLAIN = outputs.Output()
WIDE = 160
"""Columns of output without a terminal."""


class Console(rich.console.Console):
    """A console that escapes control characters, since names in evidence are untrusted."""

    def render_str(self, text: str, **options: Any) -> rich.text.Text:
        """Escape a text; rich calls this for all text, including tables.

        Names like `:bug:` stay as they are.
        """
        return super().render_str(escaping.visible(text), **options | {"emoji": False})


def console(*, stderr: bool = False) -> Console:
    shown = Console(stderr=stderr, highlight=False)
    return shown if shown.is_terminal else Console(stderr=stderr, highlight=False, width=WIDE)


def table(
    titles: Sequence[str],
    rows: Iterable[Sequence[str | rich.text.Text]],
    *,
    right: Collection[str] = (),
    unbroken: Collection[str] = (),
) -> rich.table.Table:
    """Return a table; cells are shown and not obeyed, and wrapped except in `unbroken` columns."""
    made = rich.table.Table(box=None, pad_edge=False)
    for title in titles:
        side: rich.console.JustifyMethod = "right" if title in right else "left"
        made.add_column(title, overflow="fold", justify=side, no_wrap=title in unbroken)
    for row in rows:
        cells = (
            rich.text.Text(escaping.visible(cell)) if isinstance(cell, str) else cell
            for cell in row
        )
        made.add_row(*cells)
    return made


class _Bar(rich.progress.ProgressColumn):
    """A bar if the total is known; empty otherwise, since an indeterminate bar looks stuck."""

    def __init__(self) -> None:
        super().__init__()
        self._bar = rich.progress.BarColumn()

    def render(self, task: rich.progress.Task) -> rich.console.RenderableType:
        return self._bar.render(task) if task.total else ""


def progress(
    *columns: rich.progress.ProgressColumn, on: rich.console.Console
) -> rich.progress.Progress:
    """Return a display that vanishes at the end; without a terminal it shows printed lines only."""
    is_disabled = not on.is_terminal
    return rich.progress.Progress(*columns, console=on, transient=True, disable=is_disabled)


class RunProgress(progressing.Progress):
    """Shows the phases of a run on stderr.

    One changing line on a terminal; one line for each phase without a terminal or if verbose.
    """

    def __init__(self, bars: rich.progress.Progress, *, is_verbose: bool) -> None:
        self._bars, self._is_verbose, self._started = bars, is_verbose, time.monotonic()
        self._task: rich.progress.TaskID | None = None
        self._active: tuple[str, ...] = ()

    def phase(self, name: str) -> None:
        if self._is_verbose or not self._bars.console.is_terminal:
            self.note(name)
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(escaping.visible(name), total=None, amount="", faults="")
        self._show_faults()

    def advance(self, done: int, total: int, unit: str) -> None:
        if self._task is not None:
            amount = f"{done}/{total} {unit}"
            self._bars.update(self._task, completed=done, total=total, amount=amount)

    def note(self, text: str) -> None:
        after = f"{time.monotonic() - self._started:6.1f} s  " if self._is_verbose else ""
        self._bars.console.print(f"{after}{text}", highlight=False, markup=False, soft_wrap=True)

    def faults(self, active: Sequence[str]) -> None:
        """Show the faults that are on, if they have changed: as a line, or beside the progress."""
        if tuple(active) == self._active:
            return
        self._active = tuple(active)
        if self._is_verbose or not self._bars.console.is_terminal:
            self.note(self._on or "no fault is on")
        self._show_faults()

    @property
    def _on(self) -> str:
        return f"on: {', '.join(self._active)}" if self._active else ""

    def _show_faults(self) -> None:
        if self._task is not None:
            self._bars.update(self._task, faults=escaping.visible(self._on))


@contextlib.contextmanager
def run_progress(
    out: outputs.Output, shown_on: rich.console.Console | None = None
) -> Iterator[progressing.Progress]:
    if out.is_quiet:
        yield progressing.Progress()
        return
    columns = (
        rich.progress.SpinnerColumn(),
        rich.progress.TextColumn("{task.description}", markup=False),
        _Bar(),
        rich.progress.TextColumn("{task.fields[amount]}", markup=False),
        rich.progress.TextColumn("{task.fields[faults]}", markup=False),
        rich.progress.TimeElapsedColumn(),
    )
    with progress(*columns, on=shown_on or console(stderr=True)) as bars:
        yield RunProgress(bars, is_verbose=out.is_verbose)


@contextlib.contextmanager
def status(text: str, out: outputs.Output) -> Iterator[Callable[[str], None]]:
    if out.is_quiet:
        yield lambda _: None
        return
    with console(stderr=True).status(text) as shown:
        yield shown.update


@contextlib.contextmanager
def keeping_evidence(path: pathlib.Path) -> Iterator[None]:
    """Turn KeyboardInterrupt into InterruptionError, which names the folder of the evidence."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        raise errors.InterruptionError(
            f"interrupted; the evidence recorded so far is in {path}"
        ) from interruption


def document(
    judgement: verdict_files.Judgement, directory: directories.RunDirectory, pack: str = ""
) -> dict[str, Any]:
    where = pack or str(directory.path.resolve())
    return {**msgspec.to_builtins(judgement), "directory": where}


def show(
    judgement: verdict_files.Judgement,
    directory: directories.RunDirectory,
    *,
    out: outputs.Output = _PLAIN,
    unwritten: str = "",
    pack: str = "",
) -> None:
    """Print the verdict, its violations and the path of the report.

    `unwritten`: the reason why verdict and report could not be written; empty if they were.
    `pack`: the run's place in a pack, where nothing is written; empty: it is in none.
    """
    if out.is_json:
        out.document(document(judgement, directory, pack))
    else:
        _print(judgement, directory, out)
    if unwritten:
        text = f"This verdict and its report are not in {directory.path}: {unwritten}"
        shown = console(stderr=out.is_json or out.is_quiet)
        shown.print(f"  {text}", markup=False, soft_wrap=True)
    elif not (out.is_json or out.is_quiet):
        where = f"report.html in {pack}" if pack else str(directory.report)
        console().print(f"  {where}", markup=False, soft_wrap=True)


class Line(NamedTuple):
    """The line about one of several run directories."""

    word: str
    """Its verdict, or `ERROR`."""
    place: str
    about: str
    code: int
    document: dict[str, Any]


def failed(path: pathlib.Path, error: errors.HarnessError) -> Line:
    document = {"directory": str(path), "error": str(error)}
    return Line("ERROR", str(path), str(error), type(error).exit_code, document)


def show_line(line: Line, *, out: outputs.Output) -> None:
    """Print the verdict on one of several run directories, and what is said of it unless quiet."""
    style = STYLES[verdicts.Verdict(line.word)] if line.word != "ERROR" else "bold red"
    shown = Console(highlight=False, soft_wrap=True)
    shown.print(f"[{style}]{line.word:<8}[/]", end="")
    text = line.place if out.is_quiet else f"{line.place}: {line.about}"
    shown.print(text.replace("\n", " "), markup=False)


def show_each(
    paths: Iterable[pathlib.Path], look: Callable[[pathlib.Path], Line], *, out: outputs.Output
) -> int:
    lines = []
    for path in paths:
        try:
            line = look(path)
        except errors.HarnessError as error:
            line = failed(path, error)
        show_line(line, out=out)
        lines.append(line)
    code = worst([line.code for line in lines])
    if out.is_json:
        out.document({"schema": 1, "exit_code": code, "runs": [line.document for line in lines]})
    return code


_RANKS = (10, 1, 2, 20, 0)
"""Exit codes of several run directories, the one that counts first."""


def worst(codes: Sequence[int]) -> int:
    return min(codes, key=_RANKS.index)


def _print(
    judgement: verdict_files.Judgement, directory: directories.RunDirectory, out: outputs.Output
) -> None:
    shown = Console(highlight=False, soft_wrap=True)
    shown.print(f"[{STYLES[judgement.verdict]}]{judgement.verdict}[/]", end=" ")
    shown.print(_headline(judgement, in_full=out.is_quiet), markup=False)
    if not out.is_quiet:
        for line in _details(judgement, directory, is_verbose=out.is_verbose):
            shown.print(f"  {line}", markup=False)


def _headline(judgement: verdict_files.Judgement, *, in_full: bool) -> str:
    """Unless `in_full`, an incomplete certificate is a count: `_details` has its gaps."""
    missing = sum(not item.ok for item in judgement.certificate)
    reason = judgement.reason
    if judgement.verdict is verdicts.Verdict.UNKNOWN and missing and not in_full:
        reason = f"inconclusive; {missing} of {len(judgement.certificate)} items of the certificate do not hold"
    return f"{judgement.scenario}, {judgement.subject_name}: {reason}"


def _details(
    judgement: verdict_files.Judgement, directory: directories.RunDirectory, *, is_verbose: bool
) -> Iterator[str]:
    violations = [item for check in judgement.checks for item in check.violations]
    for violation in violations[:_VIOLATIONS_SHOWN]:
        yield from _describe(violation)
    if judgement.figures.violations > _VIOLATIONS_SHOWN:
        yield f"and {judgement.figures.violations - _VIOLATIONS_SHOWN} more, see the report"
    yield from _gaps(judgement, is_verbose=is_verbose)
    if is_verbose:
        yield from (item.sentence for item in judgement.thresholds)
        for left in judgement.not_examined:
            yield f"not examined: {left.check} ({left.reason})"
    found = judgement.figures
    yield (
        f"{outputs.counted(found.claims, 'claim')}, "
        f"{outputs.counted(found.allocations, 'allocation')} of {outputs.counted(found.devices, 'device')}, "
        f"{outputs.counted(found.pods_running, 'pod')} ran, "
        f"{found.allocations_per_s or 0:g} allocations/s"
    )
    yield from run_figures.memory_lines(found.memory)
    if is_verbose:
        yield from (str(path) for path in sorted(directory.logs.rglob("*.log*")))


def _gaps(judgement: verdict_files.Judgement, *, is_verbose: bool) -> Iterator[str]:
    yield from run_facts.gaps(judgement)
    if judgement.verdict is verdicts.Verdict.UNKNOWN:
        for threshold in judgement.thresholds:
            if threshold.verdict is verdicts.Verdict.UNKNOWN:
                yield f"no answer: {threshold.sentence}"
    not_needed = f"{run_facts.NOT_NEEDED}, since {run_facts.WHY_NOT_NEEDED}"
    for item in judgement.certificate if is_verbose else ():
        if item.ok or not item.needed:
            yield f"{'certified' if item.ok else not_needed}: {item.question} {item.reason}"


def _describe(violation: verdicts.Violation) -> Iterator[str]:
    """The report has the uids and resourceVersions."""
    yield f"{violation.guarantee}: {violation.summary}"
    names: dict[str, list[str]] = collections.defaultdict(list)
    for item in violation.objects:
        names[item.kind].append(f"{item.namespace}/{item.name}" if item.namespace else item.name)
    rows = [(f"  {kind}", _enumerate(objects)) for kind, objects in names.items()]
    if violation.schedulers:
        rows.append(("  schedulers", violation.schedulers))
    if violation.attribution:
        rows.append(("  faults", violation.attribution))
    if rows:
        yield from outputs.aligned(rows)


def _enumerate(names: Sequence[str]) -> str:
    more = len(names) - _OBJECTS_SHOWN
    return ", ".join(names[:_OBJECTS_SHOWN]) + f", {more} more" * (more > 0)
