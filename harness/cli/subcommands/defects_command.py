"""`flake-hunt defects`: the known defects, what shows each, and how fast; and the known hazards."""

import textwrap
from typing import TYPE_CHECKING

from harness import errors, suggestions
from harness.cli import options
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.run.defects import defect_records
    from harness.scenario import hazards


_TITLES = ("defect", "breaks", "reported", "median")
_HAZARD_TITLES = ("hazard", "what happens", "remedy")


def defects(
    names: list[str] | None = options.argument(
        "Defects, or hazards such as H1, to tell about (default: a table of all).",
        "NAME",
        default=None,
    ),
    output: outputs.Form = outputs.FORM,
) -> int:
    """List the known defects: the guarantee that each breaks, what shows it, and how fast.

    The times were measured on two cores, some of them on busy ones: seconds of a run until it was
    caught, CPU seconds of a search until it was found. Hazards are what today's Kubernetes still
    does. With a name: all that is known about it.
    """
    from harness.run.defects import defect_records
    from harness.scenario import hazards

    with outputs.chosen(output) as out:
        listed, pages = _chosen(
            defect_records.listed(), list(hazards.pages().values()), names or []
        )
        if out.is_json:
            found = [page.hazard for page in pages]
            out.document({"schema": 2, "defects": listed, "hazards": found})
        elif names:
            print("\n\n".join([*map(_described, listed), *map(_page, pages)]))
        else:
            _show(listed, pages)
    return 0


def _chosen(
    listed: "list[defect_records.KnownDefect]", pages: "list[hazards.Page]", names: list[str]
) -> "tuple[list[defect_records.KnownDefect], list[hazards.Page]]":
    if not names:
        return listed, pages
    defects = {row.name: row for row in listed}
    of_hazards = {page.hazard.id.casefold(): page for page in pages}
    for name in names:
        if name not in defects and name.casefold() not in of_hazards:
            known = [*defects, *(page.hazard.id for page in pages)]
            near = suggestions.did_you_mean(name, known)
            raise errors.UsageError(
                f"expected a known defect or hazard, got {name!r}; `flake-hunt defects` lists "
                f"them.{near}"
            )
    return (
        [defects[name] for name in names if name in defects],
        [of_hazards[name.casefold()] for name in names if name.casefold() in of_hazards],
    )


def _show(listed: "list[defect_records.KnownDefect]", pages: "list[hazards.Page]") -> None:
    from harness.cli.terminal import displaying
    from harness.run.defects import defect_records

    console = displaying.console()
    rows = []
    for row in listed:
        best = defect_records.best(row.detections)
        median = f"{defect_records.shown(best.median_s or 0.0)} s" if best else ""
        rows.append((row.name, row.guarantee, ", ".join(row.issues) or "no, a mutant", median))
    console.print(displaying.table(_TITLES, rows, unbroken=_TITLES[:1]))
    print(f"\n{outputs.counted(len(listed), 'known defect')}.\n")
    found = [(page.hazard.id, page.hazard.title, page.hazard.remedy or "") for page in pages]
    console.print(displaying.table(_HAZARD_TITLES, found, unbroken=_HAZARD_TITLES[:1]))
    counted = outputs.counted(len(pages), "hazard")
    print(f"\n{counted} of Kubernetes. `flake-hunt defects NAME` tells more.")


def _described(row: "defect_records.KnownDefect") -> str:
    told = [
        (row.name, ""),
        ("part", row.part),
        ("breaks", f"{row.guarantee} {row.check}"),
        ("reported", ", ".join(row.issues) or "no: a mutant"),
        ("releases", row.releases or "none"),
        ("--as", ", ".join(row.as_releases) or "no release"),
        *(
            (
                "explore --random-worlds" if item.kind == "random" else f"{item.kind} {item.place}",
                _measured(item),
            )
            for item in row.detections
        ),
        ("try", f"flake-hunt {row.command}"),
        ("", " ".join(row.description.split())),
    ]
    return "\n".join(_line(*item) for item in told)


def _page(page: "hazards.Page") -> str:
    from harness.scenario import hazards

    known, since = page.hazard, page.hazard.since_release
    told = [
        ("kinds", ", ".join(known.kinds)),
        ("reported", ", ".join(known.issues) or "no"),
        ("part", ", ".join(known.parts) or "none"),
        ("since", f"{since.release} ({since.known})" if since else "no release"),
        ("status", known.status),
        *(
            (
                f"{trial.program} ({trial.how})",
                f"shown in {trial.shown} of {trial.runs} on {trial.server}",
            )
            for trial in known.programs
        ),
        ("scripts", ", ".join(hazards.scripts(known)) or "none"),
        ("scenarios", ", ".join(hazards.scenarios(known)) or "none"),
        ("worlds", ", ".join(known.worlds) or "none"),
        ("remedy", known.remedy or "none"),
        *(("defect", name) for name in known.defects),
    ]
    steps = [f"  {line}" for line in known.steps]
    return "\n".join([known.id, *(_line(*item) for item in told), "", *steps, "", page.text])


def _measured(item: "defect_records.Detection") -> str:
    from harness.run.defects import defect_records

    if not item.found:
        return f"not found in {item.attempts}"
    median, worst = (
        defect_records.shown(time_s or 0.0) for time_s in (item.median_s, item.worst_s)
    )
    return f"found in {item.found} of {item.attempts}, median {median} s, worst {worst} s"


def _line(title: str, text: str) -> str:
    if not title:
        return textwrap.indent(textwrap.fill(text, 96), "  ")
    return f"  {title:<42} {text}" if text else title
