"""The journal of prepared and unprepared claims: a witness of the use of devices at node level."""

import pathlib
from collections.abc import Mapping
from typing import Any

from harness import clocks, concurrency
from harness.cluster.kubelet_api import preparations
from harness.history import journal_writer, records
from harness.model.objects import Object


class PreparationJournal:
    """Journals the calls of one kubelet process. Thread-safe; without a path nothing is kept."""

    def __init__(self, path: pathlib.Path | None, *, run_id: str = "") -> None:
        self._guard = concurrency.lock("kubelet.preparations")
        self._writer = None
        if path is not None:
            self._writer = journal_writer.Writer(path, process="kubelet", run_id=run_id)

    def started(self, node: str, pod: Object, environments: Mapping[str, dict[str, str]]) -> None:
        for container, environment in environments.items():
            self.write(
                records.ContainerStarted(
                    **_of_pod(node, pod), container=container, environment=environment
                )
            )

    def not_started(self, node: str, pod: Object, error: preparations.PreparationError) -> None:
        about = _of_pod(node, pod)
        self.write(records.ContainersFailed(**about, reason=error.reason, message=str(error)))

    def rebooted(self, node: str, boot_id: str) -> None:
        self.write(records.NodeRebooted(node=node, boot_id=boot_id, ts_ns=clocks.monotonic_ns()))

    def write(self, record: records.Body) -> None:
        if self._writer is not None:
            with self._guard:
                self._writer.write(record)

    def close(self) -> None:
        if self._writer is not None:
            with self._guard:
                self._writer.close()


def _of_pod(node: str, pod: Object) -> dict[str, Any]:
    meta = pod["metadata"]
    return {
        "node": node,
        "namespace": meta["namespace"],
        "pod": meta["name"],
        "pod_uid": meta["uid"],
        "ts_ns": clocks.monotonic_ns(),
    }
