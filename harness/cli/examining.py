"""`flake-hunt doctor`: what is missing on this machine, and the command that mends it."""

from typing import TYPE_CHECKING, Annotated

import typer

from harness import errors
from harness.cli import choosing

if TYPE_CHECKING:
    from harness.cluster import doctoring

_STYLES = {"ok": "green", "warning": "yellow", "missing": "bold red"}


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(rich_help_panel="Clusters")(doctor)


def doctor(
    provider: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="PROVIDER",
            help="Only what embedded, local, kind or kubeconfig clusters need (default: all of them).",
        ),
    ] = None,
    binaries: choosing.Binaries = None,
) -> int:
    """Look at what each kind of cluster needs. Exit code 0 when all that was asked about is there, 1 when something is missing."""
    from harness.cluster import doctoring

    if binaries is not None and provider not in (None, "local"):
        raise errors.UsageError(
            f"expected --binaries with local clusters only, got it with --for {provider}: leave one of them out"
        )
    asked = doctoring.PROVIDERS if provider is None else (provider,)
    findings = [
        finding
        for name in asked
        for finding in doctoring.examine(
            name, contact=provider is not None, folder=choosing.folder(binaries)
        )
    ]
    _show(findings)
    missing = sorted({item.provider for item in findings if item.state is doctoring.State.MISSING})
    print(f"\nNot ready: {', '.join(missing)}." if missing else "\nReady.")
    return 1 if missing else 0


def _show(findings: "list[doctoring.Finding]") -> None:
    import rich.table

    from harness.cli import displaying

    table = rich.table.Table(box=None, pad_edge=False)
    for name in ("cluster", "part", "state", "seen", "what to do"):
        table.add_column(name, overflow="fold")
    for item in findings:
        state = f"[{_STYLES[item.state]}]{item.state}[/]"
        table.add_row(item.provider, item.part, state, _plain(item.seen), _plain(item.remedy))
    displaying.console().print(table)


def _plain(text: str) -> str:
    import rich.markup

    return rich.markup.escape(text)
