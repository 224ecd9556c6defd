"""The kind command: finding it, and its failures in words. The texts are kind's own, as reported in
its issues.
"""

import pathlib

import pytest

from harness import errors
from harness.cluster.kind import kind_command


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
    assert kind_command.version(at_least="0.33.0") == "0.33.0"


def test_a_version_between_releases(programs: pathlib.Path) -> None:
    executable(programs, "kind", "echo kind v0.34.0-alpha+4d2f4e2b1a1b1c go1.25.5 darwin/arm64")
    assert kind_command.version(at_least="0.33.0") == "0.34.0"


def test_no_kind(programs: pathlib.Path) -> None:
    with pytest.raises(
        errors.ClusterError, match=r"kind v0\.33\.0 or newer in PATH, found no kind"
    ):
        kind_command.version(at_least="0.33.0")


def test_a_kind_that_is_too_old(programs: pathlib.Path) -> None:
    executable(programs, "kind", "echo kind v0.9.0 go1.15.2 linux/amd64")
    with pytest.raises(
        errors.ClusterError, match=r"expected kind v0\.33\.0 or newer, got .kind v0\.9\.0"
    ):
        kind_command.version(at_least="0.33.0")


def test_no_docker_command(programs: pathlib.Path) -> None:
    executable(programs, "kind", "echo kind v0.33.0 go1.25.5 linux/amd64")
    (programs / "docker").unlink()
    with pytest.raises(errors.ClusterError, match="found no docker"):
        kind_command.version(at_least="0.33.0")


def test_something_else_called_kind(programs: pathlib.Path) -> None:
    executable(programs, "kind", "echo usage: kind of a program")
    with pytest.raises(errors.ClusterError, match=r"got .usage: kind of a program"):
        kind_command.version(at_least="0.33.0")


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (
            " ✗ …\nERROR: failed to create cluster: failed to pull image\n\nCommand Output: canceled",
            "failed: failed to create cluster: failed to pull image Command Output: canceled",
        ),
        ("", "failed: exit code 139"),
    ],
)
def test_a_failure_has_the_words_of_kind_and_the_path_of_its_log(
    programs: pathlib.Path, tmp_path: pathlib.Path, output: str, words: str
) -> None:
    executable(programs, "kind", f"printf '%s' '{output}'\nexit 139")
    log = tmp_path / "kind.log"
    with pytest.raises(errors.ClusterError) as caught:
        kind_command.export_logs("one", tmp_path, log=log)
    assert words in str(caught.value)
    assert str(log) in str(caught.value)
