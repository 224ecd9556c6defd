"""Locustfiles and traffic plug-ins: which have users, and what is said of those that have none."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

from harness import errors
from harness.run import run_plan
from harness.scenario import loading
from harness.traffic import locustfiles
from tests.support import plugin_packages

USERS = "from locust import task, User\nfrom harness.traffic import profiles, users\n"
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
"""
WRONG = {
    "none.py": (USERS, "expected a subclass of harness.traffic.users.ClaimUser in"),
    "plain.py": (
        f"{USERS}class Plain(User):\n    @task\n    def t(self):\n        pass\n",
        "got Plain, whose calls would not be recorded",
    ),
    "idle.py": (f"{USERS}class Idle(users.ClaimUser):\n    pass\n", "in Idle of .*, got neither"),
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
    assert found == {"Often": 3, "Once": 0, "Churn": 0}
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
    resolved = locustfiles.resolved(loaded.scenario)
    assert [(item.name, item.package) for item in locustfiles.used(resolved)] == [
        ("bursts", "acme")
    ]
    broken = loading.load("pod-churn", overrides=["traffic.locustfile=broken"])
    with pytest.raises(errors.PluginError, match="No module named 'acme_nowhere'"):
        locustfiles.resolved(broken.scenario)


def test_a_name_that_is_neither_is_told() -> None:
    loaded = loading.load("pod-churn", overrides=["traffic.locustfile=nothing"])
    with pytest.raises(errors.PluginError, match="got 'nothing', which is neither"):
        locustfiles.resolved(loaded.scenario)


def test_another_profile_has_no_locustfile() -> None:
    with pytest.raises(errors.ScenarioError, match=r"traffic\.locustfile"):
        loading.load("shared-claims", overrides=["traffic.locustfile=nothing"])
