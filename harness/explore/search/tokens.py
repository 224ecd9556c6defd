"""Tokens: everything needed to replay a run, as one printable word.

A token contains its version, the scenario's name, fingerprint and changed sizes, the defects and
remedies, and the nonzero decisions. A token of another version, or of a scenario that has changed
since, is rejected with an explanation.
"""

import base64
import binascii
import dataclasses
import hashlib
import json
import re
import zlib
from collections.abc import Sequence

from harness import errors
from harness.explore.worlds import chosen_parts, world_catalogue, world_specs

VERSION = 3
PREFIX = f"fh{VERSION}-"
_FINGERPRINT_BYTES = 4
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""The part of a function's description that differs from process to process."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A run that can be replayed."""

    scenario: str
    defects: tuple[str, ...]
    decisions: tuple[int, ...]
    sizes: tuple[tuple[str, int], ...] = ()
    """Changed sizes of the scenario."""
    remedies: tuple[str, ...] = ()

    @property
    def spec(self) -> world_specs.WorldSpec:
        """The world. Raises ScenarioError if there is no such world."""
        return world_catalogue.sized(self.scenario, dict(self.sizes))

    @property
    def deviations(self) -> int:
        """Number of decisions that deviate from the undisturbed course."""
        return sum(decision != 0 for decision in self.decisions)

    def with_decisions(self, decisions: Sequence[int]) -> "Token":
        return dataclasses.replace(self, decisions=tuple(decisions))

    def __str__(self) -> str:
        sparse = [[index, value] for index, value in enumerate(self.decisions) if value]
        made_from = fingerprint(self.scenario)
        chosen = [list(self.defects), list(self.remedies)]
        document = [self.scenario, made_from, dict(self.sizes), *chosen, sparse]
        packed = zlib.compress(json.dumps(document, separators=(",", ":")).encode(), 9)
        checked = packed + zlib.crc32(packed).to_bytes(4, "big")
        return PREFIX + base64.urlsafe_b64encode(checked).decode().rstrip("=")


def parse(text: str) -> Token:
    """Parse a token. Raises UsageError, naming the problem, if it cannot be replayed."""
    text = text.strip()
    if not text.startswith(PREFIX):
        version = text[:4]
        raise errors.UsageError(
            f"expected a token of this version, which starts with {PREFIX!r}, got one that starts with {version!r}: "
            "replay it with the version that created it"
        )
    token, made_from = _unpack(text)
    scenario = token.scenario
    if world_catalogue.named(scenario) is None:
        known = ", ".join(world_catalogue.WORLDS)
        raise errors.UsageError(
            f"the token names the unknown scenario {scenario!r}. Known: {known}"
        )
    if made_from != fingerprint(scenario):
        raise errors.UsageError(
            f"scenario {scenario!r} has changed since the token was created: replay it with the version that created it"
        )
    chosen_parts.of(token.defects, token.remedies)  # UsageError for one that no longer exists
    _ = token.spec  # ScenarioError for invalid sizes
    return token


def fingerprint(scenario: str) -> str:
    """Return a hash of the scenario's current definition and code, without its title."""
    spec = world_catalogue.sized(scenario, {})
    described = _ADDRESS.sub("", repr(dataclasses.replace(spec, title=""))) + spec.source()
    return hashlib.sha256(described.encode()).hexdigest()[: 2 * _FINGERPRINT_BYTES]


def _unpack(text: str) -> tuple[Token, str]:
    """Return a token, and the fingerprint of the scenario of which it was made."""
    body = text.removeprefix(PREFIX)
    try:
        checked = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        document = json.loads(zlib.decompress(_checked(checked)))
        scenario, made_from, sizes, defects, remedies, sparse = document
        token = Token(
            scenario=str(scenario),
            defects=tuple(map(str, defects)),
            remedies=tuple(map(str, remedies)),
            decisions=_dense([(int(index), int(value)) for index, value in sparse]),
            sizes=tuple((str(key), int(value)) for key, value in dict(sizes).items()),
        )
        return token, str(made_from)
    except (ValueError, TypeError, binascii.Error, zlib.error) as error:
        raise errors.UsageError(f"the token is damaged ({error}): copy it completely") from error


def _checked(checked: bytes) -> bytes:
    packed, checksum = checked[:-4], checked[-4:]
    if zlib.crc32(packed).to_bytes(4, "big") != checksum:
        raise ValueError("its checksum is wrong")
    return packed


def _dense(sparse: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    decisions = [0] * (max((index for index, _ in sparse), default=-1) + 1)
    for index, value in sparse:
        decisions[index] = value
    return tuple(decisions)
