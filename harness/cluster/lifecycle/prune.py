"""Remove clusters of dead owners: their processes, containers, volumes and kubeconfigs."""

import contextlib
import os
import pathlib
import re
import shutil
import tempfile

import psutil

from harness import clocks, errors
from harness.cluster import cluster_records, providers

STOP_TIMEOUT_S = 10.0
_PROGRAM = "harness.cli.main"
_CONTROL_PLANE = re.compile(r"(.*/)?(etcd|kube-[^/]*)$")


def is_alive(entry: cluster_records.ClusterRecord) -> bool:
    """Return whether the cluster is in use: held, or up with all of its parts."""
    if entry.is_held:
        return True
    if not entry.stays or entry.state != "up":
        return False
    if any(process.find() is None for process in entry.processes):
        return False
    return providers.of(entry.load_profile()).is_there(entry.request())


def remove(entry: cluster_records.ClusterRecord) -> None:
    for process in entry.processes:
        _stop(process)
    _kill_of_folder(entry)
    provider = providers.of(entry.load_profile())
    provider.reap(entry.request())
    cluster_records.forget_proxy_kubeconfigs(entry.path)
    if entry.stays:
        shutil.rmtree(entry.path, ignore_errors=True)
    cluster_records.forget(entry)


def prune() -> tuple[list[str], list[str]]:
    """Remove every cluster that lost its owner or a part; continue after failures.

    Returns descriptions of the removed things, and of those that could not be removed.
    """
    removed: list[str] = []
    failed: list[str] = []
    for entry in cluster_records.known():
        try:
            if not is_alive(entry):
                remove(entry)
                removed.append(f"cluster {entry.name}")
        except errors.HarnessError as error:
            failed.append(str(error))
    removed += [f"folder {path}" for path in _remove_of_dead()]
    return removed, failed


def _kill_of_folder(entry: cluster_records.ClusterRecord) -> None:
    """Kill processes of the cluster that its record does not name: their commands name its folder.

    Such are there when the command that started a cluster which stays was killed meanwhile; all
    others die with the process that started them.
    """
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            is_ours = _PROGRAM in words or (words[:1] and _CONTROL_PLANE.match(words[0]))
            if is_ours and any(f"{entry.path}/" in word for word in words):
                process.kill()


def _stop(process: cluster_records.ProcessIdentity) -> None:
    running = process.find()
    if running is None:
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        running.terminate()
        try:  # a zombie counts as ended: a slow init may reap it much later
            clocks.wait_until(lambda: process.find() is None, timeout_s=STOP_TIMEOUT_S, why="")
        except errors.WaitTimeoutError:
            running.kill()


def _remove_of_dead() -> list[pathlib.Path]:
    """Remove unfinished records, and temporary folders, which are returned, of dead processes."""
    prefix, removed = cluster_records.TEMPORARY_PREFIX, []
    for record in cluster_records.folder().glob(".*.new"):
        if _is_dead(record.name.split(".")[-2]):
            record.unlink(missing_ok=True)
    for path in pathlib.Path(tempfile.gettempdir()).glob(f"{prefix}*-*"):
        is_mine = path.stat().st_uid == os.getuid()
        if is_mine and _is_dead(path.name.removeprefix(prefix).partition("-")[0]):
            shutil.rmtree(path, ignore_errors=True)
            removed.append(path)
    return removed


def _is_dead(pid: str) -> bool:
    try:
        return pid.isdigit() and not cluster_records.is_running(psutil.Process(int(pid)))
    except psutil.NoSuchProcess:
        return True
