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
from tests.support import plugin_packages

USERS = "from locust import *\nfrom harness.traffic import profiles, users\n"
FINE = f"""{USERS}
class Base(users.ClaimUser):
    abstract = True
    @task(3)
    def stay(self):
        pass

class Often(Base):
    weight = 3

class Once(users.ClaimUser):
    def work(self):
        pass

class Churn(profiles.ChurnUser):
    pass

class Flow(SequentialTaskSet):
    @task
    class Nested(TaskSet):
        tasks = [lambda self: None]
    tasks = [lambda self: None]

class Nests(users.ClaimUser):
    tasks = {{Flow: 2, Flow.Nested: 1}}
"""
SHAPE = "\nclass Steps(LoadTestShape):\n    def tick(self):\n        return None\n"
WRONG = {
    "none.py": (USERS, "expected a subclass of harness.traffic.users.ClaimUser in"),
    "plain.py": (
        f"{USERS}class Plain(User):\n    @task\n    def t(self):\n        pass\n",
        "got Plain, whose calls would not be recorded",
    ),
    "idle.py": (f"{USERS}class Idle(users.ClaimUser):\n    pass\n", "in Idle of .*, got neither"),
    "both.py": (
        f"{USERS}class Both(profiles.ChurnUser):\n    @task\n    def t(self):\n        pass\n",
        "in Both of .*, got both",
    ),
    "shaped.py": (
        f"{FINE}{SHAPE}\nclass Stairs(Steps):\n    pass\n",
        r"expected at most one LoadTestShape in .*shaped\.py, got Steps, Stairs: remove all but",
    ),
    "syntax.py": ("import (", "which failed: SyntaxError"),
    "ends.py": ("raise SystemExit", "which failed: SystemExit"),
    "notes.txt": ("notes", r"whose name ends in \.py, got"),
}
"""Name of a file -> its content, and a pattern of what is said of it."""
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
    files = {"fine.py": FINE + SHAPE, **{name: text for name, (text, _) in WRONG.items()}}
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


RUN = """
import json, random, sys
import gevent, gevent.event
from locust import between, env, SequentialTaskSet, task, TaskSet
from harness.traffic import users, workers

seen = []

class FakeWorker(workers.Worker):
    journal = api = seeds = None
    def __init__(self):
        self.released, self.stopped = gevent.event.Event(), gevent.event.Event()
        self._time_is_up, self.rounds = gevent.event.Event(), 0
        self.plan = type("Plan", (), {"namespace": "n"})
        self.seeds = type("Seeds", (), {"stream": lambda *_: random.Random(1)})
    is_time_left = property(lambda self: len(seen) < 9)
    api = lambda self, user: None
    next_user_name = lambda self: "user"
    user_begins = lambda self: None
    user_done = lambda self: seen.append("done")

def note(name):
    return lambda self: seen.append(f"{type(self).__name__}.{name}")

class Inner(TaskSet):
    on_start, leave = note("on_start"), task(lambda self: self.interrupt())
    on_stop = note("on_stop")

class Flow(SequentialTaskSet):
    first, tasks, last = task(note("first")), [Inner], task(note("last"))
    @task
    def fail(self):
        raise KeyError("its reason")

class Person(users.ClaimUser):
    tasks, wait_time = [Flow], between(0.001, 0.002)

class Sleeper(users.ClaimUser):
    tasks, wait_time = [Flow], between(1000, 1000)

users.ClaimUser.worker = FakeWorker()
environment = env.Environment(user_classes=[Person, Sleeper])
environment.events.user_error.add_listener(lambda exception, **_: seen.append(repr(exception)))
runner = environment.create_local_runner()
runner.spawn_users({"Person": 1, "Sleeper": 1})
users.ClaimUser.worker.released.set()
gevent.spawn(users.ClaimUser.worker._await_end)
runner.user_greenlets.join(timeout=30)
gevent.sleep(0.1)
print(json.dumps([seen, len(runner.user_greenlets)]))
"""


def test_task_sets_run_as_locust_runs_them_until_the_time_is_up() -> None:
    """In order, nested, with errors told; a user that waits for long ends at once, too."""
    done = subprocess.run(
        [sys.executable, "-c", RUN], capture_output=True, text=True, check=True, timeout=60
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
