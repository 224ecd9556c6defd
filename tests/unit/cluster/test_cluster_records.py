"""The registry: entries that are there before anything is made, and names that must not be taken
twice.
"""

import pathlib
from concurrent import futures

import psutil
import pytest

from harness import errors
from harness.cluster import cluster_records, interfaces
from harness.scenario import profiles

EMBEDDED = profiles.load("embedded")


def request(name: str, *, stays: bool = False) -> interfaces.ClusterRequest:
    return interfaces.ClusterRequest(
        name=name, directory=cluster_records.folder() / name, stays=stays
    )


@pytest.fixture(autouse=True)
def own_state(state_home: pathlib.Path) -> pathlib.Path:
    return state_home


def test_an_entry_comes_changes_and_goes(own_state: pathlib.Path) -> None:
    assert cluster_records.known() == []
    entry = cluster_records.begin(EMBEDDED, request("one", stays=True))
    assert cluster_records.folder() == own_state / "flake-hunt" / "clusters"
    assert cluster_records.folder().stat().st_mode & 0o777 == 0o700
    assert cluster_records.known() == [entry]
    assert entry.is_held
    assert entry.load_profile() == EMBEDDED
    changed = cluster_records.mark_up(entry, [entry.owner])
    assert cluster_records.find("one") == changed
    assert not changed.is_held, "a cluster that stays is nobody's once it is up"
    cluster_records.forget(changed)
    assert cluster_records.known() == []
    cluster_records.forget(changed)  # again is no harm


def test_only_one_of_many_gets_a_name() -> None:
    def attempt(_: int) -> cluster_records.ClusterRecord | str:
        try:
            return cluster_records.begin(EMBEDDED, request("one"))
        except errors.UsageError as error:
            return str(error)

    with futures.ThreadPoolExecutor(8) as pool:
        ended = list(pool.map(attempt, range(8)))
    won = [one for one in ended if isinstance(one, cluster_records.ClusterRecord)]
    lost = [one for one in ended if isinstance(one, str)]
    assert len(won) == 1
    assert len(lost) == 7
    assert all("a cluster 'one' already exists" in text for text in lost)
    assert cluster_records.known() == won
    assert [path.name for path in cluster_records.folder().iterdir()] == ["one.json"]


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../outside", "/absolute", "Ä", "a b", "-a"]
)
def test_a_name_that_is_no_folders_name_is_refused(own_state: pathlib.Path, name: str) -> None:
    """The folder of a cluster is removed with everything in it."""
    with pytest.raises(errors.UsageError, match="expected a cluster's name"):
        cluster_records.begin(EMBEDDED, request(name))
    assert cluster_records.known() == []


def test_unknown_names() -> None:
    with pytest.raises(errors.UsageError, match=r"got 'x'. Clusters: none"):
        cluster_records.find("x")


def test_a_damaged_entry_is_named() -> None:
    (cluster_records.folder() / "broken.json").write_text("{")
    with pytest.raises(
        errors.ClusterError, match=r"broken\.json: expected the record of a cluster"
    ):
        cluster_records.known()


def test_a_process_that_has_only_the_pid_is_another_one() -> None:
    me = psutil.Process()
    same = cluster_records.identity(me.pid, "me")
    assert same.find() == me
    later = cluster_records.ProcessIdentity(name="me", pid=me.pid, started=me.create_time() - 60)
    assert later.find() is None
