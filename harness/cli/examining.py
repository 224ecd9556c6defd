"""`flake-hunt doctor` and `flake-hunt defects`: requirements of clusters, and known defects."""

from typing import TYPE_CHECKING, Annotated

import typer

from harness import errors
from harness.cli import choosing
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.catalogue import known
    from harness.cluster.doctor import diagnosis

_STYLES = {"ok": "green", "warning": "yellow", "missing": "bold red"}


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(rich_help_panel="Clusters")(doctor)
    app.command(rich_help_panel="Hunting")(defects)


def doctor(
    provider: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="PROVIDER",
            help="Check only the requirements of embedded, local, kind or kubeconfig clusters (default: all).",
        ),
    ] = None,
    binaries: choosing.Binaries = None,
    output: outputs.Form = "text",
) -> int:
    """Check the requirements of each kind of cluster on this machine.

    Exit code 0 if the kind named by --for is ready (without --for, at least one kind); otherwise 1.
    """
    from harness.cluster.doctor import diagnosis, requirements

    if binaries is not None and provider not in (None, "local"):
        raise errors.UsageError(
            f"expected --binaries with local clusters only, got it with --for {provider}: remove one of them"
        )
    asked = requirements.PROVIDERS if provider is None else (provider,)
    with outputs.chosen(output) as out:
        findings = [
            finding
            for name in asked
            for finding in requirements.examine(
                name, contact=provider is not None, folder=choosing.folder(binaries)
            )
        ]
        missing = {item.provider for item in findings if item.state is diagnosis.State.MISSING}
        ready = [name for name in asked if name not in missing]
        if out.is_json:
            out.document({"schema": 1, "ready": ready, "findings": findings})
        else:
            _show(findings)
            print(f"\n{_summary(ready, sorted(missing))}")
    return 0 if ready else 1


def _summary(ready: "list[str]", missing: "list[str]") -> str:
    parts = [("Ready", ready), ("Not ready", missing)]
    return " ".join(f"{title}: {', '.join(names)}." for title, names in parts if names)


def _show(findings: "list[diagnosis.Finding]") -> None:
    import rich.table

    from harness.cli.terminal import displaying

    table = rich.table.Table(box=None, pad_edge=False)
    for name in ("cluster", "part", "state", "seen", "what to do"):
        table.add_column(name, overflow="fold")
    for item in findings:
        state = f"[{_STYLES[item.state]}]{item.state}[/]"
        table.add_row(item.provider, item.part, state, _plain(item.seen), _plain(item.remedy))
    displaying.console().print(table)


def defects(
    is_json: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool, typer.Option("--json", help="The same as --output json.")
    ] = False,
    output: outputs.Form = "text",
) -> int:
    """List the known defects: where each one is, the check that catches it, and what shows it."""
    from harness.catalogue import known

    with outputs.chosen("json" if is_json else output) as out:
        listed = known.listed()
        if out.is_json:
            out.document({"schema": 1, "defects": listed})
        else:
            _show_defects(listed)
    return 0


def _show_defects(listed: "list[known.KnownDefect]") -> None:
    import rich.table

    from harness.cli.terminal import displaying

    table = rich.table.Table(box=None, pad_edge=False)
    for title in ("defect", "part", "check", "issue", "releases", "scenario", "world"):
        table.add_column(title, no_wrap=title in ("defect", "check"), overflow="fold")
    for row in listed:
        check, issues = f"{row.guarantee} {row.check}", ", ".join(row.issues) or "-"
        shown = map(_first, (row.scenarios, row.worlds))
        cells = (row.name, row.part, check, issues, row.releases or "none (a mutant)", *shown)
        table.add_row(*map(_plain, cells))
    displaying.console().print(table)
    print(f"\n{outputs.counted(len(listed), 'known defect')}.")


def _first(names: "list[str]") -> str:
    """Return the first name and how many more there are; JSON has them all."""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}" if names else "-"


def _plain(text: str) -> str:
    import rich.markup

    return rich.markup.escape(text)
