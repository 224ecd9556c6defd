"""Judges the driver of nodes: no device is prepared for two claims, no claim twice on a node.

Containers get the parameters of their own claim.
"""

from collections.abc import Sequence

from harness import concurrency
from harness.cluster.driver import cdi_files, drivers, prepared_claims
from harness.cluster.kubelet_api import preparations as kubelet_preparations
from harness.explore.worlds.oracles import states
from harness.model.objects import Object

UNPREPARE_S = 0.05
"""The duration of an unpreparation, in seconds."""
_Place = tuple[str, str, str]
"""A claim, a node, and a driver."""


class Preparations(states.Oracle):
    """Knows what is prepared on which node.

    A claim is prepared from the end of its preparation until its unpreparation has lasted as long
    as the driver needs for that, by virtual time.
    """

    def __init__(self, *, unprepare_s: float = UNPREPARE_S) -> None:
        self._unprepare_s = unprepare_s
        self._prepared: dict[_Place, tuple[set[str], float | None]] = {}
        """Its exclusive devices, and when they are free again; None: not yet known."""
        self._running: set[tuple[str, str]] = set()
        """Pods that have all their claims, each with one of them."""
        self._repeated: set[_Place] = set()
        """Claims that may be prepared once more: by a kubelet which was started again, or after
        another claim of the same pod could not be prepared."""

    def on_prepared(self, info: prepared_claims.PreparedClaim, *, driver: str) -> None:
        self._forget_ended()
        place = info.name, info.node, driver
        if place in self._prepared and place not in self._repeated:
            self.find(f"prepared: {info.name} was prepared again")
        for (other, _, _), (devices, _) in self._prepared.items():
            shared = ", ".join(sorted(devices & info.exclusive))
            if other != info.name and shared:
                self.find(f"prepared: {shared} for {info.name} while it is for {other}")
        self._repeated.discard(place)
        self._prepared[place] = {*info.exclusive}, None

    def on_configured(self, claim: Object, configured: Object) -> None:
        """Judge the parameters that containers get, beside the claim as the API has it."""
        found = {
            name: value
            for environment in cdi_files.environments(configured).values()
            for name, value in environment.items()
            if name.startswith("user_")
        }
        if found != (wanted := _parameters(claim)):
            name = claim["metadata"]["name"]
            self.find(f"parameters: the containers of {name} get {found}, expected {wanted}")

    def on_refused(self, node: str) -> None:
        """Note that a claim was not prepared: a kubelet calls again for all claims of its pod."""
        self._repeated |= {place for place in self._prepared if place[1] == node}

    def on_restarted(self) -> None:
        """Note that the kubelet was started again, which may prepare once more what it finds."""
        self._repeated = {*self._prepared}

    def on_unpreparing(self, place: _Place) -> None:
        for pod, claim in sorted(self._running):
            if claim == place[0]:
                self.find(f"prepared: {claim} was unprepared while {pod} runs")
        if place in self._prepared:
            until_s = concurrency.monotonic_s() + self._unprepare_s
            self._prepared[place] = self._prepared[place][0], until_s

    def on_running(self, pod: str, claim: str) -> None:
        held = [until_s for (name, _, _), (_, until_s) in self._prepared.items() if name == claim]
        if None not in held:
            self.find(f"prepared: {pod} runs, but {claim} is not prepared")
        self._running.add((pod, claim))

    def on_noted(
        self, pod: str, claim: str, ids: Sequence[str], *, uid: str = "", wanted: str = ""
    ) -> None:
        """Judge what a kubelet has noted for a pod that runs: CDI ids, and the uid of its claim."""
        if len({*ids}) < len(ids):
            self.find(f"prepared: {pod} gets a CDI device of {claim} twice")
        if uid != wanted:
            self.find(f"prepared: {pod} runs with an older claim of the name {claim}")

    def on_ended(self, pod: str) -> None:
        self._running = {pair for pair in self._running if pair[0] != pod}

    def _forget_ended(self) -> None:
        now_s = concurrency.monotonic_s()
        self._prepared = {
            place: (devices, until_s)
            for place, (devices, until_s) in self._prepared.items()
            if until_s is None or until_s > now_s
        }


def _parameters(claim: Object) -> dict[str, str]:
    configs = claim["status"]["allocation"]["devices"].get("config") or ()
    return {
        f"user_{name}": value
        for config in configs
        if config["source"] == "FromClaim"
        for name, value in config["opaque"]["parameters"].items()
    }


def observed(kind: type[drivers.Driver], oracle: Preparations) -> type[drivers.Driver]:
    """Return the class of a driver whose calls the oracle judges."""

    class ObservedDriver(kind):  # type: ignore[misc,valid-type]
        def prepare_claim(self, claim: Object, node: str) -> kubelet_preparations.Prepared:
            try:
                prepared: kubelet_preparations.Prepared = super().prepare_claim(claim, node)
            except kubelet_preparations.PreparationError:
                oracle.on_refused(node)
                raise
            concurrency.step("driver.prepared", claim=claim["metadata"]["uid"], node=node)
            oracle.on_prepared(
                prepared_claims.of(claim, driver=self.name, node=node), driver=self.name
            )
            return prepared

        def _configured(self, claim: Object) -> Object:
            configured: Object = super()._configured(claim)
            oracle.on_configured(claim, configured)
            return configured

        def unprepare(
            self, claims: Sequence[kubelet_preparations.ClaimReference], node: str
        ) -> drivers.Unprepared:
            for claim in claims:
                concurrency.step("driver.unprepare.started", claim=claim.uid, node=node)
                oracle.on_unpreparing((claim.name, node, self.name))
            answers: drivers.Unprepared = super().unprepare(claims, node)
            for claim in claims:
                concurrency.step("driver.unprepared", claim=claim.uid, node=node)
            return answers

    return ObservedDriver
