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
    "plan": "use `flake-hunt shards plan hunt …`, or `flake-hunt shards plan test PROGRAM`",
    "merge": "use `flake-hunt shards merge SHARD...`",
    "schema": "use `flake-hunt scenarios --schema scenario`, or `--schema cluster`",
    "plugins": "use `flake-hunt doctor --plugins`",
    **{
        name: f"use `flake-hunt part {name}`"
        for name in ("apiserver", "scheduler", "claim-controller", "kubelet", "driver")
    },
    "trace": "use `harness.api`: read the run, and send what you need to your collector",
}
"""Former subcommand -> what does its work now."""
_SETTINGS = {
    f"{command} --{name.partition(':')[0]}": f"use `--set {name.rpartition(':')[2].replace('-', '_')}=…`"
    for command, names in {
        "driver-test": "driver-name node cdi-dir socket deadline:deadline_s start:start_s seed defect",
        "part apiserver": "plain-kubeconfig host i-know-it-is-open:is_open port tls-port "
        "watch-history audit-log audit-writes-of runtime-config feature-gates "
        "no-empty-namespaces:empties_namespaces faults:serves_faults",
        "part scheduler": "namespace remedy:remedies as:release logging-format settings steps leader-elect "
        "reserve-by filter-timeout:filter_timeout_s binding-timeout:binding_timeout_s",
        "part claim-controller": "namespace remedy:remedies as:release logging-format settings steps workers",
        "part kubelet": "namespace settings cdi-dir wait-for-driver preparations operations changes changes-journal",
        "part driver": "plugins-dir registry-dir cdi-dir instance",
    }.items()
    for name in names.split()
}
"""Former option of a command with `--set` -> what does its work now."""
OPTIONS = {
    "check --second-judge": "use `flake-hunt check`, whose judge the tests compare with SQL",
    "explain --html": "use `flake-hunt explain LOG > FILE`: the text says the same",
    "compare --html": "use `--comment FILE` for Markdown, or `--output json`",
    "compare --same-machine": "use `flake-hunt compare` without it: speeds are not compared",
    "compare --seed": "use `flake-hunt compare` without it: its tests draw nothing at random",
    "replay --html": "use `--save FOLDER`, whose report has the steps",
    "explore --list": "use `flake-hunt scenarios worlds`",
    "explore --jobs": "use `explore --seed N` in several processes, each with a seed of its own",
    "--preemptions": "use `--strategy pct`, or `--strategy exhaustive` for a whole search",
    "--resume": "use `--time` for a longer search, or `--set` for a smaller world",
    "part scheduler --no-events": "use `-v 5` for a log of what the scheduler does; it writes no Events",
    "--until-decided": "use `--repeat N` or `--minutes N`: the summary says which rates of failure so many runs exclude",
    "--bisect-steps": "use `--repeat N`, the number of VALID runs that make a revision good",
    "-k": "use names of scenarios, or globs such as 'claim-*'",
    "--keep": "use `rm -r` for runs that you no longer need",
    "run --workers": "use `--set traffic.processes=N`: all workers of a load run on one machine",
    "run --traffic-bind": "use `--set traffic.processes=N`: all workers of a load run on one machine",
    "run --i-know-it-is-open": "use `--set traffic.processes=N`, whose workers listen on loopback only",
    "--metrics-port": "use `flake-hunt watch`, or the live page of `flake-hunt serve`",
    "--cluster-set": "use `--cluster KEY=VALUE`",
    "--binaries": "use `KUBE_BINARIES=DIR flake-hunt …`, or with a local cluster `--cluster binaries=DIR`",
    "--kubeconfig": "use `--cluster kubeconfig --cluster kubeconfig=PATH`",
    "--context": "use `--cluster kubeconfig --cluster context=NAME`",
    "--i-know-this-cluster": "use `--cluster i_know_this_cluster=true`",
    "--fault-carrier": "use `flake-hunt run SCENARIO --fault-carrier proxy`",
    "--force": "use fewer processes: more than 8 for each core find nothing more",
    "--locustfile": "use the key `traffic.locustfile` of a scenario, as in `run --set traffic.locustfile=FILE`",
    **{
        f"{command} {name}": "use `--output json`, or `| head -1`"
        for command in ("explore", "explain", "pack", "shards merge")
        for name in ("--quiet", "-q")
    },
    "pack --force": "use another name, or remove the file first",
    "init --force": "use `flake-hunt init FOLDER`: it copies beside other files, and overwrites none",
    "init --only": "use `flake-hunt init FOLDER NAME...`",
    "import --name": "use `--into FOLDER`, whose name is that of the scenario",
    **{
        f"import {name}": "use `kubectl get resourceslices,deviceclasses,nodes -o json > FILE`, and import the file"
        for name in ("--kubeconfig", "--namespace", "-n", "--context")
    },
    "doctor --for": "use `flake-hunt doctor PROVIDER`",
    "reproduce --repeat": "use `--minutes N`, which limits the search",
    "reproduce --confirm": "use `flake-hunt hunt FOLDER/scenario.toml --repeat N` to measure the rate again",
    "replay --times": "use `flake-hunt replay TOKEN` again: a token always gives the same run",
    "replay --curve": "use the story that `flake-hunt replay TOKEN` prints",
    "watch --every": "use `flake-hunt watch` without it: it prints every five seconds",
    "cluster up --name": "use `flake-hunt cluster up NAME`",
    "cluster up --port": "use `--cluster port=N`",
    "cluster up --tls-port": "use `--cluster tls_port=N`",
    "cluster prune --older-than": "use `flake-hunt cluster prune`; `kind delete clusters NAME...` removes others",
    "cluster logs --to": "use `flake-hunt cluster logs NAME FOLDER`",
    "driver-test --driver": "use `flake-hunt driver-test 'PROGRAM …'`",
    "driver-test --env": "use `flake-hunt driver-test 'env NAME=VALUE PROGRAM …'`",
    "part apiserver --read-only-kubeconfig": "use `--kubeconfig FILE`: the server has one user",
    "part apiserver --fsync": "use `--data-dir DIR` alone: its file is not synchronised to the disk",
    **{
        f"part apiserver --{name}-max": "use `flake-hunt part apiserver` without it: connections and watches have no limit"
        for name in ("connections", "watches")
    },
    "part driver --slices": "use `--devices FILE`",
    **_SETTINGS,
}
"""Former option, of all commands or of the one before it -> what does its work now."""


def instead_of(option: str, command: str) -> str | None:
    """Return what does the work of a former option; None: there never was one."""
    return OPTIONS.get(f"{command} {option}") or OPTIONS.get(option)
