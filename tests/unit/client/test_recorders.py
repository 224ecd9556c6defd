"""The recorder: lists, every commit, gaps written down, a final list, and a trailer when it ended
in order.
"""

import pathlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from harness import clocks, processes
from harness.checks.holds import hold_history
from harness.client import apis, recorders, transports
from harness.history import directories, journal_reader, journal_writer, plans, records
from tests.support import recorder_directories

TIMEOUT_S = 30
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> directories.RunDirectory:
    return recorder_directories.create(tmp_path / "run", recorder_directories.plan("leases"))


@pytest.fixture
def recorder(
    directory: directories.RunDirectory, relayed_kubeconfig: pathlib.Path
) -> Iterator[recorders.Recorder]:
    """A recorder in this process, behind the relay, started."""
    writer = journal_writer.Writer(directory.observations, process="recorder", run_id="run-1")
    with apis.connected(relayed_kubeconfig) as api:
        made = recorders.Recorder(api, writer, plan=recorder_directories.plan("leases"))
        made.start()
        yield made
        made.finish()
        writer.close()
        assert not any(stream._thread.is_alive() for stream in made._streams if stream._thread)


def start(
    directory: directories.RunDirectory, server: Any, tmp_path: pathlib.Path
) -> processes.Process:
    words = ("part", "record", "--kubeconfig", server.kubeconfig, directory.path)
    argv = processes.command(*map(str, words))
    return processes.start_ready(
        "recorder",
        argv,
        log=tmp_path / "recorder.log",
        ready=tmp_path / "recorder.ready",
        timeout_s=TIMEOUT_S,
    )


def lease(name: str) -> Any:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"holderIdentity": "x"}}


def create(server: Any, *names: str) -> list[str]:
    made = [server.api.create(apis.LEASES, lease(name), namespace="default") for name in names]
    return [item["metadata"]["resourceVersion"] for item in made]


def read(directory: directories.RunDirectory) -> list[Any]:
    return list(journal_reader.read(directory.observations).records)


def seen(found: list[Any]) -> list[tuple[str, str]]:
    """(type, name) of every observation."""
    names = [
        (record.type, msgspec.json.decode(record.object)["metadata"]["name"])
        for record in found
        if isinstance(record, records.Observation)
    ]
    return [(kind, name) for kind, name in names if not name.startswith("worker")]


def wait_for(directory: directories.RunDirectory, condition: Callable[[list[Any]], object]) -> None:
    clocks.wait_until(lambda: condition(read(directory)), timeout_s=TIMEOUT_S, why="records")


def test_a_recording_from_first_to_final_list(
    server: Any, directory: directories.RunDirectory, tmp_path: pathlib.Path
) -> None:
    started = start(directory, server, tmp_path)
    versions = create(server, "a", "b")
    server.api.delete(apis.LEASES, "a", namespace="default")
    late = [f"late-{number:02d}" for number in range(30)]
    create(server, *late)  # right before the end
    assert started.stop(timeout_s=TIMEOUT_S) == 0
    journal = journal_reader.read(directory.observations)
    assert journal.header is not None
    assert (journal.header.process, journal.header.run_id) == ("recorder", "run-1")
    assert journal.trailer is not None
    assert not journal.torn
    assert seen(journal.records) == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("DELETED", "a"),
        *(("ADDED", name) for name in late),
        *(("FINAL", name) for name in ("b", *late)),
    ]
    lists = [r for r in journal.records if isinstance(r, records.Listed)]
    assert [(r.purpose, r.count) for r in lists] == [("first", 0), ("final", 31)]
    observed = [r for r in journal.records if isinstance(r, records.Observation)]
    assert [str(r.resource_version) for r in observed[:2]] == versions
    assert not any(isinstance(r, records.Gap) for r in journal.records)


def test_what_is_there_at_the_start_is_listed(
    server: Any, directory: directories.RunDirectory, request: pytest.FixtureRequest
) -> None:
    create(server, "early")
    request.getfixturevalue("recorder")
    assert seen(read(directory)) == [("LISTED", "early")]


def test_a_broken_connection_is_no_gap(
    server: Any, relay: Any, recorder: recorders.Recorder, directory: directories.RunDirectory
) -> None:
    create(server, "a")
    wait_for(directory, seen)
    relay.cut()
    create(server, "b")
    relay.mend()
    wait_for(directory, lambda found: len(seen(found)) == 2)
    found = read(directory)
    assert seen(found) == [("ADDED", "a"), ("ADDED", "b")]
    assert not any(isinstance(r, records.Gap) for r in found)
    assert len([r for r in found if isinstance(r, records.Resumed)]) >= 2
    recorder.raise_failure()


def test_a_gap_is_written_down_before_the_list_that_closes_it(
    server: Any, relay: Any, recorder: recorders.Recorder, directory: directories.RunDirectory
) -> None:
    (version,) = create(server, "a")
    wait_for(directory, seen)
    relay.cut()
    create(server, *(f"missed-{number}" for number in range(8)))
    server.api.delete(apis.LEASES, "missed-0", namespace="default")
    relay.mend()
    wait_for(directory, lambda found: len(seen(found)) >= 9)
    create(server, "after")
    wait_for(directory, lambda found: ("ADDED", "after") in seen(found))
    found = [r for r in read(directory) if not isinstance(r, records.Resumed)]
    (place,) = [index for index, r in enumerate(found) if isinstance(r, records.Gap)]
    gap, listed = found[place], found[place + 1]
    assert (gap.resource, gap.after_resource_version) == ("leases", int(version))
    assert "410" in gap.reason
    assert (listed.purpose, listed.count) == ("relist", 8)
    assert len([item for item in seen(found) if item[0] == "LISTED"]) == 8
    recorder.raise_failure()


def test_a_list_after_a_gap_is_tried_until_it_comes(
    server: Any,
    relay: Any,
    recorder: recorders.Recorder,
    directory: directories.RunDirectory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server is gone again just when the list is to be taken."""
    create(server, "a")
    wait_for(directory, seen)
    (stream,) = recorder._streams
    take_list, failed = stream.take_list, []

    def fail_once(purpose: Any) -> None:
        if not failed:
            failed.append(purpose)
            raise transports.TransportError("the server is gone again", sent=False)
        take_list(purpose)

    monkeypatch.setattr(stream, "take_list", fail_once)
    relay.cut()
    create(server, *(f"missed-{number}" for number in range(8)))
    relay.mend()
    wait_for(directory, lambda found: ("LISTED", "missed-7") in seen(found))
    assert failed == ["relist"]
    assert len([r for r in read(directory) if isinstance(r, records.Gap)]) == 1
    create(server, "after")
    wait_for(directory, lambda found: ("ADDED", "after") in seen(found))


def test_the_final_list_waits_for_a_watch_that_is_behind(
    server: Any,
    relay: Any,
    recorder: recorders.Recorder,
    directory: directories.RunDirectory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (stream,) = recorder._streams
    follow, get_list = stream._follow, stream._get_list
    may_follow, listed = threading.Event(), threading.Event()

    def follow_late() -> None:
        assert may_follow.wait(TIMEOUT_S)
        follow()

    def list_and_tell() -> Any:
        found = get_list()
        listed.set()
        return found

    wait_for(directory, lambda found: any(isinstance(r, records.Resumed) for r in found))
    monkeypatch.setattr(stream, "_follow", follow_late)
    monkeypatch.setattr(stream, "_get_list", list_and_tell)
    relay.cut()
    relay.mend()
    create(server, "late")
    finishing = threading.Thread(target=recorder.finish)
    finishing.start()
    assert listed.wait(TIMEOUT_S)
    may_follow.set()
    finishing.join(TIMEOUT_S)
    assert seen(read(directory)) == [("ADDED", "late"), ("FINAL", "late")]


def test_what_comes_after_the_final_list_is_not_recorded(
    server: Any,
    recorder: recorders.Recorder,
    directory: directories.RunDirectory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cluster that collects its garbage goes on when everything of ours has stopped."""
    (stream,) = recorder._streams
    stop = stream._stopped.set

    def collect_and_stop() -> None:
        (version,) = create(server, "straggler")
        clocks.wait_until(
            lambda: int(stream._version) >= int(version), timeout_s=TIMEOUT_S, why="it to be seen"
        )
        stop()

    create(server, "a")
    monkeypatch.setattr(stream._stopped, "set", collect_and_stop)
    recorder.finish()
    monkeypatch.undo()
    folded = hold_history.fold(read(directory)).stream("leases")
    assert folded.live == folded.final
    assert seen(read(directory)) == [("ADDED", "a"), ("FINAL", "a")]
    server.api.delete(apis.LEASES, "straggler", namespace="default")  # for the fixture's own end


@pytest.mark.parametrize(
    ("compression", "name"),
    [("none", "observations.jsonl"), ("zstd", "observations.jsonl.zst")],
)
def test_a_killed_recorder_leaves_what_it_had_written_and_no_trailer(
    server: Any,
    directory: directories.RunDirectory,
    tmp_path: pathlib.Path,
    compression: str,
    name: str,
) -> None:
    plan = msgspec.structs.replace(recorder_directories.plan("leases"), compression=compression)
    plans.write(directory.plan, plan)
    started = start(directory, server, tmp_path)
    create(server, "a", "b")
    wait_for(directory, lambda found: len(seen(found)) == 2)
    assert started.kill() == -signal.SIGKILL
    assert directory.observations.name == name
    journal = journal_reader.read(directory.observations)
    assert journal.trailer is None
    assert seen(journal.records) == [("ADDED", "a"), ("ADDED", "b")]


def test_a_killed_server_leaves_a_recording_without_an_end(
    mortal_server: Any, tmp_path: pathlib.Path, directory: directories.RunDirectory
) -> None:
    started = start(directory, mortal_server, tmp_path)
    create(mortal_server, "a")
    wait_for(directory, seen)
    mortal_server.process.kill()
    assert started.stop(timeout_s=TIMEOUT_S) == 1
    journal = journal_reader.read(directory.observations)
    assert journal.trailer is None
    assert seen(journal.records) == [("ADDED", "a")]
    assert "Traceback" not in started.log.read_text()
    assert "expected an API server at" in started.log.read_text()


def test_what_cannot_be_written_fails_the_recorder(server: Any) -> None:
    class Full:
        """A writer on a full disk, once it was told so."""

        full = False

        def write_many(self, body: list[Any]) -> None:
            if self.full:
                raise OSError(28, "No space left on device")

    writer, plan = Full(), recorder_directories.plan("leases")
    with apis.connected(server.kubeconfig) as api:
        made = recorders.Recorder(api, writer, plan=plan)  # type: ignore[arg-type]
        made.start()
        made.raise_failure()
        writer.full = True
        create(server, "a")
        (stream,) = made._streams
        clocks.wait_until(lambda: stream.failure, timeout_s=TIMEOUT_S, why="the failure")
        with pytest.raises(Exception, match=r"recording failed: leases: .*No space left"):
            made.raise_failure()
