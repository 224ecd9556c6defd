"""Commands without some libraries: those that work, and those that refuse in one sentence."""

import importlib.metadata
import json
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

from harness import processes
from tests.histories import building

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).parents[2]
LIGHT = ROOT / "requirements-judge.txt"
NAME = re.compile(r"[\w.-]+")
COMMANDS = """
import contextlib, io, json, sys
blocked = set(json.loads(sys.argv[1]))
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Finder())
for name in blocked:
    sys.modules[name] = None
from harness.cli import commands
found = []
for words in json.loads(sys.argv[2]):
    sys.argv = ["flake-hunt", *words]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = commands.run()
    found.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(found))
"""


def run(blocked: list[str], *commands: list[str]) -> list[tuple[int, str, str]]:
    """Return exit code, output and errors of commands in a process without some modules."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(blocked), json.dumps(commands)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


@pytest.mark.parametrize(
    ("module", "extra", "commands"),
    [
        (
            "locust",
            "traffic",
            [["run", "pod-churn"], ["hunt", "pod-churn"]],
        ),
        ("docker", "kind", [["run", "pod-churn", "--cluster", "kind"]]),
    ],
)
def test_a_missing_extra_is_one_sentence(
    tmp_path: pathlib.Path, module: str, extra: str, commands: list[list[str]]
) -> None:
    asked = [[*words, "--reports", str(tmp_path)] for words in commands]
    for code, out, err in run([module], *asked):
        assert (code, err.count("\n")) == (2, 1), out + err
        assert f"which is not installed: pip install '.[{extra}]'" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("module", ["grpc", "google.protobuf"])
def test_the_driver_and_the_suite_of_drivers_without_their_extra(
    tmp_path: pathlib.Path, module: str
) -> None:
    folder = f"{tmp_path}/x"
    folders = processes.changed(plugins_dir=folder, registry_dir=folder, cdi_dir=folder)
    words = ["part", "driver", "--kubeconfig", "x", "--node", "n", "--state", folder, *folders]
    for code, out, err in run([module], words, ["driver-test", "command=true"]):
        assert (code, err.count("\n")) == (2, 1), out + err
        assert "which is not installed: pip install '.[driver]'" in err
    assert list(tmp_path.iterdir()) == []


def test_doctor_names_the_missing_extra() -> None:
    ((code, out, _),) = run(["docker"], ["doctor", "kind"])
    assert code == 1
    assert "pip install '.[kind]'" in " ".join(out.replace("│", " ").split())


def _needed(names: set[str]) -> set[str]:
    """Return distributions with all that they need."""
    found: set[str] = set()
    left = {_plain(name) for name in names}
    while left:
        name = left.pop()
        found.add(name)
        for requirement in importlib.metadata.requires(name) or []:
            if "extra ==" not in requirement:
                needed = _plain(NAME.match(requirement)[0])  # type: ignore[index]
                left |= {needed} - found if _is_installed(needed) else set()
    return found


def _is_installed(name: str) -> bool:
    try:
        return bool(importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return False


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _light() -> list[str]:
    return [line for line in LIGHT.read_text().splitlines() if line and not line.startswith("#")]


def test_runs_are_judged_with_the_light_set_alone(tmp_path: pathlib.Path) -> None:
    light = _needed({NAME.match(line)[0] for line in _light()}) | {"flake-hunt"}  # type: ignore[index]
    installed = importlib.metadata.packages_distributions()
    blocked = [
        module
        for module, owners in installed.items()
        if not light & {_plain(one) for one in owners}
    ]
    assert {"locust", "docker", "aiohttp", "duckdb", "pytest", "cryptography"} <= {*blocked}
    path = str(building.build(tmp_path / "run", "p:a,b a+D1 a^p p>n p* b+D1 a~").path)
    judged, rendered, compared = run(
        blocked,
        ["check", path],
        ["report", path],
        ["compare", path, path],
    )
    assert judged[0] == 10, judged
    assert rendered[0] == 0, rendered
    assert compared[0] in (0, 2, 20), compared
    assert "ImportError" not in compared[2]


def test_the_light_set_is_part_of_the_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {*_light()} <= {*project["dependencies"]}
    extras = project["optional-dependencies"]
    assert {*extras["traffic"]} <= {*project["dependencies"]}
    assert {*extras["kind"], *extras["analysis"]} <= {*extras["dev"]}
