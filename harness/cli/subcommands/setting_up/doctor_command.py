"""`flake-hunt doctor`: the requirements of clusters."""

from typing import TYPE_CHECKING, Annotated

import typer

from harness import errors
from harness.cli import choosing
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.cluster.doctor import diagnosis

_STYLES = {"ok": "green", "warning": "yellow", "missing": "bold red"}


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


def _plain(text: str) -> str:
    import rich.markup

    return rich.markup.escape(text)
