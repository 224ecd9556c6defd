"""The traffic profiles: a class of Locust users for each."""

from collections.abc import Iterator, Sequence
from typing import Any

import gevent

from harness import clocks
from harness.client import apis
from harness.model.objects import Object
from harness.scenario import traffic_specs
from harness.traffic import object_rounds, objects, users


class AllAtOnceUser(users.ClaimUser):
    """Creates its share of all claims, and a pod for each of them; extended ones need no claim."""

    def work(self) -> None:
        traffic: Any = self.worker.scenario.traffic
        while (item := self.worker.next_item()) is not None:
            if item and traffic.interval_s:
                gevent.sleep(traffic.interval_s)
            claim = f"claim-{item:04d}"
            owner = self.worker.objects.claim_owner()
            if self.worker.objects.names_claims:
                self.create(apis.CLAIMS, self.worker.objects.claim(claim, owner=owner, number=item))
            pod = self.worker.objects.pod(f"pod-{item:04d}", claim_name=claim, owner=owner)
            self.create(apis.PODS, pod)


class ChurnUser(users.ClaimUser):
    """Repeatedly creates a pod with claim templates, waits until it runs, and deletes it."""

    _finished: Sequence[str] = ()
    """The last pod that has finished; empty: there is none."""

    def work(self) -> None:
        traffic: Any = self.worker.scenario.traffic
        use = self._complete if traffic.completes else self._keep
        self.repeat(lambda pod: use(pod, traffic), apis.PODS)

    def _keep(self, pod: str, traffic: traffic_specs.ChurnTraffic) -> None:
        if self.create(apis.PODS, self.worker.objects.pod(pod)):
            self._lose_claim(pod, traffic)
            if self.wait_running(pod, timeout_s=traffic.wait_s):
                self.hold(traffic.hold_s)
            elif not traffic.gives_up:
                raise users.PodLeft
            self.delete_pods([pod], timeout_s=traffic.wait_s)

    def _complete(self, pod: str, traffic: traffic_specs.ChurnTraffic) -> None:
        runs_s = self.hold_time_s(traffic.hold_s)
        if self.create(apis.PODS, self.worker.objects.pod(pod, runs_s=runs_s)):
            self._lose_claim(pod, traffic)
            if not self.wait_succeeded(pod, timeout_s=traffic.wait_s) and not traffic.gives_up:
                raise users.PodLeft
            self.delete_pods(self._finished, timeout_s=traffic.wait_s)
            self._finished = [pod]

    def _lose_claim(self, pod: str, traffic: traffic_specs.ChurnTraffic) -> None:
        if not traffic.claims_lost or self.random.random() >= traffic.claims_lost:
            return
        watch, count = self.worker.watch, traffic.claims_per_pod
        if watch.wait(
            pod,
            lambda seen: seen is not None and len(seen.claims) == count,
            timeout_s=traffic.wait_s,
        ):
            seen = watch.get(pod)
            if seen is not None and seen.claims:
                self.delete(apis.CLAIMS, self.random.choice(seen.claims))


class SharedUser(users.ClaimUser):
    """Repeatedly creates a claim with several pods that share it, and deletes them all."""

    def work(self) -> None:
        self.repeat(self._create_and_use, apis.CLAIMS)

    def _create_and_use(self, claim: str) -> None:
        owner = self.worker.objects.claim_owner()
        if self.create(apis.CLAIMS, self.worker.objects.claim(claim, owner=owner)):
            self._use_in_turn(claim, owner)

    def _use_in_turn(self, claim: str, owner: str) -> None:
        traffic: Any = self.worker.scenario.traffic
        for number in range(traffic.rounds):
            if not number or self.worker.is_time_left:
                prefix = claim if traffic.rounds == 1 else f"{claim}-{number}"
                self._share(claim, owner, prefix)
        self.delete(apis.CLAIMS, claim)

    def _share(self, claim: str, owner: str, prefix: str) -> None:
        traffic: Any = self.worker.scenario.traffic
        pods = [f"{prefix}-{index}" for index in range(traffic.pods_per_claim)]
        scheduled = pods[:1] if traffic.bound_by_hand else pods
        self._create_pods(scheduled, claim, owner)
        if traffic.bound_by_hand:
            if not self.wait_running(pods[0], timeout_s=traffic.wait_s):
                pods = scheduled
            first = self.worker.watch.get(pods[0])
            self._create_pods(pods[1:], claim, owner, first.node if first else "")
        if self._all_run(pods, timeout_s=traffic.wait_s):
            for pod in pods[1:] if traffic.completes else ():
                self.wait_succeeded(pod, timeout_s=traffic.wait_s)
            self.hold(traffic.hold_s)
        elif not traffic.gives_up:
            raise users.PodLeft
        self.delete_pods(pods, timeout_s=traffic.wait_s)

    def _all_run(self, pods: Sequence[str], *, timeout_s: float) -> bool:
        """Wait until all pods are Running; `timeout_s` applies to all of them together."""
        deadline_ns = clocks.monotonic_ns() + int(timeout_s * 1e9)
        left_s = ((deadline_ns - clocks.monotonic_ns()) / 1e9 for _ in pods)
        running = [
            self.wait_running(pod, timeout_s=max(left, 0))
            for pod, left in zip(pods, left_s, strict=True)
        ]
        return all(running)

    def _create_pods(self, pods: Sequence[str], claim: str, owner: str, node: str = "") -> None:
        gevent.joinall([gevent.spawn(self._create_pod, pod, claim, owner, node) for pod in pods])

    def _create_pod(self, pod: str, claim: str, owner: str, node: str) -> None:
        traffic: Any = self.worker.scenario.traffic
        completes = traffic.completes and not pod.endswith("-0")
        made = self.worker.objects.pod(
            pod,
            claim_name=claim,
            owner=owner,
            node_name=node,
            runs_s=self.hold_time_s(traffic.hold_s) if completes else None,
        )
        self.create(apis.PODS, made)


class LimitUser(users.ClaimUser):
    """Creates its share of the pods of one claim, and ends each when the claim has been full."""

    def work(self) -> None:
        traffic: Any = self.worker.scenario.traffic
        pods: list[str] = []
        while (item := self.worker.next_item()) is not None:
            pods.append(f"pod-{item:04d}")
            pod = self.worker.objects.pod(pods[-1], claim_name=objects.SHARED_CLAIM)
            self.create(apis.PODS, pod)
        self.worker.watch.wait_running_count(traffic.places, timeout_s=traffic.wait_s)
        gevent.joinall([gevent.spawn(self._run_and_end, pod) for pod in pods])

    def _run_and_end(self, pod: str) -> None:
        traffic: Any = self.worker.scenario.traffic
        if self.wait_running(pod, timeout_s=traffic.wait_s):
            self.hold(traffic.hold_s)
        self.delete_pods([pod], timeout_s=traffic.wait_s)


class ObjectsUser(users.ClaimUser):
    """Repeatedly creates the objects of a file, waits until their pods run, and deletes them."""

    def work(self) -> None:
        self._rounds = self.worker.rounds
        self._turns = self._rounds.turns(self.random.randrange(1 << 16))
        self.repeat(self._live, apis.PODS)

    def _live(self, name: str) -> None:
        made = self._rounds.of(next(self._turns), name, runs_s=self._times())
        claims = [claim for claim in made.claims if self.create(apis.CLAIMS, claim)]
        if len(claims) == len(made.claims):
            groups = [group for group in made.pod_groups if self.create(apis.POD_GROUPS, group)]
            if len(groups) == len(made.pod_groups):
                self._use(made)
            for group in groups:
                self.delete(apis.POD_GROUPS, group["metadata"]["name"])
        for claim in claims:
            self.delete(apis.CLAIMS, claim["metadata"]["name"])

    def _times(self) -> Iterator[float]:
        while True:
            yield self.hold_time_s(self._traffic.hold_s)

    def _use(self, made: object_rounds.Round) -> None:
        jobs = [gevent.spawn(self._have_run, group) for group in made.groups]
        gevent.joinall(jobs, raise_error=True)
        if all(job.get() for job in jobs):
            if not all(group.completes for group in made.groups):
                self.hold(self._traffic.hold_s)
        elif not self._traffic.gives_up:
            raise users.PodLeft
        pods = [name for group in made.groups for name in group.names]
        self.delete_pods(pods, timeout_s=self._traffic.wait_s)

    def _have_run(self, group: object_rounds.Group) -> bool:
        left = iter(group.pods)
        wait = self._let_end if group.completes else self._let_run
        lanes = [gevent.spawn(wait, left) for _ in range(group.at_once)]
        gevent.joinall(lanes, raise_error=True)
        return all(lane.get() for lane in lanes)

    def _let_end(self, left: Iterator[Object]) -> bool:
        for pod in left:
            name = pod["metadata"]["name"]
            if not self.create(apis.PODS, pod):
                return False
            if not self.wait_succeeded(name, timeout_s=self._traffic.wait_s):
                return False
        return True

    def _let_run(self, left: Iterator[Object]) -> bool:
        pod = next(left)
        name = pod["metadata"]["name"]
        timeout_s = self._traffic.wait_s
        return self.create(apis.PODS, pod) and self.wait_running(name, timeout_s=timeout_s)

    @property
    def _traffic(self) -> Any:
        return self.worker.scenario.traffic


BY_PROFILE: dict[str, type[users.ClaimUser]] = {
    "all-at-once": AllAtOnceUser,
    "churn": ChurnUser,
    "shared": SharedUser,
    "limit": LimitUser,
    "objects": ObjectsUser,
}
"""The user class of each traffic profile."""
