"""Which workers may take part: as many as the plan says, each of the version of the run.

Imports neither locust nor gevent.
"""

import dataclasses
import enum
import importlib.metadata
from collections.abc import Sequence

from harness.history import directories
from harness.traffic.remote import journal_streams, messages


def version() -> str:
    """Return the versions of Flake Hunt and Locust, which must be the same on all hosts."""
    flake_hunt, locust = map(importlib.metadata.version, ("flake-hunt", "locust"))
    return f"Flake Hunt {flake_hunt} with Locust {locust}"


class State(enum.Enum):
    """How far a worker is."""

    INVITED = "has the plan"
    JOINED = "takes part"
    DONE = "has done its work, and all of its journal is here"
    LOST = "is not heard of any more"


@dataclasses.dataclass(slots=True)
class Member:
    """A worker that was accepted."""

    node: str
    """Its name on the channel."""
    index: int
    process: str
    hello: messages.Hello
    journal: journal_streams.ReceivedJournal
    heard_ns: int
    """Time of its last message."""
    runner: str = ""
    """The name of its Locust runner; empty: it is not known yet."""
    state: State = State.INVITED

    @property
    def title(self) -> str:
        """The worker as text."""
        return f"{self.process} ({self.hello.host}, pid {self.hello.pid})"


class Admission:
    """The places of the expected workers."""

    def __init__(
        self, processes: Sequence[str], directory: directories.RunDirectory, *, version: str
    ) -> None:
        """`processes` are the names of the expected workers."""
        self._processes, self._directory, self._version = processes, directory, version
        self.members: dict[str, Member] = {}
        """Name on the channel -> worker."""

    def admit(self, node: str, hello: messages.Hello, *, now_ns: int) -> Member | str:
        """Return the worker with its place, the same one if it asks again; or why it has none."""
        if node in self.members:
            return self.members[node]
        who = f"{hello.host}, pid {hello.pid}"
        if hello.version != self._version:
            return (
                f"expected a worker of {self._version}, got one of {hello.version} ({who}): "
                "install the version of the run there"
            )
        free = [index for index in range(len(self._processes)) if not self._at(index)]
        if not free:
            present = ", ".join(member.title for member in self.members.values())
            return (
                f"expected {len(self._processes)} workers, which are there ({present}), got one more "
                f"({who}): do not start it, or raise traffic.processes"
            )
        name = self._processes[free[0]]
        journal = journal_streams.ReceivedJournal(self._directory.operations(name))
        member = Member(node, free[0], name, hello, journal, now_ns)
        self.members[node] = member
        return member

    def dismiss(self, member: Member) -> None:
        """Free the place of a worker that has done nothing yet."""
        member.journal.close()
        del self.members[member.node]

    def runners(self) -> set[str]:
        """Return the names of the Locust runners of all workers."""
        return {member.runner for member in self.members.values() if member.runner}

    def silent(self, state: State, since_ns: int) -> list[Member]:
        """Return the workers in this state whose last message is older."""
        members = self.members.values()
        return [item for item in members if item.heard_ns < since_ns and item.state is state]

    @property
    def is_done(self) -> bool:
        """True if all expected workers have done their work."""
        done = [member for member in self.members.values() if member.state is State.DONE]
        return len(done) == len(self._processes)

    @property
    def missing(self) -> list[str]:
        """The names of the expected workers that are not ready for the load."""
        ready = {member.process for member in self.members.values() if member.runner}
        return [name for name in self._processes if name not in ready]

    def _at(self, index: int) -> bool:
        return any(member.index == index for member in self.members.values())
