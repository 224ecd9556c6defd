"""Write what the front matter of docs/findings says into its pages: facts, trials, commands, index.

    .venv/bin/python tools/findings_index.py

A test compares. Each page has a picture and a table below its title, what real programs did, and
how to see it; README.md has the table of all. A line `Version:` in the text of an issue gets the
programs that did it.
"""

import argparse
import pathlib
import re
from collections.abc import Iterator, Mapping

from harness.scenario import hazards, loading

FOLDER = pathlib.Path(__file__).parents[1] / "docs" / "findings"
MARK, END = "<!-- written by tools/findings_index.py -->\n", "<!-- end -->\n"
"""Around the parts that this program writes."""
SECTIONS = (
    *("What happens", "Why", "What real programs did", "Show it", "What would fix it"),
    "An issue to file",
)
"""Headings of every page of a hazard."""
SOURCE = "https://github.com/kubernetes/kubernetes/blob"
_SECTION = re.compile(f"(?<={MARK}).*?(?={END})", re.DOTALL)
_WRITTEN = re.compile(f"{MARK}.*?{END}\n?", re.DOTALL)
_VERSION = re.compile(r"^Version:.*$", re.MULTILINE)
_OPTIONS = {
    "kube-scheduler": "--subject kube-scheduler=./kube-scheduler",
    "kube-controller-manager": "--claim-controller kube-controller-manager=./kube-controller-manager",
}
"""How a program is given; for others, the embedded API server does as they do."""


def pages() -> Mapping[pathlib.Path, str]:
    """Return all files of the folder that have such parts, with their texts for today."""
    found = {page.path: _page(page, page.path.read_text("utf-8")) for page in _all()}
    index = FOLDER / "README.md"
    return found | {index: _SECTION.sub(lambda _: _index(), index.read_text("utf-8"))}


def _all() -> list[hazards.Page]:
    return list(hazards.pages().values())


def _page(page: hazards.Page, text: str) -> str:
    plain = _WRITTEN.sub("", text)
    parts = (("\n# ", _facts(page)), ("\n## What real programs did", _trials(page.hazard)))
    for heading, written in (*parts, ("\n## Show it", _commands(page.hazard))):
        if written:
            plain = _below(plain, heading, f"{MARK}\n{written}\n{END}\n")
    return _VERSION.sub(f"Version: {seen(page.hazard)}".strip(), plain)


def _below(text: str, heading: str, written: str) -> str:
    """Return the text with what is written below the first line that begins with the heading."""
    before, start, rest = text.partition(heading)
    line, _, below = rest.partition("\n\n")
    return f"{before}{start}{line}\n\n{written}{below}"


def seen(hazard: hazards.Hazard) -> str:
    shown = {tuple(trial.program.rsplit(" ", 1)) for trial in hazard.programs if trial.shown}
    releases: dict[str, list[str]] = {}
    for program, release in sorted(shown, key=lambda one: [int(x) for x in one[1].split(".")]):
        releases.setdefault(program, []).append(release)
    return "; ".join(f"{program} {', '.join(of)}" for program, of in sorted(releases.items()))


def _facts(page: hazards.Page) -> str:
    hazard = page.hazard
    name = page.path.stem
    picture = f"![What happens, step by step](pictures/{name}.svg)\n\n" if hazard.steps else ""
    rows = {
        "severity": hazard.severity,
        "needs": _needs(hazard),
        "effect": ", ".join(hazard.kinds),
        "part": ", ".join(hazard.parts) or "none",
        "oldest release looked at that has it": _since(hazard.since_release),
        "reported": ", ".join(hazard.issues) or "no report was found",
        "remedy here": _remedy(hazard),
        "code": "<br>".join(map(_code, hazard.code)),
        "found here": str(hazard.found),
    }
    lines = "".join(f"| {title} | {text} |\n" for title, text in rows.items() if text)
    return f"{picture}| status | {hazard.status} |\n|---|---|\n{lines}"


def _needs(hazard: hazards.Hazard) -> str:
    needs = "no fault" if hazard.needs == hazards.NO_FAULT else hazard.needs
    return f"{needs}: {hazard.likely}" if hazard.likely else needs


def _code(code: hazards.Code) -> str:
    tag, _, path = code.at.partition("/")
    name = path.rpartition("/")[2].replace("#L", " ").replace("-L", "-")
    return f"[{name}]({SOURCE}/{tag}/{path}) ({tag}): {code.what}"


def _remedy(hazard: hazards.Hazard) -> str:
    if hazard.right_here:
        return "not needed: our scheduler is right, except with `--as` a release"
    return f"`{hazard.remedy}`" if hazard.remedy else "none"


def _since(since: hazards.Since | None) -> str:
    if since is None:
        return "none"
    how = "its program did it" if since.known == "tried" else "by its source"
    return f"{since.release}, {how}"


def _trials(hazard: hazards.Hazard) -> str:
    """Return a table of what was tried; empty: nothing was."""
    if not hazard.programs:
        return ""
    tried: dict[tuple[str, ...], list[str]] = {}
    for trial in sorted(hazard.programs, key=_release):
        program, _, release = trial.program.rpartition(" ")
        key = (program, trial.server, _how(trial.how), _shown(trial))
        tried.setdefault(key, []).append(release)
    rows = (
        f"| {program} {', '.join(releases)} | {' | '.join(key)} |\n"
        for (program, *key), releases in sorted(tried.items())
    )
    return f"| program | API server | tried by | result |\n|---|---|---|---|\n{''.join(rows)}"


def _release(trial: hazards.Trial) -> list[int]:
    return [int(part) for part in trial.program.rpartition(" ")[2].split(".")]


def _shown(trial: hazards.Trial) -> str:
    """Return a rate for a load; a script commands the order, so that a rate would say nothing."""
    if trial.how not in loading.SHELF.names(loading.CONFIRM):
        return f"{trial.shown} of {trial.runs}"
    return "reproduced" if trial.shown else "not reproduced"


def _how(how: str) -> str:
    return how if " " in how else f"`{how}`"


def _commands(hazard: hazards.Hazard) -> str:
    """Return how to show it, each command with what it says; empty: there is no command."""
    lines = list(_lines(hazard))
    width = max((len(command) for command, _ in lines), default=0)
    block = "".join(f"{command:<{width}}    {says}".rstrip() + "\n" for command, says in lines)
    return f"```\n{block}```\n" if lines else ""


def _lines(hazard: hazards.Hazard) -> Iterator[tuple[str, str]]:
    """Yield the commands that show a hazard: first those for real programs."""
    remedy = f" --remedy {hazard.remedy}" if hazard.remedy else ""
    options = "".join(f" {_OPTIONS[part]}" for part in hazard.parts if part in _OPTIONS)
    if hazards.scripts(hazard):
        says = "event by event" + ", on a real program" * bool(options)
        yield f"flake-hunt confirm {hazard.id}{options}", says
    loads = hazards.scenarios(hazard)
    for name in loads:
        yield f"flake-hunt run {name}", "under load: INVALID"
    if loads and remedy:
        yield f"flake-hunt run {loads[0]}{remedy}", "VALID"
    for world in hazard.worlds:
        yield f"flake-hunt explore {world}", "the shortest interleaving"
    if hazard.worlds and remedy:
        others = "".join(f" --remedy {name}" for name in hazard.other_remedies)
        yield f"flake-hunt explore {hazard.worlds[0]}{remedy}{others}", "nothing is found"


def _index() -> str:
    head = "| finding | severity | needs | effect | real programs that did it | status |\n"
    rows = "".join(map(_row, sorted(_all(), key=_rank)))
    return f"\n{head}|---|---|---|---|---|---|\n{rows}\n"


def _rank(page: hazards.Page) -> tuple[bool, bool, bool, int]:
    """Return what sorts findings: what happens without a fault first, then by severity."""
    hazard = page.hazard
    severity = ("high", "medium", "low", "none").index(hazard.severity)
    is_past = hazard.status.startswith("fixed")
    return severity == 3, hazard.needs != hazards.NO_FAULT, is_past, severity


def _row(page: hazards.Page) -> str:
    hazard = page.hazard
    name = "" if "#" in hazard.id else f"{hazard.id}: "
    cells = (
        f"[{name}{hazard.title}]({page.path.name})",
        hazard.severity,
        "no fault" if hazard.needs == hazards.NO_FAULT else hazard.needs,
        ", ".join(hazard.kinds),
        seen(hazard),
        hazard.status,
    )
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    """Write the pages."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    for path, text in pages().items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
