"""`flake-hunt driver-test`: check a DRA driver against documented rules, through its sockets."""

import pathlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.conformance import results, rules
    from harness.conformance.drivers import suite

_DRIVER, _RULES, _RESULT = "Driver", "Rules", "Result"
EPILOG = (
    "Exit codes: 0 each rule with `must` holds, 10 one is broken, 20 it could not be decided, "
    "2 usage error."
)


def driver_test(
    driver: Annotated[
        str | None,
        typer.Option(
            "--driver",
            metavar="'command=PROGRAM …'",
            rich_help_panel=_DRIVER,
            help="Start this driver; {kubeconfig} {node} {driver} {plugins_dir} {registry_dir} {cdi_dir} {state_dir} "
            "are filled in, and {instance} for a rolling update.",
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env",
            metavar="NAME=VALUE",
            rich_help_panel=_DRIVER,
            help="A variable of its environment, with the same placeholders (may be repeated).",
        ),
    ] = None,
    driver_name: Annotated[
        str,
        typer.Option(
            "--driver-name",
            rich_help_panel=_DRIVER,
            help="Name for {driver}, and of the one to test if several register (default: the first one).",
        ),
    ] = "",
    node: Annotated[
        str, typer.Option("--node", rich_help_panel=_DRIVER, help="Name of the node.")
    ] = "node-1",
    cdi_dir: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--cdi-dir",
            rich_help_panel=_DRIVER,
            help="CDI folder of a driver that takes none; it is only read.",
        ),
    ] = None,
    claim: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--claim",
            rich_help_panel=_DRIVER,
            help="ResourceClaim (YAML or JSON) whose requests and parameters the claims have; with a "
            "status.allocation also the devices.",
        ),
    ] = None,
    registry: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--registry",
            rich_help_panel=_DRIVER,
            help="Instead of --driver: registration socket, or its folder, of a driver that runs already.",
        ),
    ] = None,
    socket: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--socket",
            rich_help_panel=_DRIVER,
            help="With --registry: the socket to call (default: the one that the driver names).",
        ),
    ] = None,
    kubeconfig: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--kubeconfig",
            rich_help_panel=_DRIVER,
            help="With --registry: the API server whose claims that driver reads.",
        ),
    ] = None,
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rules",
            metavar="PATTERN",
            rich_help_panel=_RULES,
            help="Check only these: a rule, a group, or a pattern such as '*/same-*' (may be repeated).",
        ),
    ] = None,
    skip: Annotated[
        list[str] | None,
        typer.Option(
            "--skip",
            metavar="RULE=REASON",
            rich_help_panel=_RULES,
            help="Leave a rule, a group or a pattern out; it does not count as held (may be repeated).",
        ),
    ] = None,
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat",
            min=1,
            rich_help_panel=_RULES,
            help="Number of times that all rules are checked.",
        ),
    ] = 1,
    defect: Annotated[
        list[str] | None,
        typer.Option(
            "--defect",
            rich_help_panel=_RULES,
            help="Known defect of our kubelet, as a positive control of the group kubelet.",
        ),
    ] = None,
    deadline: Annotated[
        float,
        typer.Option(min=0.1, rich_help_panel=_RULES, help="Seconds for a call; kubelets wait 45."),
    ] = 10.0,
    start: Annotated[
        float,
        typer.Option(min=0.1, rich_help_panel=_RULES, help="Seconds until the driver registers."),
    ] = 20.0,
    list_rules: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool, typer.Option("--list", rich_help_panel=_RULES, help="Show the rules and exit.")
    ] = False,
    junit: Annotated[
        pathlib.Path | None,
        typer.Option("--junit", rich_help_panel=_RESULT, help="Write JUnit XML to this file."),
    ] = None,
    page: Annotated[
        pathlib.Path | None,
        typer.Option("--page", rich_help_panel=_RESULT, help="Write an HTML page to this file."),
    ] = None,
    output: outputs.Form = "text",
) -> int:
    """Check a DRA driver against documented rules, through its sockets as a kubelet calls it.

    Brings up an API server and a node, allocates the driver's devices itself, and calls the driver
    on time, late, twice, at the same time and killed in between. Nothing outside a temporary folder
    is touched.
    """
    from harness.conformance import rules as conformance_rules
    from harness.conformance.drivers import rulebook

    chosen = conformance_rules.chosen(rulebook.all_rules(), rules or ())
    with outputs.chosen(output) as form:
        if list_rules:
            return _list(chosen, form)
        left_out = conformance_rules.skipped(rulebook.all_rules(), skip or ())
        options = _options(
            driver=driver,
            env=env or (),
            attached=_attached(registry, socket, kubeconfig),
            driver_name=driver_name,
            node=node,
            cdi_folder=cdi_dir,
            claim=_claim(claim),
            call_s=deadline,
            start_s=start,
            kubelet_defects=tuple(defect or ()),
        )
        found = _run(options, chosen, left_out=left_out, repeat=repeat, form=form)
        return _report(driver or str(registry), found, form=form, junit=junit, page=page)


def _list(chosen: "Sequence[rules.Rule]", form: outputs.Output) -> int:
    if form.is_json:
        form.document([_described(rule) for rule in chosen])
        return 0
    for line in outputs.aligned([(rule.id, rule.level, rule.says) for rule in chosen]):
        print(line)
    return 0


def _described(rule: "rules.Rule") -> dict[str, Any]:
    return {
        "rule": rule.id,
        "level": str(rule.level),
        "says": rule.says,
        "fails": rule.fails,
        "sources": list(rule.sources),
    }


def _options(*, driver: str | None, env: "Sequence[str]", **more: Any) -> "suite.Options":
    """Return the options of a run. Raises UsageError without a driver, and with two."""
    from harness import errors
    from harness.conformance.drivers import driver_commands, suite

    if (driver is None) == (more["attached"] is None):
        raise errors.UsageError(
            "expected one driver: add --driver 'command=PROGRAM ARGUMENTS', "
            "or --registry and --kubeconfig of one that runs"
        )
    return suite.Options(command=driver_commands.parse(driver, env) if driver else None, **more)


def _attached(
    registry: pathlib.Path | None, socket: pathlib.Path | None, kubeconfig: pathlib.Path | None
) -> "suite.Attached | None":
    from harness import errors
    from harness.conformance.drivers import suite

    if registry is None and (socket or kubeconfig):
        raise errors.UsageError("expected --registry, which goes with --socket and --kubeconfig")
    if registry is None:
        return None
    if kubeconfig is None:
        raise errors.UsageError(
            "expected --kubeconfig with --registry: claims are made where the driver reads them"
        )
    for path in filter(None, (registry, socket)):
        if not path.exists():
            raise errors.UsageError(f"expected a socket or a folder of sockets, got {path}")
    return suite.Attached(registry=registry, socket=socket, kubeconfig=kubeconfig)


def _claim(path: pathlib.Path | None) -> "Mapping[str, Any] | None":
    """Return the document of --claim. Raises UsageError if it is no ResourceClaim."""
    import yaml

    from harness import errors

    if path is None:
        return None
    try:
        document = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise errors.UsageError(f"expected a ResourceClaim in {path}: {error}") from error
    if not isinstance(document, dict) or document.get("kind") != "ResourceClaim":
        raise errors.UsageError(f"expected a ResourceClaim in {path}, got {str(document)[:60]!r}")
    return document


def _run(
    options: "suite.Options",
    chosen: "Sequence[rules.Rule]",
    *,
    left_out: "Mapping[str, str]",
    repeat: int,
    form: outputs.Output,
) -> "list[results.Result]":
    from harness.cli.terminal import displaying
    from harness.conformance import results as outcomes
    from harness.conformance.drivers import suite

    found: list[results.Result] = []
    console = displaying.console(stderr=True)
    with console.status("", speed=0.5) as status:

        def progress(text: str) -> None:
            status.update(f"{len(found)} of {repeat * len(chosen)} rules: {text}")

        for _ in range(repeat):
            for result in suite.run(options, chosen, left_out=left_out, progress=progress):
                found.append(result)
                if result.outcome is outcomes.Outcome.FAILED and not form.is_json:
                    _show_failure(result)
    return found


def _show_failure(result: "results.Result") -> None:
    from harness.report import escaping

    rule = result.rule
    print(f"FAILED {rule.id} ({rule.level}): {escaping.visible(result.text)}")
    print(f"    the rule: {rule.says}")
    print(f"    if not:   {rule.fails}")
    print(f"    sources:  {'; '.join(rule.sources)}\n", flush=True)


def _report(
    name: str,
    found: "Sequence[results.Result]",
    *,
    form: outputs.Output,
    junit: pathlib.Path | None,
    page: pathlib.Path | None,
) -> int:
    from harness import writing
    from harness.conformance import junit_files, pages, results

    renderings: list[tuple[pathlib.Path | None, Callable[..., str]]] = [
        (junit, junit_files.render),
        (page, pages.render),
    ]
    for path, render in renderings:
        if path is not None:
            writing.replace(path, render(name, found).encode())
    if form.is_json:
        form.document(_document(found))
    else:
        _show(found)
    return results.exit_code(found)


def _document(found: "Sequence[results.Result]") -> dict[str, Any]:
    from harness.conformance import results

    rows = [
        {
            **_described(item.rule),
            "result": str(item.outcome),
            "text": item.text,
            "seconds": round(item.seconds, 3),
        }
        for item in found
    ]
    return {"verdict": results.verdict(found), "rules": rows}


def _show(found: "Sequence[results.Result]") -> None:
    """Print a table of groups, why rules were not examined, and the verdict."""
    import rich.table

    from harness.cli.terminal import displaying
    from harness.conformance import results

    table = rich.table.Table("group", box=None)
    for heading in ("rules", *results.Outcome):
        table.add_column(str(heading), justify="right")
    for group in dict.fromkeys(item.rule.group for item in found):
        items = [item for item in found if item.rule.group == group]
        counts = [sum(item.outcome is outcome for item in items) for outcome in results.Outcome]
        table.add_row(group, *map(str, (len(items), *counts)))
    displaying.console().print(table)
    for text, names in _reasons(found).items():
        print(f"{text}: {', '.join(names)}")
    print(f"{results.verdict(found)} {results.counted(found)}")


def _reasons(found: "Sequence[results.Result]") -> dict[str, list[str]]:
    """Return why rules were skipped or undecided -> their ids."""
    from harness.conformance import results
    from harness.report import escaping

    reasons: dict[str, list[str]] = {}
    for item in found:
        if item.outcome in (results.Outcome.SKIPPED, results.Outcome.UNDECIDED):
            text = f"{item.outcome}, as {escaping.visible(item.text)}"
            reasons.setdefault(text, []).append(item.rule.id)
    return reasons
