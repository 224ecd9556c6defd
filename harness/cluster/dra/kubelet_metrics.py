"""The kubelets' metrics of DRA, with the names and labels of kubelet 1.36."""

import collections
import contextlib
from collections.abc import Iterable, Iterator

from harness import concurrency
from harness.cluster.dra import claim_infos, driver_contracts
from harness.metrics import instruments, metric_families

PREPARE, UNPREPARE = "PrepareResources", "UnprepareResources"
"""The label `operation_name`: all claims of a pod that starts or ends."""
NODE_PREPARE, NODE_UNPREPARE = "NodePrepareResources", "NodeUnprepareResources"
_METHODS = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/"
"""Prefix of the label `method_name`: one call of a driver."""
ANY_DRIVER = "<any>"
"""The label `driver_name` of the number of claims of all drivers."""
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper limits in seconds; Prometheus' defaults."""


class KubeletMetrics:
    """Measures operations of pods and calls of the driver. Thread-safe."""

    def __init__(self) -> None:
        self._operations = instruments.Histogram(
            "dra_operations_duration_seconds",
            "Duration of handling all ResourceClaims of a pod when it starts or stops",
            ("is_error", "operation_name"),
            buckets=_BUCKETS,
        )
        self._calls = instruments.Histogram(
            "dra_grpc_operations_duration_seconds",
            "Duration in seconds of the DRA gRPC operations",
            ("driver_name", "grpc_status_code", "method_name"),
            buckets=_BUCKETS,
        )

    @contextlib.contextmanager
    def operation(self, name: str) -> Iterator[None]:
        """Measure the operation in the block; an exception is an error."""
        started_s, is_error = concurrency.monotonic_s(), "true"
        try:
            yield
            is_error = "false"
        finally:
            self._operations.observe(concurrency.monotonic_s() - started_s, is_error, name)

    @contextlib.contextmanager
    def call(self, driver: str, method: str) -> Iterator[None]:
        """Measure the call of a driver in the block; an exception is a call without an answer.

        An error for a claim is in the answer, as in the kubelet.
        """
        started_s, code = concurrency.monotonic_s(), "Unknown"
        try:
            yield
            code = "OK"
        except driver_contracts.CallFailedError as error:
            code = error.code
            raise
        finally:
            took_s = concurrency.monotonic_s() - started_s
            self._calls.observe(took_s, driver, code, _METHODS + method)

    def collect(self, infos: Iterable[claim_infos.ClaimInfo]) -> list[metric_families.Family]:
        """Return all families; `infos` are the claims in use on all nodes."""
        return [self._operations.collect(), self._calls.collect(), _in_use(infos)]


def _in_use(infos: Iterable[claim_infos.ClaimInfo]) -> metric_families.Family:
    counts = collections.Counter(name for info in infos for name in (ANY_DRIVER, *info.drivers))
    counts[ANY_DRIVER] += 0
    samples: dict[metric_families.Labels, float] = {
        (name,): float(count) for name, count in counts.items()
    }
    text = "Number of ResourceClaims that are in use on the nodes, by driver and of all drivers"
    return metric_families.Family(
        "dra_resource_claims_in_use", text, "gauge", ("driver_name",), samples
    )
