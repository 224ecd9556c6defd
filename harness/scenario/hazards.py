"""The known hazards: ways in which today's Kubernetes fails, each on a page of its own.

A page is a file of `docs/findings` with front matter, which this module reads; the text below it
says what happens, and why. The package has a copy of the folder. Files of the folder without front
matter are about other things.
"""

import datetime
import functools
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from harness import errors
from harness.scenario.toml_files import documents

NO_FAULT = "none"
FOLDER = "docs/findings"
DOUBLE_ALLOCATION = "double allocation"
"""The effect by which campaigns know a hazard that has it."""
_FENCE = "---\n"
"""The line before and after the front matter."""
_WRITTEN = re.compile(r"<!-- written by .*?<!-- end -->\n+", re.DOTALL)
"""Parts of a page that a tool writes from its front matter."""

Part = Literal["kube-scheduler", "kube-controller-manager", "kube-apiserver", "driver"]


class Since(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The oldest release that has it, of those that were looked at."""

    release: str
    known: Literal["tried", "read"]
    """`tried`: its program did it; `read`: its source says so."""


class Trial(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often a real program did it in one way."""

    program: str
    """With its release, as `kube-scheduler 1.36.2`."""
    runs: int
    """Those that were decided: INVALID or VALID."""
    shown: int
    """Runs in which it did it; 0: it does not do it in this way."""
    how: str
    """Name of a scenario or script, or the events that were commanded by hand."""
    server: str = "embedded"
    """The API server, as `kube-apiserver 1.36.2`, with etcd."""


class Code(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the source of Kubernetes does it."""

    at: str
    """Tag, file and lines, as in `v1.36.3/pkg/scheduler/scheduler.go#L10-L12`."""
    what: str


class Hazard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The front matter of a page."""

    id: str
    """Its short name, such as H1 or kubernetes#128980."""
    title: str
    severity: Literal["high", "medium", "low", "none"]
    """`high`: a device is used twice, or a pod runs without its own; `low`: it heals by itself."""
    needs: str
    """The faults without which it does not happen; NO_FAULT: nothing has to break."""
    likely: str = ""
    """How likely it is, in a few words."""
    code: list[Code] = []
    kinds: list[str]
    """Its effects, such as DOUBLE_ALLOCATION."""
    issues: list[str]
    """Where it was reported, as `kubernetes#136269`."""
    worlds: list[str]
    """Worlds of `flake-hunt explore` in which the correct subject fails by it."""
    steps: list[str]
    """Its steps in order, one a line, as `tools/finding_pictures.py` draws them; none: nothing
    happens."""
    parts: list[Part]
    """The programs whose code has it."""
    since_release: Since | None
    """None: no release has it."""
    remedy: str | None = None
    """Name of the remedy with which the subject does not fail; None: there is none."""
    other_remedies: list[str] = []
    """Remedies of other hazards that its first world shows as well."""
    defects: list[str] = []
    """The known defects that are it, if the correct subject does not have it."""
    right_here: bool = False
    """The correct subject does not have it, and with `--as` a release that has it, it does."""
    programs: list[Trial]
    """How often real programs did it."""
    found: datetime.date
    """The day on which it was found here."""
    status: str


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A hazard and its page."""

    hazard: Hazard
    path: pathlib.Path
    text: str
    """The page below its front matter, in Markdown, without what is written from that."""


@functools.cache
def pages() -> Mapping[str, Page]:
    paths = sorted(documents.shipped_folder(FOLDER).glob("*.md"))
    return {page.hazard.id: page for page in map(_read, paths) if page is not None}


def find(text: str) -> Page | None:
    """Return the page of a hazard of this id or title, in any case; None: there is none."""
    wanted = text.casefold()
    names = ((page, (page.hazard.id, page.hazard.title)) for page in pages().values())
    return next((page for page, known in names if wanted in map(str.casefold, known)), None)


def fails_correct_subject(name: str) -> bool:
    """Return whether the correct subject has a hazard; one without a page counts.

    If its page names known defects, only these have it; if it is right here, only releases do.
    """
    page = find(name)
    return bool(name) and (page is None or not (page.hazard.defects or page.hazard.right_here))


def is_of_one_scheduler(name: str) -> bool:
    """Return whether a hazard has a page, and the code of a scheduler alone has it."""
    page = find(name)
    return page is not None and page.hazard.parts == ["kube-scheduler"]


def of_worlds() -> Iterator[tuple[str, Hazard]]:
    for page in pages().values():
        for world in page.hazard.worlds:
            yield world, page.hazard


def scenarios(hazard: Hazard) -> list[str]:
    """Return the shipped scenarios that show a hazard under load, by their key `known_to_fail`.

    Raises ScenarioError if a shipped scenario cannot be loaded.
    """
    from harness.scenario import loading  # pydantic's models: the judge and its report need none

    return [name for name in loading.every_name() if _shows(name, hazard)]


def scripts(hazard: Hazard) -> list[str]:
    """Return the shipped scripts that show a hazard step by step, as `scenarios` does."""
    from harness.scenario import loading

    return [name for name in loading.SHELF.names(loading.CONFIRM) if _shows(name, hazard)]


@functools.cache
def _cause(shipped: str) -> str:
    from harness.scenario import loading

    return loading.load(shipped).scenario.known_to_fail


def _shows(shipped: str, hazard: Hazard) -> bool:
    page = find(_cause(shipped))
    return page is not None and page.hazard == hazard


def _read(path: pathlib.Path) -> Page | None:
    before, _, rest = path.read_text(encoding="utf-8").partition(_FENCE)
    head, fence, text = rest.partition(_FENCE)
    if before or not fence:
        return None
    try:
        hazard = msgspec.yaml.decode(head.encode(), type=Hazard)
    except msgspec.MsgspecError as error:
        raise errors.ScenarioError(f"{path}: expected the keys of a hazard: {error}") from error
    return Page(hazard=hazard, path=path, text=_WRITTEN.sub("", text).strip())
