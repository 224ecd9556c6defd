"""`flake-hunt conformance`: check an API server against documented rules of Kubernetes."""

import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.conformance.api import conformance_run, rulebooks

_INVALID = 10
_ANSWER_CHARACTERS_MAX = 600


def conformance(
    kubeconfig: Annotated[
        pathlib.Path | None,
        typer.Option("--kubeconfig", help="Kubeconfig of the API server.", envvar="KUBECONFIG"),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option("--group", help="Check only this group of rules (may be repeated)."),
    ] = None,
    list_rules: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool, typer.Option("--list", help="Show the rules and exit.")
    ] = False,
) -> int:
    """Check an API server against documented rules of Kubernetes; exit code 10 if it breaks one.

    Works in its own namespace and removes it. Runs on real clusters and on the embedded API server.
    """
    from harness import errors
    from harness.client import transports
    from harness.conformance.api import conformance_run

    rules = _chosen(group or ())
    if list_rules:
        for rule in rules:
            print(f"{rule.group:<16}{rule.name}")
        return 0
    if kubeconfig is None:
        raise errors.UsageError("expected an API server: add --kubeconfig")
    transport = transports.connect(kubeconfig)
    try:
        return _show(list(conformance_run.judge(transport, rules)))
    finally:
        transport.close()


def _chosen(names: "Sequence[str]") -> "list[rulebooks.Rule]":
    from harness import errors, suggestions
    from harness.conformance.api import rulebooks

    groups = {group.name: group for group in rulebooks.groups()}
    for name in names:
        if name not in groups:
            raise errors.UsageError(
                f"expected a group of rules, got {name!r}. Known: {', '.join(groups)}."
                f"{suggestions.did_you_mean(name, groups)}"
            )
    return [rule for name in names or groups for rule in groups[name].rules]


def _show(results: "Sequence[conformance_run.Result]") -> int:
    import rich.table

    from harness.cli.terminal import displaying

    console = displaying.console()
    for result in results:
        _show_failure(result)
    table = rich.table.Table("group", box=None)
    for heading in ("rules", "held", "failed", "not applicable"):
        table.add_column(heading, justify="right")
    groups = list(dict.fromkeys(result.rule.group for result in results))
    for name in groups:
        table.add_row(name, *_counts([r for r in results if r.rule.group == name]))
    table.add_row("all", *_counts(results))
    console.print(table)
    return _INVALID if any(result.failure for result in results) else 0


def _counts(results: "Sequence[conformance_run.Result]") -> list[str]:
    held = sum(result.is_held for result in results)
    failed = sum(result.failure is not None for result in results)
    return [str(count) for count in (len(results), held, failed, len(results) - held - failed)]


def _show_failure(result: "conformance_run.Result") -> None:
    failure = result.failure
    if failure is None:
        return
    print(f"FAILED {result.rule.group}: {result.rule.name}")
    print(f"    {failure.request}")
    if failure.body:
        print(f"    {_short(failure.body)}")
    for shortcoming in failure.shortcomings:
        print(f"    {_short(shortcoming)}")
    print(f"    the answer: {_short(failure.answer)}\n")


def _short(text: str) -> str:
    """Return the beginning of a long text, with its length."""
    if len(text) <= _ANSWER_CHARACTERS_MAX:
        return text
    return f"{text[:_ANSWER_CHARACTERS_MAX]} ... ({len(text)} characters)"
