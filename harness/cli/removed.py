"""What is gone from the command line, and what to do instead."""

COMMANDS = {
    "nightly": "use `flake-hunt hunt --all --minutes 30`",
    "conformance": "use `flake-hunt hunt --cluster FILE`, which runs the scenarios on an API server",
    "releases": "use `flake-hunt confirm ID --subject kube-scheduler=PATH` for each release and finding",
    "index": "use `flake-hunt report RUN_DIR`; every command that makes or judges runs writes the index, too",
    "trace": "use `python -m otel_export RUN_DIR` of examples/otel-export, which `flake-hunt init` copies",
}
"""Former subcommand -> what does its work now."""
OPTIONS = {
    "--metrics-port": "use `flake-hunt watch`, or the live page of `flake-hunt serve`",
}
"""Former option -> what does its work now."""
