"""`flake-hunt driver-test`: check a DRA driver against documented rules, through its sockets."""

import contextlib
import dataclasses
import os
import pathlib
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from harness import errors, writing
from harness.cli import key_values, options
from harness.cli.terminal import outputs
from harness.conformance import results
from harness.conformance import rules as conformance_rules
from harness.report import escaping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.conformance import rules
    from harness.conformance.drivers import benches

EPILOG = (
    "Exit codes: 0 each rule with `must` holds, 10 one is broken, 20 it could not be decided, "
    "2 usage error."
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The other settings of a test."""

    driver_name: str = ""
    """Name for {driver}, and of the one to test if several register; empty: the first one."""
    node: str = "node-1"
    cdi_dir: pathlib.Path | None = None
    """CDI folder of a driver that takes none; it is only read."""
    socket: pathlib.Path | None = None
    """With --registry: the socket to call; None: the one that the driver names."""
    deadline_s: Annotated[float, msgspec.Meta(ge=0.1)] = 10.0
    """Seconds for a call; kubelets wait 45."""
    start_s: Annotated[float, msgspec.Meta(ge=0.1)] = 20.0
    """Seconds until the driver registers."""
    seed: int | None = None
    """Check the rules in an order drawn from it; None: as --list shows them."""
    defect: tuple[str, ...] = ()
    """Known defects of our kubelet, as positive controls of the group kubelet."""


def driver_test(
    driver: str | None = options.argument(
        "Start this driver, 'PROGRAM …': {kubeconfig} {node} {driver} {kubelet_dir} {plugins_dir} "
        "{registry_dir} {cdi_dir} {state_dir} are filled in, and {instance} for a rolling update.",
        "PROGRAM",
        default=None,
    ),
    rules: list[str] | None = options.of(
        "Check only these: a rule, a group, or a pattern such as '*/same-*' (may be repeated).",
        metavar="PATTERN",
    ),
    skip: list[str] | None = options.of(
        "Leave a rule, a group or a pattern out; it does not count as held (may be repeated).",
        metavar="RULE=REASON",
    ),
    list_rules: bool = options.flag("Show the rules and exit.", "--list"),
    claim: pathlib.Path | None = options.of(
        "ResourceClaim (YAML or JSON) whose requests and parameters the claims have; with a "
        "status.allocation also the devices.",
        metavar="FILE",
    ),
    repeat: int = options.of("Number of times that all rules are checked.", min=1, default=1),
    fail_fast: bool = options.flag(
        "End at the first such failure; with --repeat, check until it fails.", "--fail-fast"
    ),
    junit: pathlib.Path | None = options.of("Write JUnit XML to this file.", metavar="FILE"),
    page: pathlib.Path | None = options.of("Write an HTML page to this file.", metavar="FILE"),
    output: outputs.Form = outputs.FORM,
    fail_on: Literal["must", "should", "note"] = options.more(
        "Least weight of a rule that can fail the test.", default="must"
    ),
    registry: pathlib.Path | None = options.more(
        "Instead of a program: registration socket, or its folder, of a driver that runs already."
    ),
    kubeconfig: pathlib.Path | None = options.more(
        "With --registry: the API server whose claims that driver reads."
    ),
    log: pathlib.Path | None = options.more("Add what the driver prints to this file."),
    more: list[str] | None = options.more(
        "Change driver_name, node, cdi_dir (of a driver that takes none), socket (with --registry), deadline_s, "
        "start_s, seed (of the order of the rules) or defect (of our kubelet; may be repeated).",
        "--set",
        metavar="KEY=VALUE",
    ),
) -> int:
    """Check a DRA driver against documented rules, through its sockets as a kubelet calls it.

        flake-hunt driver-test './my-driver {kubeconfig} {node} {registry_dir} {plugins_dir}'

    Brings up an API server and a node, allocates the driver's devices itself, and calls the driver
    on time, late, twice, at the same time and killed in between. Nothing outside a temporary folder
    is touched.
    """
    from harness.conformance import junit_files, pages
    from harness.conformance.drivers import rulebook

    settings = key_values.fields(Settings, more)
    chosen = conformance_rules.chosen(rulebook.all_rules(), rules or ())
    with outputs.chosen(output) as form:
        if list_rules:
            if form.is_json:
                form.document([_described(rule) for rule in chosen])
            else:
                rows = [(rule.id, rule.level, rule.says) for rule in chosen]
                print("\n".join(outputs.aligned(rows)))
            return 0
        left_out = conformance_rules.skipped(rulebook.all_rules(), skip or ())
        options = _options(driver, registry, kubeconfig, claim, log, settings)
        rounds = [
            conformance_rules.ordered(chosen, settings.seed, number) for number in range(repeat)
        ]
        least = conformance_rules.Level(fail_on)
        name, found = _run(
            options, rounds, left_out=left_out, form=form, ends_at=least if fail_fast else None
        )
        if junit is not None:
            writing.replace(junit, junit_files.render(name, found, fail_on=least).encode())
        if page is not None:
            link = os.path.relpath(log, page.parent) if log else ""
            about = [driver or str(registry)]
            text = pages.render(name, found, fail_on=least, facts=about, log=link)
            writing.replace(page, text.encode())
        verdict = results.verdict(found, least)
        if form.is_json:
            form.document({"verdict": verdict, "rules": [_ended(item) for item in found]})
        else:
            _show(found)
            print(f"{verdict} {results.counted(found)}")
    return results.exit_code(found, least)


def _described(rule: "rules.Rule") -> dict[str, Any]:
    return {
        "rule": rule.id,
        "level": str(rule.level),
        "says": rule.says,
        "fails": rule.fails,
        "sources": list(rule.sources),
    }


def _ended(item: results.Result) -> dict[str, Any]:
    about = {"result": str(item.outcome), "text": item.text, "seconds": round(item.seconds, 3)}
    return _described(item.rule) | about


def _options(
    driver: str | None,
    registry: pathlib.Path | None,
    kubeconfig: pathlib.Path | None,
    claim: pathlib.Path | None,
    log: pathlib.Path | None,
    settings: Settings,
) -> "benches.Options":
    from harness.cluster.local import binaries
    from harness.conformance.drivers import benches, driver_commands, driver_instances

    attached, socket = None, settings.socket
    if registry is not None and kubeconfig is not None:
        attached = benches.Attached(registry=registry, socket=socket, kubeconfig=kubeconfig)
    elif registry or socket or kubeconfig:
        raise errors.UsageError(
            "expected --registry and --kubeconfig together, and --set socket=… only with them: "
            "claims are made where the driver reads them"
        )
    for path in filter(None, (registry, socket)):
        if not path.exists():
            raise errors.UsageError(f"expected a socket or a folder of sockets, got {path}")
    if (driver is None) == (attached is None):
        raise errors.UsageError(
            "expected one driver: name 'PROGRAM ARGUMENTS', "
            "or --registry and --kubeconfig of one that runs"
        )
    command = driver_commands.parse(driver) if driver is not None else None
    if command is not None:
        binaries.program(command.words[0])
    return benches.Options(
        command=command,
        attached=attached,
        driver_name=settings.driver_name,
        node=settings.node,
        cdi_folder=settings.cdi_dir,
        claim=_claim(claim),
        limits=driver_instances.Limits(call_s=settings.deadline_s, start_s=settings.start_s),
        kubelet_defects=settings.defect,
        log=log,
    )


def _claim(path: pathlib.Path | None) -> "Mapping[str, Any] | None":
    import yaml

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
    options: "benches.Options",
    rounds: "Sequence[Sequence[rules.Rule]]",
    *,
    left_out: "Mapping[str, str]",
    form: outputs.Output,
    ends_at: "rules.Level | None",
) -> tuple[str, list[results.Result]]:
    """`ends_at`: the least weight of a rule whose failure ends the test; None: none does."""
    from harness.cli.terminal import displaying
    from harness.conformance.drivers import suite

    found: list[results.Result] = []
    names = [options.driver_name or "driver"]
    wanted = [rule for chosen in rounds for rule in chosen]
    why = "the test ended at a failure"
    try:
        with displaying.console(stderr=True).status("", speed=0.5) as status:

            def progress(text: str) -> None:
                status.update(f"{len(found)} of {len(wanted)} rules: {text}")

            every = (
                result
                for chosen in rounds
                for result in suite.run(
                    options, chosen, left_out=left_out, progress=progress, named=names.append
                )
            )
            with contextlib.closing(every) as running:
                for result in running:
                    found.append(result)
                    is_failed = result.outcome is results.Outcome.FAILED
                    if is_failed and not form.is_json:
                        _show_failure(result)
                    if is_failed and ends_at is not None and result.rule.level.counts(ends_at):
                        break
    except KeyboardInterrupt:
        why = "the test was interrupted"
    found += [
        results.Result(rule=rule, outcome=results.Outcome.UNDECIDED, text=why)
        for rule in wanted[len(found) :]
    ]
    return names[-1], found


def _show_failure(result: results.Result) -> None:
    rule = result.rule
    print(f"FAILED {rule.id} ({rule.level}): {escaping.visible(result.text)}")
    print(f"    the rule: {rule.says}")
    print(f"    if not:   {rule.fails}")
    print(f"    sources:  {'; '.join(rule.sources)}\n", flush=True)


def _show(found: "Sequence[results.Result]") -> None:
    from harness.cli.terminal import displaying

    numbers = ["rules", *map(str, results.Outcome)]
    groups: dict[str, list[results.Outcome]] = {}
    reasons: dict[str, list[str]] = {}
    for item in found:
        groups.setdefault(item.rule.group, []).append(item.outcome)
        if item.outcome in (results.Outcome.SKIPPED, results.Outcome.UNDECIDED):
            text = f"{item.outcome}, as {escaping.visible(item.text)}"
            reasons.setdefault(text, []).append(item.rule.id)
    rows = (
        [group, *map(str, (len(ended), *map(ended.count, results.Outcome)))]
        for group, ended in groups.items()
    )
    displaying.console().print(displaying.table(["group", *numbers], rows, right=numbers))
    for text, names in reasons.items():
        print(f"{text}: {', '.join(names) if len(names) < len(found) else 'all rules'}")
