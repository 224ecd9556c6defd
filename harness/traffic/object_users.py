"""The users of the profile `objects`: they create what manifests say, and delete it again."""

from collections.abc import Iterator
from typing import Any

import gevent

from harness.client import apis
from harness.model.objects import Object
from harness.traffic import object_rounds, users


class ObjectsUser(users.ClaimUser):
    """Repeatedly creates the objects of a file, waits until their pods run, and deletes them."""

    def work(self) -> None:
        """Create, keep and delete one set of objects after the other until the time is up."""
        self._rounds = self.worker.rounds
        self._turns = self._rounds.turns(self.random.randrange(1 << 16))
        self.repeat(self._live, apis.PODS)

    def _live(self, name: str) -> None:
        """Create the objects of one round, keep them for a time once all pods run, delete them."""
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
        """Let all pods of a round run, and delete them.

        Raises PodLeft if one does not run in time, and the users do not give up.
        """
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
        """Create the pods of a manifest; return whether all have run, or have ended if they do."""
        left = iter(group.pods)
        wait = self._let_end if group.completes else self._let_run
        lanes = [gevent.spawn(wait, left) for _ in range(group.at_once)]
        gevent.joinall(lanes, raise_error=True)
        return all(lane.get() for lane in lanes)

    def _let_end(self, left: Iterator[Object]) -> bool:
        """Create one pod after another, each when the one before has ended."""
        for pod in left:
            name = pod["metadata"]["name"]
            if not self.create(apis.PODS, pod):
                return False
            if not self.wait_succeeded(name, timeout_s=self._traffic.wait_s):
                return False
        return True

    def _let_run(self, left: Iterator[Object]) -> bool:
        """Create one pod and wait until it runs."""
        pod = next(left)
        name = pod["metadata"]["name"]
        timeout_s = self._traffic.wait_s
        return self.create(apis.PODS, pod) and self.wait_running(name, timeout_s=timeout_s)

    @property
    def _traffic(self) -> Any:
        return self.worker.scenario.traffic
