"""Reference pages of the site about what Flake Hunt ships, generated from the code that has it.

Scenarios, fault kinds, checks, known defects with their track record, worlds, rules of drivers, and
packages.
"""

import ast
import itertools
import pathlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.run.defects import defect_records

ROOT = pathlib.Path(__file__).parents[1]
_SCENARIOS = """Each is a file in `scenarios/`. `flake-hunt run NAME` makes one run of it, and
`flake-hunt hunt NAME` repeats it with its controls."""
_REGRESSIONS = """`flake-hunt hunt regress` runs these, and neither the plain hunt nor `hunt --all`
does. Each is INVALID with its defect and VALID without it."""
_SCRIPTS = """A script makes no load: it commands the order of a few API events, or of threads of a program
in Go, and so shows one of the [findings](../findings/README.md) on any program that has it."""

_DRIVER_RULES = """`flake-hunt driver-test` checks them. A `must` that is broken makes the result INVALID,
a `should` or a `note` is told. Of the sources, `kubelet/` is pkg/kubelet/ of kubernetes/kubernetes,
`plugin/` staging/src/k8s.io/dynamic-resource-allocation/kubeletplugin/, `api/`
staging/src/k8s.io/kubelet/pkg/apis/, and `resource/` staging/src/k8s.io/api/resource/v1/."""


def scenarios() -> str:
    """Return the page of the shipped scenarios, each with its description and its controls."""
    plain, more = _scenarios_in("scenarios"), _scenarios_in("scenarios/regress")
    first = [it for it in plain if it.get("plain_hunt")]
    others = [it for it in plain if not it.get("plain_hunt")]
    return "\n\n".join(
        [
            "# Scenarios",
            _SCENARIOS,
            "## In the plain hunt",
            *map(_scenario, first),
            "## In `hunt --all`",
            *map(_scenario, others),
            "## Regressions",
            _REGRESSIONS,
            *map(_scenario, more),
            "## Scripts",
            _SCRIPTS,
            *map(_scenario, _scenarios_in("scenarios/confirm")),
        ]
    )


def _scenarios_in(folder: str) -> list[dict[str, Any]]:
    paths = sorted((ROOT / folder).glob("*.toml"))
    return [tomllib.loads(path.read_text(encoding="utf-8")) for path in paths]


def _scenario(content: Mapping[str, Any]) -> str:
    lines = [f"### `{content['name']}`", f"{content['title']}.", flat(content["description"])]
    for key, text in (("controls", "Controls"), ("remedies", "Remedies")):
        if content.get(key):
            lines.append(f"{text}: {_codes(content[key])}.")
    if kinds := dict.fromkeys(fault["kind"] for fault in content.get("faults", ())):
        lines.append(f"Faults: {_codes(kinds)}.")
    return "\n\n".join(lines)


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def fault_kinds() -> str:
    """Return the page of fault kinds: the keys that each has of its own, and its effect."""
    from harness.scenario import schemas

    schema: Any = schemas.schema("scenario")
    kinds = {
        properties["kind"]["const"]: table
        for table in schema["$defs"].values()
        if "required" in (properties := table.get("properties", {}))
        and "const" in properties.get("kind", {})
    }
    shared = set.intersection(*(set(table["properties"]) for table in kinds.values()))
    of_traffic = {"on", "skip", "every", "probability"}
    rows = [
        f"| `{kind}` | {_codes(_own(table['properties'], shared, of_traffic))} "
        f"| {cell(table['description'])} |"
        for kind, table in kinds.items()
    ]
    head = "| kind | own keys | effect |\n|---|---|---|\n"
    return (
        "# Fault kinds\n\n"
        "A scenario has faults in `[[faults]]`; [write a scenario](../how-to/write-a-scenario.md) "
        f"says how. Every fault has {_codes(sorted(shared - {'kind'}))}. Kinds that apply to API "
        "calls and watch events also have `on`, `skip`, `every`, `times`, `probability` and "
        "`duration_s`. The keys with their types and defaults are in "
        "[Keys of a scenario](scenario-keys.md).\n\n" + head + "\n".join(rows) + "\n"
    )


def _own(properties: Mapping[str, Any], shared: set[str], of_traffic: set[str]) -> list[str]:
    """Return the keys that neither all faults have nor all of API calls."""
    left = [key for key in properties if key not in shared]
    if of_traffic <= {*properties}:
        left = [key for key in left if key not in of_traffic | {"times", "duration_s"}]
    return left


def checks() -> str:
    """Return the page of the checks: the guarantee that each judges, and when."""
    from harness.checks import check_registry

    rows = [
        f"| `{check.name}` | {check.guarantee} | {cell(check.promise)} |"
        for check in check_registry.CHECKS
    ]
    return (
        "# Checks\n\n"
        "Each check judges one promise from the files of a run. The letters name the guarantees of "
        "[Verdicts](verdicts.md#guarantees).\n\n"
        "| check | | promise |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def figures() -> str:
    """Return the page of the figures that thresholds can be about."""
    from harness.model import figures as known

    rows = [
        f"| `{figure.name}` | {figure.unit} | {cell(figure.meaning)} | {_needed(figure)} "
        f"| {figure.over_runs or 'its own'} | `{figure.file}` |"
        for figure in known.FIGURES.values()
    ]
    head = "| figure | unit | what it is | needs | over the runs of a campaign | from |\n"
    return (
        "# Figures\n\n"
        "What [thresholds](../how-to/thresholds.md) can be about. Those of a run stand below "
        "`figures` in its verdict.json, under the same names; times are those at which the recorder "
        "saw the commits.\n\n" + head + "|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _needed(figure: Any) -> str:
    return f"{figure.least} {figure.needs}" if figure.least > 1 else str(figure.needs)


def defects() -> str:
    """Return the page of the known defects, with how often and how fast each was found."""
    from harness.run.defects import defect_records

    listed = defect_records.listed()
    reported = defect_table(row for row in listed if row.issues)
    mutants = defect_table(row for row in listed if not row.issues)
    described = "\n\n".join(f"### `{row.name}`\n\n{row.description}" for row in listed)
    return (
        "# Known defects\n\n"
        "Bugs that can be switched on with `--defect`: most were shipped by Kubernetes or by a "
        "scheduler that reuses its plugin. The tables have the scenario and the world that show "
        "each of them best: seconds of a run until it was caught (three runs at once on two cores), "
        "and CPU seconds of `flake-hunt explore` until the first finding, of 20 searches with "
        "different seeds. `flake-hunt defects NAME` has the figures of every scenario and world.\n\n"
        f"## Reported defects\n\n{reported}\n## Mutants, which never were in a release\n\n{mutants}\n"
        f"## What was wrong\n\n{described}\n"
    )


def defect_table(rows: "Iterable[defect_records.KnownDefect]") -> str:
    """Return a table of defects in Markdown."""
    head = "| defect | part | check | releases | in runs | in a world | random worlds | command |\n"
    return head + "|---|---|---|---|---|---|---|---|\n" + "".join(map(_defect, rows))


def _defect(row: "defect_records.KnownDefect") -> str:
    from harness.run.defects import defect_records

    name = f"`{row.name}`" + f" ({', '.join(row.issues)})" * bool(row.issues)
    check = f"{row.guarantee} `{row.check}`"
    by_kind = [
        _shown(row.detections, kind) for kind in (defect_records.SCENARIO, defect_records.WORLD)
    ]
    releases = row.releases or "none"
    at_random = _shown_random(row.detections)
    cells = (name, row.part, check, releases, *by_kind, at_random, f"`{row.command}`")
    return f"| {' | '.join(cells)} |\n"


def _shown(detections: "list[defect_records.Detection]", kind: str) -> str:
    from harness.run.defects import defect_records

    item = defect_records.best([item for item in detections if item.kind == kind])
    if item is None:
        return ""
    figures = f"{item.found} of {item.attempts}, {_seconds(item.median_s)}"
    if item.found > 1:
        figures += f" (worst {_seconds(item.worst_s)})"
    return f"`{item.place}`: {figures}"


def _shown_random(detections: "list[defect_records.Detection]") -> str:
    from harness.run.defects import defect_records

    found = [item for item in detections if item.kind == defect_records.RANDOM]
    return ", ".join(
        f"{item.found} of {item.attempts}" + f", {_seconds(item.median_s)}" * bool(item.found)
        for item in found
    )


def _seconds(seconds: float | None) -> str:
    from harness.run.defects import defect_records

    return "" if seconds is None else f"{defect_records.shown(seconds)} s"


def driver_rules() -> str:
    """Return the page of the rules that `flake-hunt driver-test` checks, with their sources."""
    from harness.conformance import rules as driver_rules

    parts = ["# Rules of a DRA driver", _DRIVER_RULES]
    for group, rules in itertools.groupby(driver_rules.all_rules(), key=lambda rule: rule.group):
        head = "| rule | weight | what holds | if not | sources |\n|---|---|---|---|---|"
        rows = [
            f"| `{rule.id}` | {rule.level} | {rule.says} | {rule.fails} | {'; '.join(rule.sources)} |"
            for rule in rules
        ]
        parts += [f"## {group}", "\n".join([head, *rows])]
    return "\n\n".join(parts) + "\n"


def worlds() -> str:
    """Return the page of the worlds to explore: what happens in each, and what it finds."""
    from harness.explore.worlds import world_catalogue
    from harness.run.defects import defect_records

    finds: dict[str, list[str]] = {}
    for row in defect_records.listed():
        for world in row.worlds:
            finds.setdefault(world, []).append(row.name)
    rows = []
    for name, world in world_catalogue.WORLDS.items():
        hazard = f"{world.hazard.id} " if world.hazard else ""
        rows.append(f"| `{name}` | {cell(world.title)} | {hazard}{_codes(finds.get(name, ()))} |")
    return (
        "# Worlds to explore\n\n"
        "`flake-hunt explore WORLD` runs a small world in one process and chooses the interleaving "
        "([how](../how-to/explore.md)). A world has its objects, its actors (schedulers, claim "
        "controller, kubelets, drivers, other clients), things that happen, and oracles that judge "
        "it. The last column has the known defects that it finds, and the hazard that it shows "
        "([findings](../findings/README.md)).\n\n"
        "| world | what happens | what it shows |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def packages() -> str:
    """Return the page of the packages: what belongs in each and what does not."""
    found = sorted(path.parent for path in (ROOT / "harness").rglob("__init__.py"))
    return "# Packages\n\n" + "\n\n".join(itertools.chain.from_iterable(map(_package, found)))


def _package(folder: pathlib.Path) -> Iterator[str]:
    name = ".".join(folder.relative_to(ROOT).parts)
    yield f"{'#' * min(4, 1 + name.count('.') + 1)} `{name}`"
    source = (folder / "__init__.py").read_text(encoding="utf-8")
    yield ast.get_docstring(ast.parse(source)) or ""


def flat(text: object) -> str:
    """Return a text on one line."""
    return " ".join(str(text).split())


def cell(text: object) -> str:
    """Return a text as a cell of a table."""
    return flat(text).replace("|", "\\|")
