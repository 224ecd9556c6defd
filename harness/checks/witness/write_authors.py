"""The authors of the writes in an audit log: the subject, the run, the cluster, or someone else.

A write of an administrator or another controller is not the subject's fault. The audit log has the
program (User-Agent) and the user of each request. Field managers are not asked where there is an
audit log, because a client chooses their names.
"""

import collections
import enum
import itertools
import operator
import re
from collections.abc import Iterable, Iterator, Sequence

from harness.checks.witness import audit_history, object_states
from harness.history import plans

_OWN = "flake-hunt"
"""How the User-Agents of all parts of ours begin."""
_CLUSTER = ("kube-apiserver", "kube-controller-manager", "kubelet")
_SYSTEM_USERS = ("system:serviceaccount:kube-system:", "system:node:", "system:apiserver")
_OURS = ("python", "kube-scheduler", "cluster")
"""Kinds of schedulers whose User-Agents are known."""
_COMMAND = "command="
"""How the setting of a driver begins that is any program."""
_TOOLS = ("curl", "helm", "k9s", "kubectl", "lens")
"""Programs by which people write; others may be a subject whose User-Agent is not known."""


_VERSION = re.compile(r"-v?\d+(\.\d+)+$")
"""The end of a file's name that has its version, as `kube-controller-manager-1.36.3`."""


def _drivers(plan: plans.Plan) -> Iterator[str]:
    """Yield the programs that drivers of a run are, and the names by which ours call themselves."""
    chosen = str((plan.settings.get("subject") or {}).get("driver") or "")
    if not chosen.startswith(("socket", _COMMAND)):
        return
    pools = plan.settings.get("pools") or {}
    kinds = [pools, *(pools.get("more") or ())]
    yield from (name for kind in kinds if (name := kind.get("driver")))
    yield from (pools.get("imported") or {}).get("drivers") or ()
    words = chosen.removeprefix(_COMMAND).split() if chosen.startswith(_COMMAND) else []
    yield from (word.rpartition("/")[2] for word in words[:1])


class Role(enum.Enum):
    """The part of an author in the run."""

    KNOWN = "a part of the run or its cluster"
    OTHER = "someone else"
    UNSURE = "perhaps someone else"


class Authors:
    """Finds other writers in a run."""

    def __init__(
        self, plan: plans.Plan, told: audit_history.AuditHistory, managers: Iterable[str] = ()
    ) -> None:
        """`managers` are the field managers of the record, if there is no audit log to ask."""
        subject = plan.settings.get("subject") or {}
        schedulers: Sequence[dict[str, str]] = subject.get("schedulers") or ()
        controller = subject.get("claim_controller")
        programs = [*schedulers, controller] if isinstance(controller, dict) else schedulers
        kinds = [item.get("kind", "python") for item in schedulers]
        kinds += ["external"] * (controller == "external")
        self._names = {item["binary"].rpartition("/")[2] for item in programs if item.get("binary")}
        self._names |= set(_drivers(plan))
        self._names |= {"kube-scheduler"} if {"kube-scheduler", "cluster"} & {*kinds} else set()
        self._told = told
        seen = {*told.authors.values(), *(audit_history.Author(name, "") for name in managers)}
        shows_parts = any(map(self._is_part, seen))
        self._is_sure = shows_parts and {*kinds} <= {*_OURS} and not plan.plugins
        self._acts: dict[tuple[str, str, str], list[tuple[int, audit_history.Author]]] | None = None

    def role(self, author: audit_history.Author) -> Role:
        if self._is_part(author):
            return Role.KNOWN
        program = _program(author)
        if self._is_sure:
            return Role.OTHER if program else Role.KNOWN
        is_tool = program.partition("-")[0].lower() in _TOOLS and not self._binds_most(author)
        return Role.UNSURE if is_tool else Role.KNOWN

    def _is_part(self, author: audit_history.Author) -> bool:
        program = _program(author)
        is_known = program.startswith(_OWN) or program in self._names
        is_known = is_known or _VERSION.sub("", program) in _CLUSTER
        return is_known or author.user.startswith(_SYSTEM_USERS)

    def _binds_most(self, author: audit_history.Author) -> bool:
        mine = sum(item == author for item in self._told.binders.values())
        return mine > len(self._told.binders) / 2

    def of(self, version: int) -> audit_history.Author | None:
        """Return who else has made a revision; None: no one else, or it is not known."""
        return self._unless_known(self._told.authors.get(version))

    def of_binding(self, namespace: str, name: str) -> audit_history.Author | None:
        """Return who else has bound a pod."""
        return self._unless_known(self._told.binders.get((namespace, name)))

    def before(
        self, resource: str, namespace: str, name: str, version: int
    ) -> audit_history.Author | None:
        """Return who else had changed what an object says, up to a revision: more than labels."""
        if self._acts is None:
            self._acts = collections.defaultdict(list)
            for state, author in self._changes():
                self._acts[state[0], state[1].namespace, state[1].name].append(
                    (state[1].version, author)
                )
        acts = self._acts.get((resource, namespace, name), ())
        return next((author for made, author in acts if made <= version), None)

    def _changes(
        self,
    ) -> Iterator[tuple[tuple[str, object_states.State], audit_history.Author]]:
        for resource, writes in self._told.writes.items():
            ordered = sorted(
                (item.state for item in writes.values()), key=operator.attrgetter("uid", "version")
            )
            for before, after in itertools.pairwise(ordered):
                author = self.of(after.version)
                if author is not None and before.uid == after.uid and after.says_more(before):
                    yield (resource, after), author

    def _unless_known(self, author: audit_history.Author | None) -> audit_history.Author | None:
        return None if author is None or self.role(author) is Role.KNOWN else author


def _program(author: audit_history.Author) -> str:
    return author.agent.partition("/")[0]


def told(author: audit_history.Author) -> str:
    """Return an author as text."""
    program = author.agent.partition(" ")[0] or "a program without a name"
    return f"{program} (user {author.user})" if author.user else program
