"""`flake-hunt doctor`: the requirements of clusters, and the plug-ins of other packages."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import typer

from harness import errors
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    import rich.text

    from harness.cluster.doctor import diagnosis
    from harness.extensions import entry_points

_STYLES = {"ok": "green", "warning": "yellow", "missing": "bold red"}


def doctor(
    provider: Annotated[
        str | None,
        typer.Argument(
            metavar="PROVIDER",
            help="Check only the requirements of embedded, local, kind or kubeconfig clusters.",
        ),
    ] = None,
    plugins: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool,
        typer.Option(
            "--plugins",
            help="List the plug-ins of other packages instead, and whether each can be used.",
        ),
    ] = False,
    output: outputs.Form = "text",
) -> int:
    """Check the requirements of each kind of cluster on this machine, or of plug-ins.

    Exit code 0 if the named kind is ready (without a name, at least one kind); otherwise 1.

    Plug-ins are packages with entry points (groups flake_hunt.scenarios, .clusters, .traffic,
    .checks, .subjects, .defects, .faults); FLAKE_HUNT_PLUGINS names folders of packages that are
    not installed. Exit code 2 if one cannot be used.
    """
    from harness.cli.terminal import displaying
    from harness.cluster.doctor import diagnosis, requirements

    if plugins:
        return _list_plugins(output)
    asked = requirements.PROVIDERS if provider is None else (provider,)
    with outputs.chosen(output) as out:
        findings = [
            finding
            for name in asked
            for finding in requirements.examine(name, contact=provider is not None, folder="")
        ]
        missing = {item.provider for item in findings if item.state is diagnosis.State.MISSING}
        ready = [name for name in asked if name not in missing]
        if out.is_json:
            out.document({"schema": 1, "ready": ready, "findings": findings})
        else:
            titles = ("cluster", "part", "state", "seen", "what to do")
            rows = (
                (item.provider, item.part, _state(item.state), item.seen, item.remedy)
                for item in findings
            )
            displaying.console().print(displaying.table(titles, rows))
            parts = (("Ready", ready), ("Not ready", sorted(missing)))
            said = [f"{title}: {', '.join(names)}." for title, names in parts if names]
            print(f"\n{' '.join(said)}")
    return 0 if ready else 1


def _state(state: "diagnosis.State") -> "rich.text.Text":
    import rich.text

    return rich.text.Text(state, _STYLES[state])


def _list_plugins(form: str) -> int:
    from harness.cli.terminal import displaying
    from harness.extensions import descriptions

    with outputs.chosen(form) as out:
        found = descriptions.listed(_shipped())
        if out.is_json:
            out.document(found)
        else:
            titles = ("kind", "name", "package", "version", "state")
            rows = [
                (item.kind, item.name, item.package, item.version, item.problem or "ok")
                for item in found.plugins
            ]
            if rows:
                displaying.console().print(displaying.table(titles, rows))
            print(found.problem or f"\n{outputs.counted(len(rows), 'plug-in')}.")
    is_bad = found.problem or any(item.problem for item in found.plugins)
    return errors.UsageError.exit_code if is_bad else 0


def _shipped() -> "dict[entry_points.Kind, Collection[str]]":
    from harness.checks import check_registry
    from harness.run import subjects
    from harness.run.defects import known_defects
    from harness.scenario import loading, profiles

    return {
        "scenarios": loading.every_name(),
        "clusters": profiles.SHELF.names(),
        "checks": [check.name for check in check_registry.CHECKS],
        "subjects": subjects.KINDS,
        "defects": known_defects.names(),
    }
