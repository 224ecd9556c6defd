"""The claims, pods and devices of a violation, and how to recognize them in evidence."""

import dataclasses
import re
import string
from collections.abc import Sequence

from harness.checks import verdicts

OBJECTS_MAX = 6
"""Objects of each kind that are looked for."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class InvolvedClaim:
    """A claim of the violation."""

    letter: str
    """`A` for the first holder of the device, `B` for the second one."""
    uid: str
    name: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Involved:
    """Everything that the evidence of a violation is about."""

    claims: Sequence[InvolvedClaim]
    pods: Sequence[str]
    """Names of pods."""
    device: str = ""
    """`driver/pool/device`; empty if the violation is not about one device."""

    def pattern(self) -> re.Pattern[str]:
        """Return a pattern that finds the name or uid of any of them as whole words."""
        words = [word for claim in self.claims for word in (claim.name, claim.uid)]
        words += [*self.pods, self.device, self.device.rpartition("/")[2]]
        alternatives = "|".join(re.escape(word) for word in dict.fromkeys(words) if word)
        return re.compile(rf"(?<![\w-])(?:{alternatives or '(?!)'})(?![\w-])")


def of(violation: verdicts.Violation) -> Involved:
    if isinstance(violation, verdicts.DoubleAllocation):
        claims = [(holder.uid, holder.name) for holder in violation.holders]
        pods = [name for holder in violation.holders for name in holder.pods]
        return Involved(claims=_lettered(claims), pods=pods, device=violation.device)
    found = [item for item in violation.objects if item.kind == "ResourceClaim"]
    pods = [item.name for item in violation.objects if item.kind == "Pod"]
    claims = [(item.uid, item.name) for item in found[:OBJECTS_MAX]]
    return Involved(claims=_lettered(claims), pods=pods[:OBJECTS_MAX])


def _lettered(claims: Sequence[tuple[str, str]]) -> list[InvolvedClaim]:
    letters = string.ascii_uppercase
    return [
        InvolvedClaim(letter=letter, uid=uid, name=name)
        for letter, (uid, name) in zip(letters, claims, strict=False)
    ]
