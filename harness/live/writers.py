"""Tells whether the process that makes a run, or a campaign, still lives."""

import pathlib

from harness import clocks

SILENT_S = 5.0
"""Seconds without a write after which a process that cannot be found counts as dead: it may be one
of another container."""
AWAY_S = 60.0
"""The same if the process would be on another host, or was before a restart of this one."""


def is_alive(pid: int, boot_id: str, *, since_wall_ns: int, newest: float) -> bool:
    """Return whether a process that began at a time of the wall clock seems to live.

    `pid` 0: it is not known. `newest`: time of its newest write, in seconds since 1970.
    """
    silent_s = clocks.wall_ns() / 1e9 - newest
    if not pid or boot_id != clocks.boot_id():
        return silent_s < AWAY_S
    return silent_s < SILENT_S or _is_running(pid, since_wall_ns)


def _is_running(pid: int, since_wall_ns: int) -> bool:
    """Return whether there is a process of this number that is not younger than its work."""
    import psutil  # 20 ms

    try:
        process = psutil.Process(pid)
        is_dead = process.status() == psutil.STATUS_ZOMBIE
        return not is_dead and process.create_time() <= since_wall_ns / 1e9 + 1
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def newest_write(folder: pathlib.Path) -> float:
    """Return the time of the newest write to a file of a folder, in seconds since 1970."""
    newest = 0.0
    for path in folder.iterdir():
        try:
            newest = max(newest, path.stat().st_mtime)
        except OSError:  # it was removed meanwhile
            continue
    return newest
