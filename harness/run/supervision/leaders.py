"""Finds the scheduler that leads, by the Lease on which the schedulers of a run elect it."""

from harness import errors
from harness.client import apis


class Leaders:
    """Reads the Lease of the schedulers that have one name."""

    def __init__(self, api: apis.Api, *, namespace: str, name: str) -> None:
        """`name` of the schedulers, which is the name of the Lease, too."""
        self._api, self._namespace, self._name = api, namespace, name

    def pid(self) -> int | None:
        """Return the process id of the leader.

        None if there is none, if the API server does not answer, or if the holder's name does not
        end with a process id, as that of kube-scheduler does not.
        """
        try:
            lease = self._api.get(apis.LEASES, self._name, namespace=self._namespace)
        except errors.HarnessError:
            return None
        return _pid_in(lease["spec"].get("holderIdentity") or "")


def _pid_in(identity: str) -> int | None:
    """Return the process id in `host_pid`."""
    pid = identity.rpartition("_")[2]
    return int(pid) if pid.isdecimal() else None
