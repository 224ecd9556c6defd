"""Faults of other packages: their effects are recorded, and every way to fail is told by name."""

import pathlib
import re
import types

import pytest

from harness import clocks, concurrency, errors
from harness.history import plans, records
from harness.run import run_plan
from harness.run.faulting import fault_process, injecting
from harness.scenario import loading
from tests.support import cases, plugin_packages
from tests.unit.run.faulting import fake_parts

HEAD = "import os\nclass Cordon:\n    def inject(self, target):\n"
BODIES = {
    "fine": """
        print("not an effect")
        target.applied("cordoned", kind="nodes", name="worker-3", resource_version=7)
        number = target.random.randrange(10**9)
        assert target.wait(60)
        target.applied(f"{number} {target.parameters['seconds']} {target.namespace}")
""",
    "done": "        target.applied('once')\n",
    "failing": "        raise KeyError('why')\n",
    "leaving": "        raise SystemExit('why')\n",
    "abrupt": "        os._exit(0)\n",
    "nonsense": "        target.applied('x', colour='red')\n",
    "empty": "        target.applied('')\n",
    "late": "        import threading; threading.Event().wait(600)\n",
    "offline": "        target.request('GET', '/api/v1/nodes')\n",
}


def injected(tmp_path: pathlib.Path, name: str) -> list[records.Body]:
    """Inject a plug-in's fault until it has taken effect once, or is done; return its records."""
    fault = plans.PlannedFault(
        name="f",
        kind="plugin",
        carrier="run",
        text="",
        parameters={"plugin": name, "parameters": {"seconds": 0.5}},
    )
    stage = fake_parts.stage(
        tmp_path / name, cluster=types.SimpleNamespace(user_kubeconfig=tmp_path / "kubeconfig")
    )
    journal, ending = stage.journal, injecting.Ending()

    def end_after_an_effect() -> None:
        clocks.wait_until(
            lambda: journal.count("f") or journal.active() == [] or name == "late",
            timeout_s=30,
            why="an effect",
        )
        ending.over.set()

    watching = concurrency.spawn("watching", end_after_an_effect)
    applied, window = fake_parts.injected(stage, fault, ending)
    watching.join(30)
    return [*applied, window]


@pytest.fixture
def acme(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    files = {f"acme_{name}.py": HEAD + body for name, body in BODIES.items()}
    entry_points = {"faults": {name: f"acme_{name}:Cordon" for name in BODIES}}
    entry_points["faults"]["broken"] = "acme_nowhere:X"
    plugin_packages.install(tmp_path / "site", monkeypatch, "acme", entry_points, files)
    return tmp_path


def test_effects_are_recorded_until_the_plugin_has_undone_it(acme: pathlib.Path) -> None:
    first, second, window = injected(acme, "fine")
    assert isinstance(first, records.FaultApplied)
    assert (first.resource, first.name, first.resource_version) == ("nodes", "worker-3", 7)
    assert (first.detail, first.client) == ("cordoned", "the plug-in fine")
    assert isinstance(second, records.FaultApplied)
    assert re.fullmatch(r"\d+ 0\.5 ns", second.detail)
    assert isinstance(window, records.FaultWindow)
    assert (window.applied_count, window.error) == (2, "")
    assert "not an effect" in (acme / "fine/run/logs/fault-f.log").read_text()


def test_the_random_numbers_are_those_of_the_seed(acme: pathlib.Path) -> None:
    found = []
    for folder in (acme / "one", acme / "two"):
        folder.mkdir()
        found.append([getattr(item, "detail", "") for item in injected(folder, "fine")])
    assert found[0] == found[1]


def test_a_plugin_that_is_done_ends_its_fault(acme: pathlib.Path) -> None:
    *_, window = injected(acme, "done")
    assert isinstance(window, records.FaultWindow)
    assert (window.applied_count, window.error) == (1, "")


@pytest.mark.parametrize(("name", "reason"), cases.read(__file__, "failures"))
def test_a_failure_is_an_error_of_the_window(
    acme: pathlib.Path, monkeypatch: pytest.MonkeyPatch, name: str, reason: str
) -> None:
    if name == "late":
        monkeypatch.setattr(fault_process, "GRACE_S", 0.3)
    *_, window = injected(acme, name)
    assert isinstance(window, records.FaultWindow)
    assert re.search(reason, window.error), window.error


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("don", r"group flake_hunt\.faults, got 'don'.* Did you mean 'done'"),
        ("broken", "No module named 'acme_nowhere'"),
    ],
)
def test_a_plan_with_a_fault_that_is_none_is_refused(name: str, reason: str) -> None:
    loaded = loading.load("pod-churn", overrides=[f"faults=[{{kind='plugin', plugin='{name}'}}]"])
    with pytest.raises(errors.UsageError, match=reason):
        run_plan.plan(loaded, seed=1)


@pytest.mark.usefixtures("acme")
def test_a_plan_has_the_fault_and_its_package() -> None:
    fault = "{kind='plugin', plugin='done', parameters={level=3}, duration_s=2}"
    loaded = loading.load("pod-churn", overrides=[f"faults=[{fault}]"])
    plan = run_plan.plan(loaded, seed=1)
    (planned,) = plan.faults
    assert planned.text == "The plug-in done injects its fault, for 2 s."
    assert planned.parameters == {"plugin": "done", "parameters": {"level": 3}}
    assert (planned.carrier, planned.clients, planned.duration_s) == ("run", [], 2)
    assert [(item.kind, item.name) for item in plan.plugins] == [("faults", "done")]
