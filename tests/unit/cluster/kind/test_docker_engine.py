"""The same requests to the stand-in and, where this machine has one, to a real container engine.

Nothing is started, so that an image of one empty folder will do and no network is needed.
"""

import io
import pathlib
import secrets
import tarfile
import uuid
from collections.abc import Iterator

import docker
import docker.errors
import pytest

from harness import errors
from harness.cluster.kind import docker_engine
from tests.stand_ins import standing_in

REPOSITORY = "flake-hunt-test"
FILE, TEXT = "notes.txt", b"kept"


class Bench:
    """An engine, a client past the code under test, and an image to make containers from."""

    def __init__(self, client: docker.DockerClient, image: str) -> None:
        self.client, self.image = client, image
        self.cluster = f"fh-test{secrets.token_hex(4)}"
        self._made: list[str] = []

    def container(self, *, cluster: str | None = None) -> str:
        """A node that was never started, with an anonymous volume and a file; its name."""
        cluster = cluster or self.cluster
        name = f"{cluster}-control-plane"
        made = self.client.api.create_container(
            self.image,
            command=["/none"],
            name=name,
            labels={docker_engine.CLUSTER_LABEL: cluster},
            volumes=["/var"],
        )
        self._made.append(made["Id"])
        self.client.api.put_archive(made["Id"], "/", packed())
        return name

    def remove_containers(self) -> None:
        for made in self._made:
            try:
                self.client.api.remove_container(made, v=True, force=True)
            except docker.errors.NotFound:
                continue


def packed() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        folder = tarfile.TarInfo("folder")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(folder)
        member = tarfile.TarInfo(f"folder/{FILE}")
        member.size = len(TEXT)
        archive.addfile(member, io.BytesIO(TEXT))
    return buffer.getvalue()


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[standing_in.StandIn]:
    with standing_in.started(tmp_path_factory.mktemp("engine")) as made:
        yield made


@pytest.fixture(params=["stand-in", "real"])
def bench(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    if request.param == "stand-in":
        engine: standing_in.StandIn = request.getfixturevalue("stand_in")
        monkeypatch.setenv("DOCKER_HOST", engine.host)
        made = Bench(engine.client(), standing_in.IMAGE)
        yield made
        made.remove_containers()
        made.client.close()
        return
    try:
        with docker_engine.connected():
            pass
    except errors.ClusterError as error:
        pytest.skip(str(error))
    client = docker.from_env()
    tag = uuid.uuid4().hex
    client.api.import_image_from_data(packed(), repository=REPOSITORY, tag=tag)
    made = Bench(client, f"{REPOSITORY}:{tag}")
    try:
        yield made
    finally:
        made.remove_containers()
        client.images.remove(made.image)
        client.close()


@pytest.fixture
def engine(bench: Bench) -> Iterator[docker_engine.Engine]:
    del bench  # which says where it is
    with docker_engine.connected() as made:
        yield made


def test_the_nodes_of_a_cluster_are_told_apart(bench: Bench, engine: docker_engine.Engine) -> None:
    other = f"{bench.cluster}0"  # a name that begins with the other's
    mine, others = bench.container(), bench.container(cluster=other)
    (found,) = engine.nodes(bench.cluster)
    assert (found.name, found.cluster, found.running) == (mine, bench.cluster, False)
    assert {mine, others} <= {node.name for node in engine.nodes()}


def test_a_container_goes_with_its_volumes_and_twice_is_no_harm(
    bench: Bench, engine: docker_engine.Engine
) -> None:
    bench.container()
    (found,) = engine.nodes(bench.cluster)
    mounts = bench.client.api.inspect_container(found.id)["Mounts"]
    (volume,) = (item["Name"] for item in mounts if item["Type"] == "volume")
    engine.remove(found)
    assert engine.nodes(bench.cluster) == []
    assert volume not in {item["Name"] for item in bench.client.api.volumes()["Volumes"] or []}
    engine.remove(found)


def test_files_are_read_where_they_are(
    bench: Bench, engine: docker_engine.Engine, tmp_path: pathlib.Path
) -> None:
    name = bench.container()
    assert engine.read(name, f"/folder/{FILE}") == TEXT
    assert engine.read(name, "/folder/none") is None
    assert engine.read("fh-none-control-plane", "/folder") is None
    (saved,) = engine.save_folder(name, "/folder", tmp_path / "to")
    assert saved.read_bytes() == TEXT
    assert engine.save_folder(name, "/none", tmp_path / "nothing") == []
