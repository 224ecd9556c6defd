"""All that is under way, on a page that a script asks for again each second."""

import asyncio
import os
import threading
from collections.abc import Iterator, Sequence

from aiohttp import web

from harness import errors
from harness.history import report_folders
from harness.serving import live_runs, served_folders, sites, snapshots

READ_S = 0.3
"""Most seconds that are spent on reading before a state is shown."""
OPEN_MAX = 100
"""Newest runs without a verdict that are looked at; most of them were interrupted long ago."""
SHOWN_MAX = 12
"""Most runs that are shown at once."""


class Follower:
    """Follows all that goes on in a folder, for all pages, in one thread at a time."""

    def __init__(self, folder: served_folders.ServedFolder) -> None:
        self._folder = folder
        self._guard = threading.Lock()
        self._is_closed = False
        self._followed: dict[str, live_runs.LiveRun] = {}
        self._ended: dict[str, int] = {}
        """Those that will not go on, without a verdict, with the time of their folder."""

    def look(self) -> Sequence[snapshots.Run]:
        """Read what has come, for some time, and return the states of now; nothing once closed."""
        with self._guard:
            return [] if self._is_closed else self._look()

    def close(self) -> None:
        with self._guard:
            self._is_closed = True
            for live in self._followed.values():
                live.close()

    def _look(self) -> Sequence[snapshots.Run]:
        found: list[snapshots.Run] = []
        places = list(self._places())
        for place in [place for place in self._followed if place not in places]:
            self._followed.pop(place).close()
        for place in places:
            if len(found) < SHOWN_MAX and (state := self._state(place)) is not None:
                found.append(state)
        return found

    def _places(self) -> Iterator[str]:
        """Yield the paths of runs without a verdict, newest first."""
        paths = report_folders.run_paths(self._folder.path)
        opened = (path for path in paths if not os.path.lexists(path / "verdict.json"))
        newest = sorted(opened, key=lambda path: path.name, reverse=True)[:OPEN_MAX]
        places = (f"{path.parent.name}/{path.name}" for path in newest)
        yield from (at for at in places if self._ended.get(at) != self._changed_ns(at))

    def _changed_ns(self, place: str) -> int:
        try:
            return (self._folder.path / place).stat().st_mtime_ns
        except OSError:
            return 0

    def _state(self, place: str) -> snapshots.Run | None:
        """Return the state of what goes on; None: it does not any more."""
        state: snapshots.Run | None = None
        try:
            if place not in self._followed:
                run = self._folder.run(*place.split("/", 1))
                self._followed[place] = live_runs.LiveRun(run.path)
            self._followed[place].read(at_most_s=READ_S)
            state = self._followed[place].snapshot()
        except (errors.HarnessError, OSError):
            pass
        if state is None or state.state in snapshots.AT_END:
            self._ended[place] = self._changed_ns(place)
            if place in self._followed:
                self._followed.pop(place).close()
            return None
        return state


_FOLLOWER = web.AppKey("follower", Follower)


def prepare(app: web.Application) -> None:
    """Follow what goes on from the first page about it on, until the server ends."""

    async def close(app: web.Application) -> None:
        await asyncio.to_thread(app[_FOLLOWER].close)

    app[_FOLLOWER] = Follower(app[sites.FOLDER])
    app.on_cleanup.append(close)


async def answer_running(request: web.Request) -> web.Response:
    states = await asyncio.to_thread(request.app[_FOLLOWER].look)
    return sites.page("running.html.j2", states=states, is_live=True)
