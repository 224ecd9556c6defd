"""The journal of prepared and unprepared claims: a witness of the use of devices at node level."""

import pathlib
from collections.abc import Mapping
from typing import Any

from harness import clocks, concurrency
from harness.cluster.dra import claim_infos
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

    def ended(
        self,
        call: records.PreparationCall,
        node: str,
        info: claim_infos.ClaimInfo,
        pod: tuple[str, str],
        *,
        begun_ns: int,
    ) -> None:
        """Journal that a claim was prepared for a pod's uid and name, or unprepared after it."""
        about = _about(node, info, pod, begun_ns)
        is_new = call == "prepare"
        self._write(
            records.Prepared(**about, shared=info.shared) if is_new else records.Unprepared(**about)
        )

    def failed(
        self,
        call: records.PreparationCall,
        node: str,
        info: claim_infos.ClaimInfo,
        pod: tuple[str, str],
        error: preparations.PreparationError,
        *,
        begun_ns: int,
    ) -> None:
        """Journal that a claim was not prepared, or not unprepared."""
        about = _about(node, info, pod, begun_ns)
        self._write(
            records.PrepareFailed(**about, call=call, reason=error.reason, message=str(error))
        )

    def started(self, node: str, pod: Object, environments: Mapping[str, dict[str, str]]) -> None:
        for container, environment in environments.items():
            self._write(
                records.ContainerStarted(
                    **_of_pod(node, pod), container=container, environment=environment
                )
            )

    def not_started(self, node: str, pod: Object, error: preparations.PreparationError) -> None:
        """Journal that the containers of a pod could not be started."""
        about = _of_pod(node, pod)
        self._write(records.ContainersFailed(**about, reason=error.reason, message=str(error)))

    def rebooted(self, node: str, boot_id: str) -> None:
        self._write(records.NodeRebooted(node=node, boot_id=boot_id, ts_ns=clocks.monotonic_ns()))

    def _write(self, record: records.Body) -> None:
        if self._writer is not None:
            with self._guard:
                self._writer.write(record)

    def close(self) -> None:
        """Write the end of the journal and close it."""
        if self._writer is not None:
            with self._guard:
                self._writer.close()


def _about(
    node: str, info: claim_infos.ClaimInfo, pod: tuple[str, str], begun_ns: int
) -> dict[str, Any]:
    """Return the fields that all records of preparations have, at the end of the call."""
    return {
        "node": node,
        "namespace": info.namespace,
        "claim": info.name,
        "claim_uid": info.uid,
        "devices": info.devices,
        "pod_uid": pod[0],
        "pod": pod[1],
        "begun_ns": begun_ns,
        "ts_ns": clocks.monotonic_ns(),
    }


def _of_pod(node: str, pod: Object) -> dict[str, Any]:
    meta = pod["metadata"]
    return {
        "node": node,
        "namespace": meta["namespace"],
        "pod": meta["name"],
        "pod_uid": meta["uid"],
        "ts_ns": clocks.monotonic_ns(),
    }
