"""The drivers of the examples hold the suite's rules; a changed one breaks the rules for it."""

import json
import pathlib
import shutil
import subprocess
import sys
from typing import Any

import pytest

import harness.conformance.driver_instances  # noqa: F401 - sets a variable of gRPC once
from tests.e2e import running
from tests.support import cases
from tests.support.called_commands import FlakeHunt

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

EXAMPLE = pathlib.Path(__file__).parents[3] / "examples" / "dra-driver"
ARGUMENTS = "{kubeconfig} {node} {driver} {plugins_dir} {registry_dir} {cdi_dir} {state_dir}"
FOUND = cases.read(__file__, "found")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The example in a folder of its own, with its messages."""
    folder = tmp_path_factory.mktemp("example") / "dra-driver"
    shutil.copytree(EXAMPLE, folder)
    plugin = pathlib.Path(sys.executable).with_name("protoc-gen-grpclib_python")
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I.", "--python_out=."]
    command += ["--grpclib_python_out=.", f"--plugin={plugin}", "dra.proto", "registration.proto"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return folder


def checked(flake_hunt: FlakeHunt, driver: str, *options: str) -> tuple[int, dict[str, str]]:
    """Exit code of the suite, and rule -> its level if it failed."""
    given = (f"{driver} {ARGUMENTS}", "--output=json", *options)
    code, output, complaint = flake_hunt("driver-test", *given)
    assert output, complaint
    rules: list[dict[str, Any]] = json.loads(output)["rules"]
    return code, {rule["rule"]: rule["level"] for rule in rules if rule["result"] == "failed"}


def test_every_rule_with_must_or_should_holds(
    flake_hunt: FlakeHunt, compiled: pathlib.Path
) -> None:
    code, failed = checked(flake_hunt, f"{sys.executable} {compiled / 'driver.py'}")
    assert {rule: level for rule, level in failed.items() if level != "note"} == {}
    assert code == 0


def test_the_one_in_javascript_holds_them_too(
    flake_hunt: FlakeHunt, compiled: pathlib.Path
) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on PATH")
    packages = subprocess.run(
        [node, "-e", "require('@grpc/grpc-js'); require('@grpc/proto-loader')"],
        capture_output=True,
        cwd=compiled,
        timeout=60,
        check=False,
    )
    if packages.returncode:
        pytest.skip("@grpc/grpc-js and @grpc/proto-loader are not found: set NODE_PATH")
    code, failed = checked(flake_hunt, f"{node} {compiled / 'driver.js'}")
    assert {rule: level for rule, level in failed.items() if level != "note"} == {}
    assert code == 0


def test_a_run_with_a_driver_that_publishes_its_devices(
    compiled: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    path = running.scenario(tmp_path)
    driver = f"subject.driver=command={sys.executable} {compiled / 'driver.py'} {ARGUMENTS}"
    options = ("--set", "pools.published_by=driver", "--set", "pools.devices_per_node=4")
    code, output = running.called(tmp_path, "run", str(path), *options, "--set", driver)
    assert code == 0, output


ALTERNATIVE = {"name": "large", "deviceClassName": "any"}
ALTERNATIVES = {
    "kind": "ResourceClaim",
    "spec": {"devices": {"requests": [{"name": "gpu", "firstAvailable": [ALTERNATIVE]}]}},
}


@pytest.mark.parametrize("name", FOUND)
def test_drivers_that_users_have_found(
    flake_hunt: FlakeHunt, compiled: pathlib.Path, tmp_path: pathlib.Path, name: str
) -> None:
    found = FOUND[name]
    shutil.copytree(compiled, tmp_path / "changed")
    driver = tmp_path / "changed" / "driver.py"
    for part, other in found["changes"]:
        text = driver.read_text()
        assert text.count(part) == 1
        driver.write_text(text.replace(part, other))
    options = [f"--rules={rule}" for rule in found["rules"]]
    if name == "subrequests":
        (tmp_path / "claim.json").write_text(json.dumps(ALTERNATIVES))
        options += ["--claim", str(tmp_path / "claim.json")]
    code, failed = checked(flake_hunt, f"{sys.executable} {driver}", *options)
    assert sorted(rule for rule, level in failed.items() if level != "note") == found["fails"]
    assert code == found["code"]


def test_a_driver_takes_the_folder_of_the_kubelet(
    flake_hunt: FlakeHunt, compiled: pathlib.Path
) -> None:
    """Its own folder is there, as Kubernetes' test driver wants it."""
    below = "{kubelet_dir}/plugins {kubelet_dir}/plugins_registry {cdi_dir} {state_dir}"
    arguments = f"{{kubeconfig}} {{node}} {{driver}} {below}"
    driver = f"sh -c 'cd {{plugins_dir}}/{{driver}} && exec \"$@\"' sh {sys.executable}"
    command = f"{driver} {compiled / 'driver.py'} {arguments}"
    code, output, _ = flake_hunt("driver-test", command, "--rules=registration")
    assert code == 0, output
