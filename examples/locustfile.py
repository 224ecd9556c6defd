"""A load of your own: users who come and go, and users who want two pods at once.

flake-hunt run pod-churn --set traffic.locustfile=locustfile.py
"""

from locust import between, task

from harness.traffic import users


class Visitor(users.ClaimUser):
    """Three of four users: short pods, and sometimes one that is deleted before it runs."""

    weight = 3
    wait_time = between(0.01, 0.1)

    @task(9)
    def stay(self) -> None:
        """Create a pod with the scenario's claims, keep it for a moment, and delete it."""
        pod = self.new_pod_name()
        if self.create_pod(pod):
            if self.wait_running(pod, timeout_s=30):
                self.hold(0.02)
            self.delete_pods([pod], timeout_s=30)

    @task(1)
    def turn_around(self) -> None:
        """Create a pod and delete it at once."""
        pod = self.new_pod_name()
        if self.create_pod(pod):
            self.delete_pods([pod], timeout_s=30)


class Pair(users.ClaimUser):
    """One of four users: needs two pods at once, and so two claims."""

    @task
    def work_together(self) -> None:
        """Create both pods, wait until both run, and delete both."""
        pods = [pod for pod in (self.new_pod_name(), self.new_pod_name()) if self.create_pod(pod)]
        for pod in pods:
            self.wait_running(pod, timeout_s=30)
        self.delete_pods(pods, timeout_s=30)
