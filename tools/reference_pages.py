"""Reference pages of the documentation site, generated: every command, key of a file, and table.

`site_pages.py` adds them to the site. The commands are written by typer's own generator; the keys
come from the JSON Schemas of scenarios and cluster profiles. `catalogue_pages.py` has the pages
about scenarios, faults, checks, defects, worlds, rules of drivers and packages.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import catalogue_pages
import msgspec

_MARKUP = re.compile(r"(?<!\\)\[/?[a-z][a-z ]*\]")
"""A tag of rich, such as [bold]; `\\[` is a bracket and no tag."""
_TAGS = ("kind", "profile", "provider", "do")
"""Keys that decide which other keys a table has."""
Schema = Mapping[str, Any]


def commands() -> str:
    """Return the page of all commands with their options."""
    import typer
    from typer.cli import get_docs_for_click

    from harness.cli import commands as cli

    command: Any = typer.main.get_command(cli.make_app())
    context = command.context_class(command, info_name="flake-hunt")
    text = get_docs_for_click(obj=command, ctx=context, name="flake-hunt", title="Commands")
    return _MARKUP.sub("", text).replace("\\[", "[")


def scenario_keys() -> str:
    """Return the page of all keys of a scenario file."""
    return _keys("Keys of a scenario", "scenario")


def cluster_keys() -> str:
    """Return the page of all keys of a cluster profile."""
    return _keys("Keys of a cluster profile", "cluster")


def tables() -> str:
    """Return the page of all tables of a run's record, with their columns."""
    from harness.tables import definitions

    meaning = (
        "The record of a run as tables: DataFrames by `harness.api.tables(run)`, and tables of the "
        f"same names in `flake-hunt query`. {definitions.UNITS}."
    )
    parts = ["# Tables", meaning]
    for table in definitions.TABLES.values():
        rows = [
            f"| `{column.name}` | {column.kind.sql} | {column.dtype} | {column.meaning} |"
            for column in table.columns
        ]
        header = ["| column | SQL | pandas | meaning |", "|---|---|---|---|"]
        parts += [f"## `{table.name}`", table.meaning, "\n".join([*header, *rows])]
    return "\n\n".join(parts) + "\n"


PAGES = {
    "docs/reference/commands.md": commands,
    "docs/reference/scenario-keys.md": scenario_keys,
    "docs/reference/cluster-keys.md": cluster_keys,
    "docs/reference/scenarios.md": catalogue_pages.scenarios,
    "docs/reference/tables.md": tables,
    "docs/reference/fault-kinds.md": catalogue_pages.fault_kinds,
    "docs/reference/checks.md": catalogue_pages.checks,
    "docs/reference/figures.md": catalogue_pages.figures,
    "docs/reference/defects.md": catalogue_pages.defects,
    "docs/reference/worlds.md": catalogue_pages.worlds,
    "docs/reference/driver-rules.md": catalogue_pages.driver_rules,
    "docs/reference/packages.md": catalogue_pages.packages,
}
"""Path on the site -> what writes the page."""


def names() -> set[str]:
    """Return every key of a scenario or cluster file, and every command."""
    import typer

    from harness.cli import commands as cli
    from harness.scenario import schemas

    found = set(_commands(typer.main.get_command(cli.make_app()), "flake-hunt"))
    for kind in ("scenario", "cluster"):
        schema: Any = schemas.schema(kind)
        for table in (schema, *schema["$defs"].values()):
            found |= {*table.get("properties", {})} - {"$schema"}
    return found


def missing(text: str) -> list[str]:
    """Return the keys and commands that a text does not have as words."""
    return sorted(
        name for name in names() if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)
    )


def _commands(command: Any, name: str) -> Iterator[str]:
    yield name
    for part, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from _commands(inner, f"{name} {part}")


def _keys(title: str, kind: str) -> str:
    from harness.scenario import schemas

    schema: Any = schemas.schema(kind)
    sections = [_section(name, table, schema["$defs"]) for name, table in _tables(schema)]
    return "\n\n".join([f"# {title}", str(schema.get("description", "")), *sections]) + "\n"


def _tables(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield each table of the file once, with the first name that it has: breadth first."""
    queue, seen = [("", schema)], set[str]()
    while queue:
        name, table = queue.pop(0)
        if "properties" in table and "additionalProperties" in table:
            yield name, table
        members = table.get("properties", {}) if "additionalProperties" in table else {"": table}
        for key, value in members.items():
            for target in dict.fromkeys(_references(value)):
                if target not in seen:
                    seen.add(target)
                    queue.append((".".join(filter(None, (name, key))), schema["$defs"][target]))


def _references(value: Any) -> Iterator[str]:
    """Yield the names of the definitions that a property refers to."""
    if isinstance(value, Mapping):
        if "$ref" in value:
            yield str(value["$ref"]).rpartition("/")[2]
        for part in ("anyOf", "oneOf", "items", "additionalProperties"):
            yield from _references(value.get(part))
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def _section(name: str, table: Schema, definitions: Schema) -> str:
    items = table["properties"].items()
    tags = {key: item["const"] for key, item in items if key in _TAGS and "const" in item}
    heading = f"## `[{name}]`" if name else "## The file"
    lines = [heading + "".join(f' with `{key} = "{tag}"`' for key, tag in tags.items())]
    if name:
        lines.append(catalogue_pages.flat(table.get("description", "")))
    rows = [
        f"| `{key}` | {_type(item, definitions)} | {_default(key, item, table)} "
        f"| {catalogue_pages.cell(item.get('description', ''))} |"
        for key, item in table["properties"].items()
        if key not in ("$schema", *tags)
    ]
    return "\n\n".join(
        [*lines, "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows])]
    )


def _type(item: Schema, definitions: Schema) -> str:
    if "$ref" in item:
        return "table" if definitions[item["$ref"].rpartition("/")[2]].get("properties") else "text"
    if "const" in item:
        return f"`{item['const']}`"
    if "enum" in item:
        return catalogue_pages.cell(", ".join(f"`{value}`" for value in item["enum"]))
    if "anyOf" in item and item["anyOf"] != [{}]:
        return " or ".join(
            dict.fromkeys(
                _type(part, definitions)
                for part in item["anyOf"]
                if part and part != {"type": "null"}
            )
        )
    kind = str(item.get("type", "any"))
    if kind == "array":
        return f"list of {_type(item.get('items', {}), definitions)}"
    names = {"string": "text", "object": "table", "boolean": "true or false"}
    return names.get(kind, kind) + _limits(item)


def _limits(item: Schema) -> str:
    least = item.get("minimum", item.get("exclusiveMinimum"))
    most = item.get("maximum", item.get("exclusiveMaximum"))
    if least is None and most is None:
        return ""
    above = (
        f"{'above' if 'exclusiveMinimum' in item else 'from'} {least}" if least is not None else ""
    )
    return " " + " ".join(filter(None, (above, f"to {most:,}" if most is not None else "")))


def _default(key: str, item: Schema, table: Schema) -> str:
    if key in table.get("required", ()):
        return "required"
    default = item.get("default")
    if default is None or isinstance(default, dict) or default == [] or default == "":
        return ""
    return f"`{msgspec.json.encode(default).decode()}`"
