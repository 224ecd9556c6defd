"""Tells processes that have ended from those that run."""

import psutil


def is_gone(pid: int) -> bool:
    """Return whether it has ended, even if its exit code is not collected yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
