"""Users of a load of your own; locustfile.py shows more of what they can do."""

from locust import task

from harness.traffic import users


class Impatient(users.ClaimUser):
    """Waits for its pod for a tenth of a second only."""

    @task
    def try_it(self) -> None:
        """Create a pod, and delete it whether it runs or not."""
        pod = self.new_pod_name()
        if self.create_pod(pod):
            self.wait_running(pod, timeout_s=0.1)
            self.delete_pods([pod], timeout_s=30)
