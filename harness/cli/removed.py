"""Commands and options that are gone, and what to do instead."""

COMMANDS = {
    "export": "use `flake-hunt query RUN_DIR 'from holds' --output holds.parquet`, for each table",
    "nightly": "use `flake-hunt hunt --all --minutes 30`",
    "conformance": "use `flake-hunt hunt --cluster FILE`, which runs the scenarios on an API server",
    "releases": "use `flake-hunt confirm ID --subject kube-scheduler=PATH` for each release and finding",
    "power": "use `flake-hunt hunt --repeat N`: its summary says which rates of failure N runs exclude",
    "prune": "use `rm -r` for campaigns and runs that you no longer need; the next command writes the index again",
    "trends": "use `flake-hunt report RUN_DIR`, which writes the index: it shows the rates of all campaigns over time",
    "index": "use `flake-hunt report RUN_DIR`; every command that makes or judges runs writes the index, too",
    "traffic-worker": "use `flake-hunt run SCENARIO --set traffic.processes=N`: all workers of a load run on one machine",
    "trace": "use `python -m otel_export RUN_DIR` of examples/otel-export, which `flake-hunt init` copies",
}
"""Former subcommand -> what does its work now."""
OPTIONS = {
    "check --second-judge": "use `flake-hunt check`, whose judge the tests compare with SQL",
    "compare --html": "use `--comment FILE` for Markdown, or `--output json`",
    "compare --same-machine": "use `flake-hunt compare` without it: throughputs are shown and not tested",
    "compare --seed": "use `flake-hunt compare` without it: its tests draw nothing at random",
    "replay --html": "use `--save FOLDER`, whose report has the steps",
    "--preemptions": "use `--strategy pct`, or `--strategy exhaustive` for a whole search",
    "--resume": "use `--time` for a longer search, or `--set` for a smaller world",
    "--no-events": "use `-v 5` for a log of what the scheduler does; it writes no Events",
    "--until-decided": "use `--repeat N` or `--minutes N`: the summary says which rates of failure so many runs exclude",
    "--bisect-steps": "use `--repeat N`, the number of VALID runs that make a revision good",
    "-k": "use names of scenarios, or globs such as 'claim-*'",
    "--keep": "use `rm -r` for runs that you no longer need",
    "run --workers": "use `--set traffic.processes=N`: all workers of a load run on one machine",
    "run --traffic-bind": "use `--set traffic.processes=N`: all workers of a load run on one machine",
    "run --i-know-it-is-open": "use `--set traffic.processes=N`, whose workers listen on loopback only",
    "--metrics-port": "use `flake-hunt watch`, or the live page of `flake-hunt serve`",
}
"""Former option, of all commands or of the one before it -> what does its work now."""


def instead_of(option: str, command: str) -> str | None:
    """Return what does the work of a former option; None: there never was one."""
    return OPTIONS.get(f"{command} {option}") or OPTIONS.get(option)
