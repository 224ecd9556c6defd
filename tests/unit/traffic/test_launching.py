"""How the load is started; locustfiles and traffic plug-ins, and what is said of others."""

import contextlib
import itertools
import json
import pathlib
import re
import socket
import subprocess
import sys

import pytest
import zmq

from harness import errors
from harness.cluster import loopback_ports
from harness.run import run_plan
from harness.scenario import loading
from harness.traffic import launching, locust_process
from tests.support import cases, plugin_packages

FINE = cases.read(__file__, "fine")
WRONG = cases.read(__file__, "wrong")
ASK = """
import json, sys
from harness import errors
from harness.traffic import plugged_users
for path in sys.argv[1:]:
    try:
        found = {name: len(kind.own_tasks()) for name, kind in plugged_users.classes(path).items()}
        found |= dict.fromkeys(plugged_users.shape(path), "shape")
    except errors.PluginError as error:
        found = str(error)
    print(json.dumps(found))
"""


def test_users_are_found_or_refused(tmp_path: pathlib.Path) -> None:
    files = {"fine.py": FINE, **{name: text for name, (text, _) in WRONG.items()}}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", ASK, *(str(tmp_path / name) for name in files)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found, *refusals = map(json.loads, done.stdout.splitlines())
    assert found == {"Often": 3, "Once": 0, "Churn": 0, "Nests": 3, "Steps": "shape"}
    for refusal, (name, (_, pattern)) in zip(refusals, WRONG.items(), strict=True):
        assert re.search(pattern, refusal), (name, refusal)


def test_a_plan_has_the_path_and_the_digest_of_its_locustfile(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(FINE)
    monkeypatch.chdir(tmp_path)
    loaded = loading.load("pod-churn", overrides=["traffic.locustfile='mine.py'"])
    plan = run_plan.plan(loaded, seed=1)
    assert plan.settings["traffic"]["locustfile"] == str(tmp_path / "mine.py")
    (used,) = plan.plugins
    assert (used.kind, used.name) == ("traffic", "mine.py")
    assert re.fullmatch(r"sha256:[0-9a-f]{64}|[0-9a-f]{64}", used.version)


def test_a_plugin_is_found_by_its_name(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry_points = {"traffic": {"bursts": "acme:Once", "broken": "acme_nowhere"}}
    plugin_packages.install(tmp_path, monkeypatch, "acme", entry_points, {"acme.py": FINE})
    loaded = loading.load("pod-churn", overrides=["traffic.locustfile=bursts"])
    _, used = launching.resolved(loaded.scenario)
    assert [(item.name, item.package) for item in used] == [("bursts", "acme")]
    broken = loading.load("pod-churn", overrides=["traffic.locustfile=broken"])
    with pytest.raises(errors.PluginError, match="No module named 'acme_nowhere'"):
        launching.resolved(broken.scenario)


def test_a_name_that_is_neither_is_told() -> None:
    loaded = loading.load("pod-churn", overrides=["traffic.locustfile=nothing"])
    with pytest.raises(errors.PluginError, match="got 'nothing', which is neither"):
        launching.resolved(loaded.scenario)


def test_task_sets_run_as_locust_runs_them_until_the_time_is_up() -> None:
    """In order, nested, with errors told; a user that waits for long ends at once, too."""
    program = cases.read(__file__, "task_sets")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    seen, left = json.loads(done.stdout.splitlines()[-1])
    assert left == 0
    assert seen.count("done") == 2
    steps = [step for step in seen if step != "done"]
    assert steps[0] == steps[1] == "Flow.first"
    at = steps.index("Inner.on_start")
    following = ["Inner.on_start", "Inner.on_stop", "Flow.last", "KeyError('its reason')"]
    assert steps[at : at + 4] == following
    assert "Flow.first" in steps[at + 4 :]


# -------------------------------------------------------------------------------- starting


def test_starting_the_traffic_imports_neither_locust_nor_gevent() -> None:
    code = (
        "import sys, harness.traffic.launching, harness.traffic.objects\n"
        "sys.exit(bool({'locust', 'gevent'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_port_of_local_workers_is_kept_until_the_master_listens() -> None:
    """Another program that is given a port, or asks for this one, does not get it."""
    with locust_process.local_port() as added, contextlib.ExitStack() as others:
        options = dict(itertools.pairwise(added))
        port = options["--master-bind-port"]
        assert options["--master-port"] == port
        given = [others.enter_context(loopback_ports.keeper()) for _ in range(500)]
        assert int(port) not in [other.getsockname()[1] for other in given]
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", int(port)))
        with zmq.Context() as context, context.socket(zmq.ROUTER) as master:
            master.bind(f"tcp://127.0.0.1:{port}")  # as Locust's master does
