"""The kinds of plug-ins, their entry point groups, and a plug-in as its package declares it."""

import dataclasses
from typing import Literal, TypeAlias, get_args

Kind: TypeAlias = Literal[
    "scenarios", "clusters", "traffic", "checks", "subjects", "defects", "faults"
]
"""The kinds of plug-ins."""
KINDS: tuple[Kind, ...] = get_args(Kind)
_NOUNS: dict[Kind, str] = {
    "scenarios": "scenario",
    "clusters": "cluster profile",
    "traffic": "traffic",
    "checks": "check",
    "subjects": "subject",
    "defects": "defect",
    "faults": "fault",
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """An entry point of a package."""

    kind: Kind
    name: str
    target: str
    """`package.module`, or `package.module:attribute`."""
    package: str
    version: str
    folder: str = ""
    """Folder to import it from; empty: it is installed."""

    @property
    def noun(self) -> str:
        return _NOUNS[self.kind]

    @property
    def module(self) -> str:
        return self.target.partition(":")[0].strip()

    def __str__(self) -> str:
        return f"the {self.noun} {self.name!r} of {self.package} {self.version}"


def group(kind: Kind) -> str:
    return f"flake_hunt.{kind}"
