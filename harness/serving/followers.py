"""States of runs and campaigns under way, again and again.

A follower belongs to one request, and is used by one thread at a time.
"""

import abc
import pathlib
import threading
from collections.abc import Iterable, Iterator, Sequence

from harness import errors
from harness.campaign import campaign_plan
from harness.history import campaign_folders, directories
from harness.live import live_campaigns, live_runs, snapshots
from harness.serving import listings, served_folders

READ_S = 0.3
"""Most seconds that are spent on reading before a state is shown."""
OPEN_MAX = 100
"""Newest runs without a verdict that are looked at; most of them were interrupted long ago."""
SHOWN_MAX = 12
"""Most runs and campaigns that are shown at once."""


class Follower(abc.ABC):
    """Follows something until it ends."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._is_closed = False

    def look(self) -> Sequence[snapshots.Snapshot]:
        """Read what has come, for some time, and return the states of now; nothing once closed.

        Raises HarnessError or OSError for a folder that was removed.
        """
        with self._guard:
            return [] if self._is_closed else list(self._look())

    def close(self) -> None:
        """Close all files."""
        with self._guard:
            self._is_closed = True
            self._close()

    @abc.abstractmethod
    def _look(self) -> Iterable[snapshots.Snapshot]: ...

    @abc.abstractmethod
    def _close(self) -> None: ...


class OneFollower(Follower):
    """Follows one run or one campaign."""

    def __init__(self, live: live_runs.LiveRun | live_campaigns.LiveCampaign) -> None:
        super().__init__()
        self._live = live

    def _look(self) -> Iterable[snapshots.Snapshot]:
        self._live.read(at_most_s=READ_S)
        return [self._live.snapshot()]

    def _close(self) -> None:
        self._live.close()


def of_run(run: directories.RunDirectory) -> OneFollower:
    """Return the follower of a run. Raises RunDirectoryError."""
    return OneFollower(live_runs.LiveRun(run.path))


def of_campaign(path: pathlib.Path) -> OneFollower:
    """Return the follower of a campaign.

    Raises HistoryError if its plan cannot be read, or names folders that a run cannot have.
    """
    plan = campaign_plan.read(path / campaign_folders.PLAN)
    for title in {run.title for run in plan.runs}:
        folder = path.parent.parent / title
        if title in ("", ".", "..") or "/" in title or folder.is_symlink():
            raise errors.HistoryError(f"{campaign_folders.PLAN} names a scenario {title!r:.100}")
    return OneFollower(live_campaigns.LiveCampaign(path))


class AllFollower(Follower):
    """Follows all that goes on in a folder."""

    def __init__(self, folder: served_folders.ServedFolder, listing: listings.Listing) -> None:
        super().__init__()
        self._folder, self._listing = folder, listing
        self._followed: dict[str, OneFollower] = {}
        self._ended: set[str] = set()
        """Those that will not go on, although they have no verdict."""

    def _look(self) -> Iterable[snapshots.Snapshot]:
        found: list[snapshots.Snapshot] = []
        places = list(self._places())
        for place in [place for place in self._followed if place not in places]:
            self._followed.pop(place).close()
        for place in places:
            if len(found) < SHOWN_MAX and (state := self._state(place)) is not None:
                found.append(state)
        within = {
            run.directory for item in found if item.kind == "campaign" for run in item.running
        }
        return [item for item in found if item.directory not in within]

    def _places(self) -> Iterator[str]:
        """Yield the paths of campaigns and runs without a verdict, newest first."""
        listed = self._listing.listed(at_most_s=READ_S)
        opened = [item.place for item in listed.runs if item.is_open][:OPEN_MAX]
        campaigns = [item.name for item in listed.campaigns if not item.row.verdict][:OPEN_MAX]
        places = [*(f"{campaign_folders.FOLDER}/{name}" for name in campaigns), *opened]
        yield from (place for place in places if place not in self._ended)

    def _state(self, place: str) -> snapshots.Snapshot | None:
        """Return the state of what goes on; None: it does not any more."""
        try:
            if place not in self._followed:
                self._followed[place] = self._follower(place)
            (state,) = self._followed[place].look()
        except (errors.HarnessError, OSError):
            state = None
        if state is None or state.state in snapshots.AT_END:
            self._ended.add(place)
            if place in self._followed:
                self._followed.pop(place).close()
            return None
        return state

    def _follower(self, place: str) -> OneFollower:
        folder, _, name = place.partition("/")
        if folder == campaign_folders.FOLDER:
            return of_campaign(self._folder.campaign(name))
        return of_run(self._folder.run(folder, name))

    def _close(self) -> None:
        for follower in self._followed.values():
            follower.close()
