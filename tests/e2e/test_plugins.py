"""A package with one plug-in of each kind, installed and used; and users who fail."""

import json
import pathlib
import shutil
import tomllib

import pytest

from harness.scenario import examples
from tests.e2e import running
from tests.support import plugin_packages

pytestmark = pytest.mark.e2e
FAILING = """
from locust import task
from harness.traffic import users

class Failing(users.ClaimUser):
    @task
    def fail(self):
        raise KeyError("its reason")
"""


SEQUENCE = """
from locust import SequentialTaskSet, TaskSet, task
from harness.traffic import users

class Stay(SequentialTaskSet):
    @task
    def create(self):
        self.pod = self.user.new_pod_name()
        self.user.create_pod(self.pod)

    @task
    class Wait(TaskSet):
        @task
        def wait(self):
            self.user.wait_running(self.parent.pod, timeout_s=20)
            self.interrupt()

    @task
    def delete(self):
        self.user.delete_pods([self.pod], timeout_s=20)

class Person(users.ClaimUser):
    tasks = {Stay: 1}
"""
SHAPE = """
from locust import LoadTestShape

class Steps(LoadTestShape):
    steps = [(6, 100), (9, 100), None]

    def tick(self):
        return self.steps.pop(0)
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The examples, with their package of plug-ins as pip installs it."""
    examples.copy(tmp_path / "mine")
    source = tmp_path / "mine" / "my-plugins"
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    entry_points = {
        group.removeprefix("flake_hunt."): named for group, named in project["entry-points"].items()
    }
    site = tmp_path / "site"
    shutil.move(source / "my_plugins", site / "my_plugins")
    plugin_packages.install(
        site, monkeypatch, project["name"], entry_points, version=project["version"]
    )
    return tmp_path / "mine"


def used(directory: pathlib.Path) -> set[tuple[str, str]]:
    plugins = json.loads((directory / "plan.json").read_text())["plugins"]
    assert {(item["package"], item["version"]) for item in plugins} == {("my-plugins", "0.1.0")}
    return {(item["kind"], item["name"]) for item in plugins}


def the_run(folder: pathlib.Path) -> pathlib.Path:
    (plan,) = folder.glob("reports/two-nodes/*/plan.json")
    return plan.parent


def test_scenario_cluster_subject_and_check_of_a_package(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--subject", "my-scheduler", "--cluster", "short-memory", "--seed", "7"]
    code, text = running.run(folder, "run", "two-nodes", *options)
    assert code == 0, text
    directory = the_run(folder)
    assert used(directory) == {
        ("scenarios", "two-nodes"),
        ("clusters", "short-memory"),
        ("subjects", "my-scheduler"),
        ("faults", "cordon"),
        ("checks", "one_pool_per_claim"),
    }
    checks = json.loads((directory / "verdict.json").read_text())["checks"]
    (found,) = [item for item in checks if item["check"] == "one_pool_per_claim"]
    assert found["verdict"] == "VALID"
    assert found["examined_count"] >= 10
    assert "(plug-in of my-plugins 0.1.0)" in found["reason"]
    monkeypatch.delenv("PYTHONPATH")
    code, text = running.run(folder, "check", str(directory))
    assert code == 20, text
    plain = " ".join(text.split())
    assert "no answer: one_pool_per_claim: the run owes this check of my-plugins 0.1.0" in plain


def test_users_and_a_known_defect_of_a_package(folder: pathlib.Path) -> None:
    options = ["--set", "traffic.locustfile=impatient", "--defect", "in-flight-forgotten"]
    code, text = running.run(folder, "run", "two-nodes", *options)
    assert code == 10, text
    assert used(the_run(folder)) >= {("traffic", "impatient"), ("defects", "in-flight-forgotten")}


def test_users_who_fail_make_the_run_unknown_by_name(tmp_path: pathlib.Path) -> None:
    scenario = running.scenario(tmp_path)
    (tmp_path / "failing.py").write_text(FAILING)
    code, text = running.called(
        tmp_path, "run", str(scenario), "--set", "traffic.locustfile=failing.py"
    )
    assert code == 20, text
    reason = json.loads((running.run_directory(tmp_path) / "verdict.json").read_text())["reason"]
    assert "traffic ended unexpectedly or with an error" in reason
    assert "its users are failing.py of " in reason
    assert "its reason" in (running.run_directory(tmp_path) / "logs" / "traffic.log").read_text()


def test_task_sets_and_a_shape_make_the_load_until_the_shape_ends(tmp_path: pathlib.Path) -> None:
    """Long before the scenario's time, and no user of the second step is left out."""
    scenario = running.scenario(tmp_path)
    (tmp_path / "shaped.py").write_text(SEQUENCE + SHAPE)
    values = ["traffic.duration_s=60", "traffic.duration_max_s=60"]
    values += ["load.allocations_min=1", "load.pods_running_min=1"]
    options = [word for value in values for word in ("--set", value)]
    code, text = running.called(
        tmp_path, "run", str(scenario), "--set", "traffic.locustfile=shaped.py", *options
    )
    assert code == 0, text
    log = (running.run_directory(tmp_path) / "logs" / "traffic.log").read_text()
    assert '"Person": 9' in log
    assert "the shape has ended" in log
