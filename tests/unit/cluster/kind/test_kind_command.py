"""The kind command: finding it, and its failures in words. The texts are kind's own, as reported in
its issues.
"""

import pathlib

import pytest

from harness import errors
from harness.cluster.kind import kind_command, kind_failures
from tests.support import cases


def executable(folder: pathlib.Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def programs(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    folder = tmp_path / "bin"
    executable(folder, "docker", "exit 0")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_a_kind_that_is_there(programs: pathlib.Path) -> None:
    executable(programs, "kind", "echo kind v0.33.0 go1.25.5 linux/amd64")
    found = kind_command.find(at_least="0.33.0")
    assert found.version == (0, 33, 0)
    assert found.path == str(programs / "kind")


def test_a_version_between_releases(programs: pathlib.Path) -> None:
    executable(programs, "kind", "echo kind v0.34.0-alpha+4d2f4e2b1a1b1c go1.25.5 darwin/arm64")
    assert kind_command.find(at_least="0.33.0").version == (0, 34, 0)


def test_no_kind(programs: pathlib.Path) -> None:
    with pytest.raises(errors.ClusterError, match=r"found none: install kind v0\.33\.0 or newer"):
        kind_command.find(at_least="0.33.0")


def test_a_kind_that_is_too_old(programs: pathlib.Path) -> None:
    executable(programs, "kind", "echo kind v0.9.0 go1.15.2 linux/amd64")
    with pytest.raises(
        errors.ClusterError, match=r"expected kind v0\.33\.0 or newer, got v0\.9\.0"
    ):
        kind_command.find(at_least="0.33.0")


def test_no_docker_command(programs: pathlib.Path) -> None:
    executable(programs, "kind", "echo kind v0.33.0 go1.25.5 linux/amd64")
    (programs / "docker").unlink()
    with pytest.raises(errors.ClusterError, match="expected the command docker in PATH"):
        kind_command.find(at_least="0.33.0")


def test_something_else_called_kind(programs: pathlib.Path) -> None:
    executable(programs, "kind", "echo usage: kind of a program")
    with pytest.raises(errors.ClusterError, match="to print `kind v"):
        kind_command.find(at_least="0.33.0")


@pytest.mark.parametrize("failure", cases.read(__file__, "failures"), ids=lambda item: item["from"])
def test_every_known_failure_has_its_remedy(failure: dict[str, str]) -> None:
    said = f" ✗ …\n{failure['said']}"
    message = kind_failures.explain(["create", "cluster"], 1, said, pathlib.Path("kind.log"))
    first, second, third = message.splitlines()
    assert first.startswith("`kind create cluster` failed: ")
    assert failure["remedy"] in first
    assert second.startswith("  kind said: failed to create cluster: ")
    assert third == "  kind.log"


def test_an_unknown_failure_points_to_the_log() -> None:
    message = kind_failures.explain(["create", "cluster"], 139, "", pathlib.Path("kind.log"))
    assert "see kind.log" in message
    assert "exit code 139" in message
