"""Requests to the Docker SDK, and its errors."""

import io
import pathlib
import tarfile
import types
from collections.abc import Callable
from typing import Any

import docker.errors
import pytest

from harness import errors
from harness.cluster.kind import docker_engine

RAW = {"Id": "0123456789abcdef", "Names": ["/fh-a-control-plane"], "State": "exited"}
Engine = Callable[..., docker_engine.Engine]


def engine(**api: Any) -> docker_engine.Engine:
    client: Any = types.SimpleNamespace(api=types.SimpleNamespace(**api))
    return docker_engine.Engine(client)


def raising(error: Exception) -> Callable[..., Any]:
    def call(*_: Any, **__: Any) -> Any:
        raise error

    return call


def refused(explanation: str) -> docker.errors.APIError:
    return docker.errors.APIError("409", explanation=explanation)


def test_the_nodes_of_a_cluster_have_its_label() -> None:
    asked: list[Any] = []

    def containers(**options: Any) -> list[dict[str, Any]]:
        asked.append(options)
        return [RAW]

    (found,) = engine(containers=containers).nodes("fh-a")
    assert asked == [{"all": True, "filters": {"label": ["io.x-k8s.kind.cluster=fh-a"]}}]
    assert (found.id, found.name, found.running) == (RAW["Id"], "fh-a-control-plane", False)


@pytest.mark.parametrize(
    "error",
    [docker.errors.NotFound("gone"), refused("removal of container x is already in progress")],
)
def test_a_container_that_goes_anyway_is_removed(error: Exception) -> None:
    container = docker_engine.Container(id="x", name="x", running=True)
    engine(remove_container=raising(error)).remove(container)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            refused("volume is in use"),
            "removing the container x: the container engine answered volume",
        ),
        (OSError("gone"), r"expected a container engine that responds \(gone\): install Docker"),
    ],
)
def test_a_failure_says_what_was_done(error: Exception, words: str) -> None:
    container = docker_engine.Container(id="x", name="x", running=True)
    with pytest.raises(errors.ClusterError, match=words):
        engine(remove_container=raising(error)).remove(container)


def test_an_engine_that_is_not_there(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    with pytest.raises(errors.ClusterError, match=r"no\.sock: No such file"):  # noqa: SIM117
        with docker_engine.connected():
            pass


def test_files_come_in_chunks_of_any_size(tmp_path: pathlib.Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        folder = tarfile.TarInfo("audit")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name in ("audit.log", "audit-1.log"):
            member = tarfile.TarInfo(f"audit/{name}")
            member.size = len(name)
            archive.addfile(member, io.BytesIO(name.encode()))
    data = packed.getvalue()

    def get_archive(container: str, path: str, size: int) -> tuple[Any, Any]:
        if path == "/none":
            raise docker.errors.NotFound(path)
        return (data[at : at + 700] for at in range(0, len(data), 700)), {}

    made = engine(get_archive=get_archive)
    assert made.read("c", "/audit") == b"audit.log"
    made.save_folder("c", "/audit", tmp_path / "to")
    assert {path.name: path.read_text() for path in (tmp_path / "to").iterdir()} == {
        name: name for name in ("audit.log", "audit-1.log")
    }
    assert made.read("c", "/none") is None
    made.save_folder("c", "/none", tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("exit_code", [0, 127])
def test_a_command_has_to_succeed(exit_code: int) -> None:
    made = engine(
        exec_create=lambda container, words: {"Id": "e"},
        exec_start=lambda run, *, detach: None,
        exec_inspect=lambda run: {"Running": False, "ExitCode": exit_code},
    )
    if not exit_code:
        made.execute("c", ["mv", "a", "b"])
        return
    with pytest.raises(errors.ClusterError, match=r"`mv a b` to succeed .* exit code 127"):
        made.execute("c", ["mv", "a", "b"])
