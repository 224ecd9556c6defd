"""The traffic profiles: a class of Locust users for each."""

from collections.abc import Iterator, Sequence

import gevent

from harness import clocks
from harness.client import apis
from harness.model.objects import Object
from harness.traffic import object_rounds, objects, users


class AllAtOnceUser(users.ClaimUser):
    """Creates its share of all claims, and a pod for each of them; extended ones need no claim."""

    def work(self) -> None:
        made = self.worker.objects
        while (item := self.worker.next_item()) is not None:
            if item and self.traffic.interval_s:
                gevent.sleep(self.traffic.interval_s)
            claim, owner = f"claim-{item:04d}", made.claim_owner()
            if made.names_claims:
                self.create(apis.CLAIMS, made.claim(claim, owner=owner, number=item))
            self.create(apis.PODS, made.pod(f"pod-{item:04d}", claim_name=claim, owner=owner))


class ChurnUser(users.ClaimUser):
    """Repeatedly creates a pod with claim templates, waits until it runs, and deletes it."""

    _finished: Sequence[str] = ()
    """The last pod that has finished; empty: there is none."""

    def work(self) -> None:
        self.repeat(self._complete if self.traffic.completes else self._keep, apis.PODS)

    def _keep(self, pod: str) -> None:
        if self.create(apis.PODS, self.worker.objects.pod(pod)):
            self._lose_claim(pod)
            if self.wait_running(pod, timeout_s=self.traffic.wait_s):
                self.hold(self.traffic.hold_s)
            else:
                self.give_up()
            self.delete_pods([pod], timeout_s=self.traffic.wait_s)

    def _complete(self, pod: str) -> None:
        runs_s = self.hold_time_s(self.traffic.hold_s)
        if self.create(apis.PODS, self.worker.objects.pod(pod, runs_s=runs_s)):
            self._lose_claim(pod)
            if not self.wait_succeeded(pod, timeout_s=self.traffic.wait_s):
                self.give_up()
            self.delete_pods(self._finished, timeout_s=self.traffic.wait_s)
            self._finished = [pod]

    def _lose_claim(self, pod: str) -> None:
        traffic, watch = self.traffic, self.worker.watch
        if not traffic.claims_lost or self.random.random() >= traffic.claims_lost:
            return
        if watch.wait(
            pod,
            lambda seen: seen is not None and len(seen.claims) == traffic.claims_per_pod,
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
        if not self.create(apis.CLAIMS, self.worker.objects.claim(claim, owner=owner)):
            return
        rounds = self.traffic.rounds
        for number in range(rounds):
            if not number or self.worker.is_time_left:
                self._share(claim, owner, claim if rounds == 1 else f"{claim}-{number}")
        self.delete(apis.CLAIMS, claim)

    def _share(self, claim: str, owner: str, prefix: str) -> None:
        traffic = self.traffic
        pods = [f"{prefix}-{index}" for index in range(traffic.pods_per_claim)]
        scheduled = pods[:1] if traffic.bound_by_hand else pods
        self._create_pods(scheduled, claim, owner)
        if traffic.bound_by_hand:
            if not self.wait_running(pods[0], timeout_s=traffic.wait_s):
                pods = scheduled
            first = self.worker.watch.get(pods[0])
            self._create_pods(pods[1:], claim, owner, first.node if first else "")
        if self._all_run(pods):
            for pod in pods[1:] if traffic.completes else ():
                self.wait_succeeded(pod, timeout_s=traffic.wait_s)
            self.hold(traffic.hold_s)
        else:
            self.give_up()
        self.delete_pods(pods, timeout_s=traffic.wait_s)

    def _all_run(self, pods: Sequence[str]) -> bool:
        """Wait until all pods are Running, as long as a user waits for one."""
        deadline_ns = clocks.monotonic_ns() + int(self.traffic.wait_s * 1e9)
        left_s = ((deadline_ns - clocks.monotonic_ns()) / 1e9 for _ in pods)
        running = [
            self.wait_running(pod, timeout_s=max(left, 0))
            for pod, left in zip(pods, left_s, strict=True)
        ]
        return all(running)

    def _create_pods(self, pods: Sequence[str], claim: str, owner: str, node: str = "") -> None:
        gevent.joinall([gevent.spawn(self._create_pod, pod, claim, owner, node) for pod in pods])

    def _create_pod(self, pod: str, claim: str, owner: str, node: str) -> None:
        completes = self.traffic.completes and not pod.endswith("-0")
        made = self.worker.objects.pod(
            pod,
            claim_name=claim,
            owner=owner,
            node_name=node,
            runs_s=self.hold_time_s(self.traffic.hold_s) if completes else None,
        )
        self.create(apis.PODS, made)


class LimitUser(users.ClaimUser):
    """Creates its share of the pods of one claim, and ends each when the claim has been full."""

    def work(self) -> None:
        pods: list[str] = []
        while (item := self.worker.next_item()) is not None:
            pods.append(f"pod-{item:04d}")
            pod = self.worker.objects.pod(pods[-1], claim_name=objects.SHARED_CLAIM)
            self.create(apis.PODS, pod)
        self.worker.watch.wait_running_count(self.traffic.places, timeout_s=self.traffic.wait_s)
        gevent.joinall([gevent.spawn(self._run_and_end, pod) for pod in pods])

    def _run_and_end(self, pod: str) -> None:
        if self.wait_running(pod, timeout_s=self.traffic.wait_s):
            self.hold(self.traffic.hold_s)
        self.delete_pods([pod], timeout_s=self.traffic.wait_s)


class ObjectsUser(users.ClaimUser):
    """Repeatedly creates the objects of a file, waits until their pods run, and deletes them."""

    def work(self) -> None:
        self._turns = self.worker.rounds.turns(self.random.randrange(1 << 16))
        self.repeat(self._live, apis.PODS)

    def _live(self, name: str) -> None:
        times = iter(lambda: self.hold_time_s(self.traffic.hold_s), None)
        made = self.worker.rounds.of(next(self._turns), name, runs_s=times)
        claims = [claim for claim in made.claims if self.create(apis.CLAIMS, claim)]
        if len(claims) == len(made.claims):
            groups = [group for group in made.pod_groups if self.create(apis.POD_GROUPS, group)]
            if len(groups) == len(made.pod_groups):
                self._use(made)
            for group in groups:
                self.delete(apis.POD_GROUPS, group["metadata"]["name"])
        for claim in claims:
            self.delete(apis.CLAIMS, claim["metadata"]["name"])

    def _use(self, made: object_rounds.Round) -> None:
        lanes = [
            gevent.spawn(self._have_run, group, left)
            for group in made.groups
            for left in [iter(group.pods)]
            for _ in range(group.at_once)
        ]
        gevent.joinall(lanes, raise_error=True)
        if not all(lane.get() for lane in lanes):
            self.give_up()
        elif not all(group.completes for group in made.groups):
            self.hold(self.traffic.hold_s)
        pods = [name for group in made.groups for name in group.names]
        self.delete_pods(pods, timeout_s=self.traffic.wait_s)

    def _have_run(self, group: object_rounds.Group, left: Iterator[Object]) -> bool:
        """Create pods, one after the other; of those that do not end, one."""
        for pod in left:
            wait = self.wait_succeeded if group.completes else self.wait_running
            is_made = self.create(apis.PODS, pod)
            if not is_made or not wait(pod["metadata"]["name"], timeout_s=self.traffic.wait_s):
                return False
            if not group.completes:
                break
        return True


BY_PROFILE: dict[str, type[users.ClaimUser]] = {
    "all-at-once": AllAtOnceUser,
    "churn": ChurnUser,
    "shared": SharedUser,
    "limit": LimitUser,
    "objects": ObjectsUser,
}
"""The user class of each traffic profile."""
