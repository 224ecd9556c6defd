"""A fault: now and then, a node takes no new pods for a while."""

from harness import api


class Cordon:
    """Cordons one node after the other, each for `parameters.seconds`."""

    def inject(self, target: api.FaultTarget) -> None:
        """Go on until the load has ended; uncordon the node in any case."""
        nodes = [
            node["metadata"]["name"] for node in target.request("GET", "/api/v1/nodes")["items"]
        ]
        is_over = False
        while not is_over:
            name = target.random.choice(nodes)
            self._set(target, name, is_cordoned=True)
            try:
                is_over = target.wait(target.parameters.get("seconds", 1.0))
            finally:
                self._set(target, name, is_cordoned=False)
            is_over = is_over or target.wait(0.1)

    def _set(self, target: api.FaultTarget, name: str, *, is_cordoned: bool) -> None:
        body = {"spec": {"unschedulable": is_cordoned}}
        node = target.request("PATCH", f"/api/v1/nodes/{name}", body)
        version = int(node["metadata"]["resourceVersion"])
        done = "cordoned" if is_cordoned else "uncordoned"
        target.applied(done, kind="nodes", name=name, resource_version=version)
