"""Judges the driver of a node: no device is prepared for two claims, and no claim twice."""

from typing import Any

from harness import concurrency
from harness.cluster.dra import claim_infos, drivers


class Preparations:
    """Knows what is prepared on one node.

    A claim is prepared from the end of its preparation until its unpreparation has lasted as long
    as the driver needs for that, by virtual time.
    """

    def __init__(self, *, unprepare_s: float) -> None:
        """`unprepare_s`: the duration of an unpreparation, in seconds."""
        self._unprepare_s = unprepare_s
        self._prepared: dict[str, tuple[set[str], float | None]] = {}
        """Claim -> its exclusive devices, and when they are free again; None: not yet known."""
        self._running: dict[str, str] = {}
        """Pod that has all its claims -> its claim."""
        self.finding: str | None = None
        """Description of the first violation; None if there is none."""

    def on_commit(self, commit: object) -> None:
        """Do nothing: this is about nodes."""

    def on_prepared(self, info: claim_infos.ClaimInfo) -> None:
        """Judge a preparation that has succeeded."""
        self._forget_ended()
        for other, (devices, _) in self._prepared.items():
            shared = ", ".join(sorted(devices & info.exclusive))
            if other == info.name:
                self._find(f"prepared: {other} was prepared again")
            elif shared:
                self._find(f"prepared: {shared} for {info.name} while it is for {other}")
        self._prepared[info.name] = info.exclusive, None

    def on_unpreparing(self, info: claim_infos.ClaimInfo) -> None:
        """Judge the beginning of an unpreparation."""
        for pod, claim in self._running.items():
            if claim == info.name:
                self._find(f"prepared: {claim} was unprepared while {pod} runs")
        if info.name in self._prepared:
            until_s = concurrency.monotonic_s() + self._unprepare_s
            self._prepared[info.name] = info.exclusive, until_s

    def on_running(self, pod: str, claim: str) -> None:
        """Judge the start of a pod, which has been told that its claim is prepared."""
        if self._prepared.get(claim, (set(), 0.0))[1] is not None:
            self._find(f"prepared: {pod} runs, but {claim} is not prepared")
        self._running[pod] = claim

    def on_ended(self, pod: str) -> None:
        """Note that the containers of a pod have ended."""
        self._running.pop(pod, None)

    def _forget_ended(self) -> None:
        now_s = concurrency.monotonic_s()
        self._prepared = {
            claim: (devices, until_s)
            for claim, (devices, until_s) in self._prepared.items()
            if until_s is None or until_s > now_s
        }

    def _find(self, finding: str) -> None:
        self.finding = self.finding or finding


def observed(kind: type[drivers.Driver], oracle: Preparations) -> type[drivers.Driver]:
    """Return the class of a driver whose calls the oracle judges."""

    class ObservedDriver(kind):  # type: ignore[misc,valid-type]
        def prepare(self, claim: Any, info: claim_infos.ClaimInfo, node: str) -> None:
            super().prepare(claim, info, node)
            concurrency.step("driver.prepared", claim=info.uid, node=node)
            oracle.on_prepared(info)

        def unprepare(self, info: claim_infos.ClaimInfo, node: str) -> None:
            concurrency.step("driver.unprepare.started", claim=info.uid, node=node)
            oracle.on_unpreparing(info)
            super().unprepare(info, node)
            concurrency.step("driver.unprepared", claim=info.uid, node=node)

    return ObservedDriver
