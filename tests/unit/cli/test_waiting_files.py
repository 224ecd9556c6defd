"""No command waits for a file: a FIFO without a writer is refused, wherever one is named or
found.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from tests.support import golden_runs

GOLDEN = golden_runs.FOLDER / "device_exclusivity"
LIMIT_S = 60
"""Far more than any of the calls takes on a busy machine."""
CALLS = """
import gc, importlib, json, os, pkgutil, signal, sys, traceback
import duckdb
import harness
from harness.cli import commands, main
from tests.support import golden_runs
commands.make_app([])
for name in ("checks", "comparison", "tables", "report", "run", "scenario"):
    package = importlib.import_module(f"harness.{name}")
    for found in pkgutil.walk_packages(package.__path__, f"harness.{name}."):
        importlib.import_module(found.name)
def ended():
    try:
        main.main()
    except SystemExit as ending:
        return ending.code
    except BaseException:
        traceback.print_exc()
        return 1
gc.freeze()
for arguments in json.load(sys.stdin):
    child = os.fork()
    if not child:
        signal.alarm(int(sys.argv[1]))
        os.dup2(2, 1)
        sys.argv = ["flake-hunt", *arguments]
        code = ended()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)
    _, status = os.waitpid(child, 0)
    print(json.dumps([arguments, os.waitstatus_to_exitcode(status)]), flush=True)
"""
"""Each command in a child of a process that has imported everything, and takes down nothing of it:
most of the time would go into copies of what they share.
"""
NAMED = """
run FIFO | run pod-churn --set traffic.locustfile=FIFO | check FIFO | query FIFO x | compare RUN FIFO | shards merge FIFO
explain FIFO | reproduce FIFO --into new | replay FIFO | part scheduler --kubeconfig FIFO
part fault-proxy FIFO
part kubelet --kubeconfig NONE --set settings=FIFO | part kubelet --kubeconfig NONE --set changes=FIFO
part claim-controller --kubeconfig NONE --set settings=FIFO
"""
FOUND = """
check RUN | report RUN | query RUN VIEWS
compare RUN OTHER | watch RUN | reproduce RUN --into NEW
compare REPORTS REPORTS
"""
VIEWS = "select (select count(*) from holds) + (select count(*) from operations) + (select count(*) from steps)"


def called(folder: pathlib.Path, calls: list[list[str]]) -> dict[str, int]:
    """The exit codes of commands, by their arguments; a negative one is that of a signal."""
    done = subprocess.run(
        [sys.executable, "-c", CALLS, str(LIMIT_S)],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**os.environ, "KUBECONFIG": ""},
        timeout=LIMIT_S * len(calls),
    )
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    return {" ".join(call): code for call, code in map(json.loads, done.stdout.splitlines())}


def commands(text: str, **places: object) -> list[list[str]]:
    """The commands of a text, with paths in place of words in capitals."""
    listed = text.replace("\n", "|").split("|")
    return [[str(places.get(word, word)) for word in one.split()] for one in listed if one.strip()]


def with_fifos(run: pathlib.Path, names: list[str]) -> None:
    """Make a run some of whose files are FIFOs."""
    shutil.copytree(GOLDEN / "VALID", run)
    waiting = [path for name in names for path in run.rglob(name)]
    more = ["verdict.json", "report.html", "cluster.json"] if len(waiting) > 1 else []
    for path in [*waiting, *(run / name for name in more)]:
        if path.name != "plan.json" or len(waiting) == 1:
            path.unlink(missing_ok=True)
            os.mkfifo(path)


def found_in(folder: pathlib.Path, names: list[str]) -> list[list[str]]:
    """The commands that find FIFOs in a run of this folder."""
    run, other = folder / "reports" / "scenario" / "run", folder / "run"
    with_fifos(run, names)
    shutil.copytree(GOLDEN / "VALID", other)
    places = {"RUN": run, "OTHER": other, "REPORTS": folder / "reports", "NEW": folder / "new"}
    return [
        [VIEWS if word == "VIEWS" else word for word in call] for call in commands(FOUND, **places)
    ]


def test_no_command_waits_for_a_fifo(tmp_path: pathlib.Path) -> None:
    """All in one process: most of the time is for imports."""
    os.mkfifo(tmp_path / "fifo")
    shutil.copytree(GOLDEN / "VALID", tmp_path / "run")
    names = [["plan.json"], ["observations.jsonl"], ["*.json*"]]
    spoiled = [
        call
        for number, chosen in enumerate(names)
        for call in found_in(tmp_path / str(number), chosen)
    ]
    places = {"FIFO": tmp_path / "fifo", "RUN": tmp_path / "run", "NONE": tmp_path / "none"}
    named = commands(NAMED, **places)
    codes = called(tmp_path, [*named, *spoiled])
    assert len(codes) == len(named) + len(spoiled)
    refused = {" ".join(call): codes[" ".join(call)] for call in named}
    assert not {call: code for call, code in refused.items() if code not in (1, 2, 20)}
    assert not {call: code for call, code in codes.items() if code < 0}
