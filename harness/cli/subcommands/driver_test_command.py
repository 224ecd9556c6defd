"""`flake-hunt driver-test`: check a DRA driver against documented rules, through its sockets."""

import contextlib
import pathlib
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from harness import errors, placeholders, writing
from harness.cli import key_values, options
from harness.cli.terminal import outputs
from harness.conformance import results
from harness.conformance import rules as conformance_rules
from harness.report import escaping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.conformance import options as driver_options
    from harness.conformance import rules

EPILOG = (
    "Exit codes: 0 each rule with `must` holds, 10 one is broken, 20 it could not be decided, "
    "2 usage error."
)


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
        "start_s or defect (of our kubelet; may be repeated).",
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
    from harness.conformance import junit_files

    chosen = conformance_rules.chosen(rules or ())
    with outputs.chosen(output) as form:
        if list_rules:
            if form.is_json:
                form.document([_described(rule) for rule in chosen])
            else:
                rows = [(rule.id, rule.level, rule.says) for rule in chosen]
                print("\n".join(outputs.aligned(rows)))
            return 0
        left_out = conformance_rules.skipped(skip or ())
        options = _options(driver, registry, kubeconfig, claim, log, more)
        least = conformance_rules.Level(fail_on)
        name, found = _run(
            options,
            [chosen] * repeat,
            left_out=left_out,
            form=form,
            ends_at=least if fail_fast else None,
        )
        if junit is not None:
            writing.replace(junit, junit_files.render(name, found, fail_on=least).encode())
        verdict = results.verdict(found, least)
        if form.is_json:
            form.document({"verdict": verdict, "rules": [_ended(item) for item in found]})
        else:
            _show(found)
            print(f"{verdict} {results.counted(found)}")
    return verdict.exit_code


def _described(rule: "rules.Rule") -> dict[str, Any]:
    described: dict[str, Any] = msgspec.to_builtins(rule)
    return {"rule": described.pop("id"), **described}


def _ended(item: results.Result) -> dict[str, Any]:
    about = {"result": str(item.outcome), "text": item.text, "seconds": round(item.seconds, 3)}
    return _described(item.rule) | about


def _options(
    driver: str | None,
    registry: pathlib.Path | None,
    kubeconfig: pathlib.Path | None,
    claim: pathlib.Path | None,
    log: pathlib.Path | None,
    more: "Sequence[str] | None",
) -> "driver_options.Options":
    from harness.cluster.local import binaries
    from harness.conformance import options as driver_options

    if (driver is None) == (registry is None):
        raise errors.UsageError(
            "expected one driver: name 'PROGRAM ARGUMENTS', "
            "or --registry and --kubeconfig of one that runs"
        )
    command: list[str] = []
    if driver is not None:
        command = placeholders.command(
            driver.removeprefix("command="), driver_options.PLACEHOLDERS, of="the driver's"
        )
        binaries.program(command[0])
    made = key_values.fields(
        driver_options.Options,
        more,
        command=command,
        registry=registry,
        kubeconfig=kubeconfig or pathlib.Path(),
        plain_kubeconfig=kubeconfig or pathlib.Path(),
        claim=_claim(claim),
        log=log,
    )
    if (registry is None) != (kubeconfig is None) or (made.socket and not registry):
        raise errors.UsageError(
            "expected --registry and --kubeconfig together, perhaps with --set socket=…: claims are "
            "made where the driver reads them"
        )
    for path in filter(None, (registry, made.socket)):
        if not path.exists():
            raise errors.UsageError(f"expected a socket or a folder of sockets, got {path}")
    return made


def _claim(path: pathlib.Path | None) -> "Mapping[str, Any]":
    import yaml

    if path is None:
        return {}
    try:
        document = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise errors.UsageError(f"expected a ResourceClaim in {path}: {error}") from error
    if not isinstance(document, dict) or document.get("kind") != "ResourceClaim":
        raise errors.UsageError(f"expected a ResourceClaim in {path}, got {str(document)[:60]!r}")
    return document


def _run(
    options: "driver_options.Options",
    rounds: "Sequence[Sequence[rules.Rule]]",
    *,
    left_out: "Mapping[str, str]",
    form: outputs.Output,
    ends_at: "rules.Level | None",
) -> tuple[str, list[results.Result]]:
    """Return the driver's name and the results; what an end has left out is undecided.

    `ends_at`: the least weight of a rule whose failure ends the test; None: none does.
    """
    from harness.cli.terminal import displaying
    from harness.conformance import suite

    found: list[results.Result] = []
    names = [options.driver_name or "driver"]
    wanted = [rule for chosen in rounds for rule in chosen]
    why = "the test ended at a failure"
    try:
        with displaying.console(stderr=True).status("", speed=0.5) as status:

            def progress(text: str) -> None:
                status.update(f"{len(found)} of {len(wanted)} rules: {text}")

            every = suite.run(
                options, rounds, left_out=left_out, progress=progress, named=names.append
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
