"""The words of the golden histories: versions of claims and pods of one node, and settings."""

import dataclasses
from typing import Any

from harness.history import records
from tests.histories import building, language, recording, worlds

Object = dict[str, Any]
SECOND_NS = worlds.SECOND_NS
LATE_NS = language.at(0) + 30 * SECOND_NS
"""Long after the last commit, and before the end of the run."""


def settings(**keys: Any) -> Object:
    return {"settings": keys}


def claim(name: str, *devices: str, **options: Any) -> recording.Commit:
    """A version of a claim that holds devices of node n (see `worlds.claim`)."""
    held = [worlds.device("n", int(device)) for device in devices]
    return recording.claim(worlds.claim(name, *held, **options))


def pod(name: str, **options: Any) -> recording.Commit:
    """A version of a pod (see `worlds.pod`)."""
    return recording.pod(worlds.pod(name, **options))


def gone(commit: recording.Commit) -> recording.Commit:
    return dataclasses.replace(commit, gone=True)


def step(seq: int, name: str, ts_ns: int = 0, **fields: Any) -> records.Step:
    return building.step(seq, "scheduling", name, ts_ns or language.at(seq), **fields)


NODE = recording.piece(worlds.devices_of("n", 4))
"""A node with four devices."""


def preparation(name: str, after: int) -> Object:
    """Fields of a preparation of claim `name`, some commits after the first ones."""
    times = {"begun_ns": language.at(4 + after), "ts_ns": language.at(5 + after)}
    pod = {"pod": "p", "pod_uid": "uid-p"}
    devices = [worlds.device("n", 0)]
    where = {"node": "n", "namespace": worlds.NAMESPACE, "devices": devices}
    return {"claim": name, "claim_uid": f"uid-{name}", **where, **pod, **times}


def prepared(name: str = "a") -> records.Prepared:
    return records.Prepared(**preparation(name, 0))


def unprepared(name: str = "a") -> records.Unprepared:
    return records.Unprepared(**preparation(name, 10))
