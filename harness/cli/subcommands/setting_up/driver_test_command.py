"""`flake-hunt driver-test`: check a DRA driver against documented rules, through its sockets."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.conformance import rules


def driver_test(
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rules",
            metavar="PATTERN",
            help="Check only these: a rule, a group, or a pattern such as '*/same-*' (may be repeated).",
        ),
    ] = None,
    list_rules: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool, typer.Option("--list", help="Show the rules and exit.")
    ] = False,
) -> int:
    """Check a DRA driver against documented rules, through its sockets as a kubelet calls it."""
    from harness import errors
    from harness.conformance import rules as conformance_rules
    from harness.conformance.drivers import rulebook

    chosen = conformance_rules.chosen(rulebook.all_rules(), rules or ())
    if list_rules:
        return _list(chosen)
    raise errors.UsageError("expected a driver: add --driver 'command=PROGRAM ARGUMENTS'")


def _list(chosen: "Sequence[rules.Rule]") -> int:
    for rule in chosen:
        print(f"{rule.id:<36}{rule.level:<8}{rule.says}")
    return 0
