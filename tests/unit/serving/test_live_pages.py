"""Runs and campaigns under way are shown until they end."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import threading

from harness import clocks
from harness.history import directories
from harness.serving import listings, live_pages, served_folders
from tests.histories import archives
from tests.support import served_reports


def going_on(folder: pathlib.Path, name: str = "run", **changes) -> directories.RunDirectory:
    """A run that this process makes, without an end so far."""
    own = {"pid": os.getpid(), "boot_id": clocks.boot_id(), "created_wall_ns": clocks.wall_ns()}
    return archives.run(folder, name, "INVALID", changes={**own, **changes})


def unfinished(run: directories.RunDirectory) -> dict[str, bytes]:
    """Take away what the end of a run writes, and return it."""
    paths = (run.verdict, run.manifest)
    content = {path.name: path.read_bytes() for path in paths}
    for path in paths:
        path.unlink()
    return content


def events(client: served_reports.Client):
    """Yield the contents of the events of the stream."""
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", "/running/events")
        answer = connection.getresponse()
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        while line := answer.readline().decode():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


def test_a_run_is_followed_until_it_ends(tmp_path: pathlib.Path) -> None:
    run = going_on(tmp_path)
    end = unfinished(run)
    with served_reports.serving(tmp_path) as client:
        assert 'data-events="/running/events"' in client.ask("/running").text
        stream = events(client)
        content = next(stream)
        assert "running" in content
        assert "double allocations" in content
        for file, text in sorted(end.items()):
            (run.path / file).write_bytes(text)
        assert "Nothing runs now" in next(stream)


def test_all_that_goes_on_is_shown_and_nothing_else(tmp_path: pathlib.Path) -> None:
    ended = archives.run(tmp_path, "ended")
    killed = archives.run(tmp_path, "killed", changes={"boot_id": "another", "pid": 1})
    unfinished(killed)
    for path in killed.path.rglob("*"):
        os.utime(path, (0, 0))
    os.utime(killed.path, (0, 0))
    run = going_on(tmp_path)
    unfinished(run)
    folder = served_folders.ServedFolder(tmp_path)
    follower = live_pages.Follower(folder, listings.Listing(folder.path))
    with contextlib.closing(follower):
        assert [state.directory for state in follower.look()] == [str(run.path)]
        assert [state.directory for state in follower.look()] == [str(run.path)]
        shutil.rmtree(run.path)
        assert follower.look() == []
    assert follower.look() == []
    assert ended.verdict.exists()


def test_campaigns_that_name_other_folders_are_not_followed(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "campaigns" / "20260101T000000Z-1"
    folder.mkdir(parents=True)
    for title in ("../../etc", "/etc", "..", ""):
        planned = {"scenario": "x", "title": title, "repetition": 1, "seed": 1}
        plan = {"schema": 2, "seed": 1, "runs": [planned]}
        (folder / "campaign.json").write_text(json.dumps(plan))
        with served_reports.serving(tmp_path) as client:
            assert "Nothing runs now" in client.ask("/running").text


def test_the_server_ends_while_a_page_follows(tmp_path: pathlib.Path) -> None:
    run = going_on(tmp_path)
    unfinished(run)
    seen = threading.Event()

    def read(client: served_reports.Client) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            for _ in events(client):
                seen.set()

    with served_reports.serving(tmp_path) as client:
        thread = threading.Thread(target=read, args=(client,))
        thread.start()
        assert seen.wait(60)
    thread.join(60)
    assert not thread.is_alive()
