"""`flake-hunt plugins`: what other packages bring along, and whether it can be used."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.extensions import descriptions, entry_points


def plugins(output: outputs.Form = "text") -> int:
    """List the plug-ins of other packages: their kind, package, version, and whether they load.

    Packages are found by their entry points (groups flake_hunt.scenarios, .clusters, .traffic,
    .checks, .subjects, .defects, .faults); FLAKE_HUNT_PLUGINS names folders of packages that are
    not installed. Exit code 2 if one cannot be used.
    """
    from harness import errors
    from harness.extensions import descriptions

    with outputs.chosen(output) as out:
        found = descriptions.listed(_shipped())
        if out.is_json:
            out.document(found)
        else:
            _show(found)
    return (
        errors.UsageError.exit_code
        if found.problem or any(item.problem for item in found.plugins)
        else 0
    )


def _shipped() -> "dict[entry_points.Kind, Collection[str]]":
    """Return the names of what Flake Hunt ships of each kind that has names."""
    from harness.checks import check_registry
    from harness.run import subjects
    from harness.run.defects import known_defects
    from harness.scenario import loading, profiles

    return {
        "scenarios": loading.every_name(),
        "clusters": profiles.shipped_names(),
        "checks": [check.name for check in check_registry.CHECKS],
        "subjects": subjects.KINDS,
        "defects": known_defects.names(),
    }


def _show(found: "descriptions.PluginList") -> None:
    import rich.markup
    import rich.table

    from harness.cli.terminal import displaying

    table = rich.table.Table(box=None, pad_edge=False)
    for title in ("kind", "name", "package", "version", "state"):
        table.add_column(title, overflow="fold")
    for item in found.plugins:
        state = f"[yellow]{rich.markup.escape(item.problem)}[/]" if item.problem else "ok"
        cells = (item.kind, item.name, item.package, item.version)
        table.add_row(*map(rich.markup.escape, cells), state)
    if found.plugins:
        displaying.console().print(table)
    print(found.problem or f"\n{outputs.counted(len(found.plugins), 'plug-in')}.")
