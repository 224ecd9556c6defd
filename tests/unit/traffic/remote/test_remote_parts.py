"""The parts of remote workers that need neither Locust nor a network."""

import pathlib
import subprocess
import sys

import pytest

from harness import errors
from harness.history import directories
from harness.scenario import loading
from harness.traffic import launching
from harness.traffic.remote import admission, clock_offsets, journal_streams, messages, reaching

NAMES = ["traffic-0", "traffic-1"]
VERSION = "Flake Hunt 1 with Locust 2"
S = 10**9


def hello(pid: int = 7, version: str = VERSION) -> messages.Hello:
    return messages.Hello(version=version, host="far", boot_id="b", pid=pid)


def places(tmp_path: pathlib.Path) -> admission.Admission:
    return admission.Admission(NAMES, directories.RunDirectory(tmp_path), version=VERSION)


def test_the_shortest_round_trip_tells_the_offset_and_its_error() -> None:
    """The master's clock is 1000 ahead; the answer of the first trip took long on its way."""
    slow = clock_offsets.RoundTrip(sent_ns=0, received_ns=1010, answered_ns=1020, back_ns=900)
    fast = clock_offsets.RoundTrip(sent_ns=50, received_ns=1060, answered_ns=1080, back_ns=90)
    found = clock_offsets.best([slow, fast])
    assert (found.offset_ns, found.uncertainty_ns) == (1000, 11)
    for trip in (slow, fast):
        assert abs(trip.offset_ns - 1000) <= trip.uncertainty_ns


def test_messages_keep_bytes_and_anything_else_is_refused() -> None:
    chunk = messages.Chunk(offset=3, data=b"\x00\xff{")
    data = messages.encode(chunk)
    assert data["data"] == b"\x00\xff{"
    assert messages.decode(data, messages.Chunk) == chunk
    for wrong in (None, {}, {**data, "offset": "far"}, {**data, "type": "flake-hunt-done"}):
        with pytest.raises(errors.ProcessError, match="expected a message flake-hunt-chunk"):
            messages.decode(wrong, messages.Chunk)


def test_workers_get_the_free_places_and_others_are_named(tmp_path: pathlib.Path) -> None:
    found = places(tmp_path)
    first = found.admit("a", hello(1), now_ns=0)
    assert isinstance(first, admission.Member)
    assert found.admit("a", hello(1), now_ns=5) is first
    second = found.admit("b", hello(2), now_ns=0)
    assert isinstance(second, admission.Member)
    assert [first.process, second.process] == NAMES
    refused = found.admit("c", hello(3), now_ns=0)
    assert refused == (
        "expected 2 workers, which are there (traffic-0 (far, pid 1), traffic-1 (far, pid 2)), got "
        "one more (far, pid 3): do not start it, or raise traffic.processes"
    )
    found.dismiss(first)
    again = found.admit("c", hello(3), now_ns=0)
    assert isinstance(again, admission.Member)
    assert again.process == "traffic-0"
    assert found.missing == NAMES


def test_a_worker_of_another_version_is_refused(tmp_path: pathlib.Path) -> None:
    refused = places(tmp_path).admit("a", hello(version="Flake Hunt 2 with Locust 2"), now_ns=0)
    assert refused == (
        "expected a worker of Flake Hunt 1 with Locust 2, got one of Flake Hunt 2 with Locust 2 "
        "(far, pid 7): install the version of the run there"
    )
    assert admission.version().startswith("Flake Hunt ")


def test_silent_workers_are_found_by_their_state(tmp_path: pathlib.Path) -> None:
    found = places(tmp_path)
    early, late = found.admit("a", hello(), now_ns=1), found.admit("b", hello(), now_ns=9)
    assert isinstance(early, admission.Member)
    assert isinstance(late, admission.Member)
    assert found.silent(admission.State.INVITED, 5) == [early]
    early.state = late.state = admission.State.JOINED
    assert found.silent(admission.State.INVITED, 5) == []
    assert found.silent(admission.State.JOINED, 99) == [early, late]
    early.state = late.state = admission.State.DONE
    assert found.is_done
    assert found.missing == NAMES
    early.runner, late.runner = "locust-1", "locust-2"
    assert found.missing == []
    assert found.runners() == {"locust-1", "locust-2"}


def test_a_journal_arrives_whole_over_a_bad_network(tmp_path: pathlib.Path) -> None:
    """Chunks and answers are lost, come twice and out of order, while the journal still grows."""
    source, goal = tmp_path / "source", tmp_path / "goal"
    content = bytes(range(256)) * 8192
    source.write_bytes(content[:100])
    stream = journal_streams.JournalStream(source)
    received = journal_streams.ReceivedJournal(goal)
    sent: list[tuple[int, bytes]] = []
    for step in range(100):
        if step == 3:
            source.write_bytes(content)
        now_ns = step * S
        offset, data = stream.next_chunk(now_ns)
        assert len(data) <= journal_streams.CHUNK_BYTES
        sent.append((offset, data))
        if step % 3:
            for one in (sent[-1], sent[step // 2]):
                received.add(*one)
        if step % 5:
            stream.note_received(received.size, now_ns)
    assert goal.read_bytes() == content
    assert stream.received == stream.size == len(content)
    received.close()


def test_without_answers_only_so_much_is_sent(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(bytes(2 * journal_streams.IN_FLIGHT_MAX))
    stream = journal_streams.JournalStream(source)
    sent = sum(len(stream.next_chunk(0)[1]) for _ in range(100))
    assert sent == journal_streams.IN_FLIGHT_MAX
    later = int((journal_streams.RESEND_S + 1) * S)
    assert stream.next_chunk(later)[0] == 0  # again from the first byte without an answer


def test_a_journal_of_an_existing_name_is_not_overwritten(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "there"
    path.write_bytes(b"evidence")
    with pytest.raises(errors.UnwritableError, match="file exists"):
        journal_streams.ReceivedJournal(path).add(0, b"other")
    assert path.read_bytes() == b"evidence"


@pytest.mark.parametrize(
    "text", ["", "host", "host:", ":5", "host:x", "host:99999", "a@b:5", "/x:1"]
)
def test_an_address_of_a_master_is_a_host_and_a_port(text: str) -> None:
    with pytest.raises(errors.UsageError, match="--master: expected HOST:PORT, such as"):
        reaching.master_address(text)


def test_remote_workers_are_expected_where_the_scenario_says() -> None:
    changes = ["traffic.workers=remote", "traffic.bind=[::1]:5558", "traffic.processes=3"]
    traffic = loading.load("pod-churn", overrides=changes).scenario.traffic
    command = launching.command(traffic)
    assert "--master" in command
    for name, value in (("bind-host", "[::1]"), ("bind-port", "5558")):
        assert command[command.index(f"--master-{name}") + 1] == value
    assert command[command.index("--expect-workers") + 1] == "3"
    assert "--processes" not in command
    assert "expecting 3 workers at [::1]:5558" in launching.invitation(traffic)


@pytest.mark.parametrize(
    ("bind", "said"),
    [
        ("10.0.0.1:5557", "which other hosts can reach without authentication"),
        ("0.0.0.0:5557", "set traffic.bind_is_open"),
        ("localhost:5557", "expected an IP address and a port"),
        ("127.0.0.1", "expected an IP address and a port"),
        ("127.0.0.1:0", "expected an IP address and a port"),
    ],
)
def test_an_open_or_wrong_address_is_refused(bind: str, said: str) -> None:
    changes = ["traffic.workers=remote", f"traffic.bind={bind}"]
    with pytest.raises(errors.ScenarioError, match=said):
        loading.load("pod-churn", overrides=changes)


def test_an_address_that_cannot_be_bound_is_refused_before_the_run() -> None:
    """An address of the block for documentation (RFC 5737), which no host has."""
    changes = ["traffic.workers=remote", "traffic.bind_is_open=true", "traffic.bind=192.0.2.1:5557"]
    traffic = loading.load("pod-churn", overrides=changes).scenario.traffic
    with pytest.raises(errors.UsageError, match="expected an address of this host with a free"):
        launching._require_bindable(traffic)


def test_the_parts_of_the_run_import_neither_locust_nor_gevent() -> None:
    code = (
        "import sys, harness.traffic.remote.admission, harness.traffic.remote.reaching\n"
        "sys.exit(bool({'locust', 'gevent'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
