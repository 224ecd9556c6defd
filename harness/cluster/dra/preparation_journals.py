"""The journal of prepared and unprepared claims: a witness of the use of devices at node level."""

import contextlib
import pathlib
from collections.abc import Iterator, Mapping

from harness import clocks, concurrency
from harness.client import apis
from harness.cluster.dra import claim_infos
from harness.history import journal_writer, records

Object = apis.Object


class PreparationJournal:
    """Journals the calls of one kubelet process. Thread-safe; without a path nothing is kept."""

    def __init__(self, path: pathlib.Path | None, *, run_id: str = "") -> None:
        self._guard = concurrency.lock("kubelet.preparations")
        self._writer = None
        if path is not None:
            self._writer = journal_writer.Writer(path, process="kubelet", run_id=run_id)

    @contextlib.contextmanager
    def preparing(
        self, node: str, info: claim_infos.ClaimInfo, pod: tuple[str, str]
    ) -> Iterator[None]:
        """Journal the preparation in the block, for a pod's uid and name.

        A PreparationError of the block is journaled and passed on.
        """
        begun_ns = clocks.monotonic_ns()
        try:
            yield
        except claim_infos.PreparationError as error:
            self.refused(node, info, pod, error, begun_ns=begun_ns)
            raise
        self._write(
            records.Prepared(
                node=node,
                namespace=info.namespace,
                claim=info.name,
                claim_uid=info.uid,
                devices=info.devices,
                shared=info.shared,
                pod_uid=pod[0],
                pod=pod[1],
                begun_ns=begun_ns,
                ts_ns=clocks.monotonic_ns(),
            )
        )

    @contextlib.contextmanager
    def unpreparing(
        self, node: str, info: claim_infos.ClaimInfo, pod: tuple[str, str]
    ) -> Iterator[None]:
        """Journal the end of a preparation in the block, after the claim's last pod.

        A PreparationError of the block is journaled and passed on.
        """
        begun_ns = clocks.monotonic_ns()
        try:
            yield
        except claim_infos.PreparationError as error:
            self._failed(node, info, pod, error, begun_ns=begun_ns, call="unprepare")
            raise
        self._write(
            records.Unprepared(
                node=node,
                namespace=info.namespace,
                claim=info.name,
                claim_uid=info.uid,
                devices=info.devices,
                pod_uid=pod[0],
                pod=pod[1],
                begun_ns=begun_ns,
                ts_ns=clocks.monotonic_ns(),
            )
        )

    def refused(
        self,
        node: str,
        info: claim_infos.ClaimInfo,
        pod: tuple[str, str],
        error: claim_infos.PreparationError,
        *,
        begun_ns: int,
    ) -> None:
        """Journal that a claim was not prepared."""
        self._failed(node, info, pod, error, begun_ns=begun_ns, call="prepare")

    def started(self, node: str, pod: Object, environments: Mapping[str, dict[str, str]]) -> None:
        """Journal that the containers of a pod were started with these environments."""
        meta = pod["metadata"]
        for container, environment in environments.items():
            self._write(
                records.ContainerStarted(
                    node=node,
                    namespace=meta["namespace"],
                    pod=meta["name"],
                    pod_uid=meta["uid"],
                    container=container,
                    environment=environment,
                    ts_ns=clocks.monotonic_ns(),
                )
            )

    def _failed(
        self,
        node: str,
        info: claim_infos.ClaimInfo,
        pod: tuple[str, str],
        error: claim_infos.PreparationError,
        *,
        begun_ns: int,
        call: records.PreparationCall,
    ) -> None:
        self._write(
            records.PrepareFailed(
                call=call,
                node=node,
                namespace=info.namespace,
                claim=info.name,
                claim_uid=info.uid,
                devices=info.devices,
                pod_uid=pod[0],
                pod=pod[1],
                reason=error.reason,
                message=str(error),
                begun_ns=begun_ns,
                ts_ns=clocks.monotonic_ns(),
            )
        )

    def _write(self, record: records.Body) -> None:
        if self._writer is not None:
            with self._guard:
                self._writer.write(record)

    def close(self) -> None:
        """Write the end of the journal and close it."""
        if self._writer is not None:
            with self._guard:
                self._writer.close()
