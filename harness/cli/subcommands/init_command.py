"""`flake-hunt init|import|scenarios`: files to begin with, and the scenarios that there are."""

import pathlib
from typing import TYPE_CHECKING, Any

from harness import errors, suggestions
from harness.cli import choosing, options
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.explore.worlds import world_specs
    from harness.scenario import loading, specs


def init(
    folder: pathlib.Path = options.argument(
        "Folder for the examples; it is made if it is missing.", default=pathlib.Path()
    ),
    names: list[str] | None = options.argument(
        "Copy these files or folders only.", "NAME", default=None
    ),
) -> int:
    """Copy examples into a folder: schedulers, a scenario with faults, plug-ins, tests, a workflow.

    Nothing is overwritten. README.md says what each file shows and how to run it.
    """
    from harness.scenario import examples

    for path in examples.copy(folder, only=names or ()):
        print(path)
    return 0


def import_(
    output: pathlib.Path = options.of(
        "Folder to write; it must be new.", "-o", "--into", metavar="FOLDER", default=...
    ),
    files: list[pathlib.Path] = options.argument(
        "Files of objects in YAML or JSON, as `kubectl get … -o yaml` prints them.", "FILES"
    ),
    redact: bool = options.flag(
        "Replace names, identifiers in attributes, and the values of opaque parameters.", "--redact"
    ),
) -> int:
    """Write a scenario of your own devices and workloads, which `flake-hunt run` takes at once.

        kubectl get resourceslices,deviceclasses,nodes,resourceclaimtemplates -A -o json > mine.json

        flake-hunt import mine.json -o my-cluster

    It has the ResourceSlices, DeviceClasses, nodes, ResourceClaimTemplates, claims and workloads of
    the files. Commands, variables, volumes and accounts of containers, and every Secret, stay
    behind; what else does is told.
    """
    from harness.importing import folders, imports

    folders.require_free(output)
    imported = imports.write(imports.from_files(files), output, redacted=redact)
    print(*imported.files, *imported.notes, sep="\n")
    print(f"flake-hunt run {imported.files[0]}")
    return 0


_TITLES = ("scenario", "what it shows", "load", "expected")


def scenarios(
    names: list[str] | None = options.argument(
        "Scenarios or files to tell about, or `regress` or `confirm` for a table of those, or "
        "`worlds` for those of `explore` (default: a table of what `hunt --all` runs).",
        "NAME",
        autocompletion=choosing.scenario_names,
        default=None,
    ),
    schema: str | None = options.of(
        "Print the JSON Schema of scenario or cluster files, by which an editor completes keys: name it in the "
        'first line, "#:schema ./scenario.schema.json". Or that of a document: verdict, campaign, plan and others.',
        metavar="KIND",
    ),
    output: outputs.Form = outputs.FORM,
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
            rows = [
                (one.name, one.title, _load(one), _expected(one))
                for one in (item.scenario for item in found)
            ]
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
    hazard = spec.hazard and {"hypothesis": spec.hazard.id, "remedy": spec.hazard.remedy}
    return {
        "name": name,
        "title": spec.title,
        "faults": [part.name for part in spec.setting(spec.values).parts if part.kind == "fault"],
        "is_known_to_fail": hazard is not None,
        "hazard": hazard,
    }


def _known_to_fail(spec: "world_specs.WorldSpec") -> str:
    from harness.scenario import hazards

    if spec.hazard is None:
        return ""
    name, remedy = spec.hazard.id, spec.hazard.remedy
    about = f", but not with --remedy {remedy}" if remedy else f": {name}"
    if hazards.scripts(hazards.pages()[name].hazard):
        about += f"; flake-hunt confirm {name}"
    return f" (known to fail even without a defect{about})"
