"""`flake-hunt scenarios`: which scenarios there are, and what one of them is."""

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

from harness import errors, suggestions
from harness.cli import choosing, options
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.explore.worlds import world_specs
    from harness.scenario import loading, specs

_TITLES = ("scenario", "what it shows", "load", "expected")


def scenarios(
    names: Annotated[
        list[str] | None,
        options.argument(
            "Scenarios or files to tell about, or `regress` or `confirm` for a table of those, or "
            "`worlds` for those of `explore` (default: a table of what `hunt --all` runs).",
            "NAME",
            autocompletion=choosing.scenario_names,
        ),
    ] = None,
    schema: Annotated[
        str | None,
        options.of(
            "Print the JSON Schema of scenario or cluster files, by which an editor completes keys: name it in the "
            'first line, "#:schema ./scenario.schema.json". Or that of a document: verdict, campaign, plan and others.',
            metavar="KIND",
        ),
    ] = None,
    output: outputs.Form = "text",
) -> int:
    """List the scenarios: what each shows, how long its load takes, and what is expected.

    With a name: its description, and its keys with their values. A hazard is expected to fail, also
    with today's Kubernetes; controls are known defects that it catches.
    """
    from harness.cli.terminal import displaying
    from harness.scenario import loading

    if schema:
        print(_schema(schema), end="")
        return 0
    if names == ["worlds"]:
        return _list_worlds(output)
    groups = {loading.REGRESS, loading.CONFIRM}
    is_table = not names or groups >= {*names}
    chosen = loading.expanded(names) if names else loading.SHELF.names()
    found = [loading.load(name) for name in chosen]
    with outputs.chosen(output) as out:
        if out.is_json:
            out.document({"schema": 1, "scenarios": [_document(item) for item in found]})
        elif is_table:
            rows = [_row(item.scenario) for item in found]
            displaying.console().print(displaying.table(_TITLES, rows, unbroken=_TITLES[:1]))
            counted = outputs.counted(len(rows), "scenario")
            print(f"\n{counted}. `flake-hunt scenarios NAME` tells more.")
        else:
            print("\n\n".join(map(_described, found)))
    return 0


def _schema(kind: str) -> str:
    from harness.cli import document_schemas

    known = ["scenario", "cluster", *document_schemas.TYPES]
    if kind not in known:
        near = suggestions.did_you_mean(kind, known) or f" Kinds: {', '.join(known)}."
        raise errors.UsageError(f"expected a kind of file with a schema, got {kind!r}.{near}")
    return document_schemas.text(kind)


def _document(loaded: "loading.Loaded") -> dict[str, Any]:
    scenario = loaded.scenario
    return {
        "name": scenario.name,
        "title": scenario.title,
        "description": " ".join(scenario.description.split()),
        "load_s": _seconds(scenario),
        "hazard": scenario.known_to_fail,
        "controls": scenario.controls,
    }


def _row(scenario: "specs.Scenario") -> tuple[str, ...]:
    return (scenario.name, scenario.title, _load(scenario), _expected(scenario))


def _load(scenario: "specs.Scenario") -> str:
    seconds = _seconds(scenario)
    return f"{seconds:g} s" if seconds else "at once"


def _seconds(scenario: "specs.Scenario") -> float:
    return float(getattr(scenario.traffic, "duration_s", 0) or scenario.traffic.longest_s)


def _expected(scenario: "specs.Scenario") -> str:
    if scenario.known_to_fail:
        return f"hazard {scenario.known_to_fail}"
    controls = len(scenario.controls)
    return f"valid, {outputs.counted(controls, 'control')}" if controls else "valid"


def _described(loaded: "loading.Loaded") -> str:
    scenario = loaded.scenario
    head = f"{scenario.name}: {scenario.title} ({_load(scenario)}, {_expected(scenario)})"
    return f"{head}\n{loaded.path}\n\n{loaded.text.strip()}"


def _list_worlds(output: str) -> int:
    from harness.explore.worlds import world_catalogue

    with outputs.chosen(output) as out:
        if out.is_json:
            listed = [_world(*item) for item in world_catalogue.WORLDS.items()]
            out.document({"schema": 1, "scenarios": listed})
            return 0
        width = max(map(len, world_catalogue.WORLDS)) + 2
        for name, spec in world_catalogue.WORLDS.items():
            print(f"{name:<{width}}{spec.title}{_known_to_fail(spec)}")
    return 0


def _world(name: str, spec: "world_specs.WorldSpec") -> dict[str, object]:
    hazard = None if spec.hazard is None else dataclasses.asdict(spec.hazard)
    return {
        "name": name,
        "title": spec.title,
        "faults": spec.faults,
        "is_known_to_fail": hazard is not None,
        "hazard": hazard,
    }


def _known_to_fail(spec: "world_specs.WorldSpec") -> str:
    from harness.scenario import hazards

    if spec.hazard is None:
        return ""
    name, remedy = spec.hazard.hypothesis, spec.hazard.remedy
    about = f", but not with --remedy {remedy}" if remedy else f": {name}"
    if hazards.scripts(hazards.pages()[name].hazard):
        about += f"; flake-hunt confirm {name}"
    return f" (known to fail even without a defect{about})"
