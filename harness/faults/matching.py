"""Which requests, responses and events a fault matches: its conditions, and the facts of one."""

import fnmatch
from typing import Literal

import msgspec


class Match(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Conditions that a request, response or event must meet; unset ones always match."""

    clients: tuple[str, ...] = ()
    """Names of the clients, such as `scheduler`; see `Facts.client`."""
    user_agent: str = ""
    """A prefix of the client's User-Agent."""
    verbs: tuple[str, ...] = ()
    """Verbs as in `api_calls.ApiCall`."""
    resource: str = ""
    """Plural name of the resource."""
    subresource: str | None = None
    """Name of the subresource; empty: requests of the object itself only; None: any."""
    namespace: str = ""
    """A shell pattern for the object's namespace."""
    name: str = ""
    """A shell pattern for the object's name."""
    path: str = ""
    """A shell pattern for the path without its query: `*/pods/*/binding`."""
    event_types: tuple[Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"], ...] = ()
    """Types of watch events; empty: all but bookmarks."""


class Facts(msgspec.Struct, frozen=True, rename="camel"):
    """The facts of a request, response or event that faults match, and that are recorded."""

    verb: str
    path: str
    """The path without the query."""
    user_agent: str = ""
    client: str = ""
    """Name of the client; empty if it is unknown."""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    """Empty if it is unknown."""
    event_type: str = ""
    """Empty for requests and responses."""
    resource_version: int = 0
    """Version of the object in a response or event, of the state that a stale read showed; in
    other requests the version it was sent with, or the newest known version; 0: unknown."""


def matches(match: Match, facts: Facts) -> bool:
    return (
        facts.user_agent.startswith(match.user_agent)
        and (not match.clients or facts.client in match.clients)
        and (not match.verbs or facts.verb in match.verbs)
        and (not match.resource or facts.resource == match.resource)
        and match.subresource in (None, facts.subresource)
        and _fits(match.path, facts.path)
        and _fits(match.namespace, facts.namespace)
        and _fits(match.name, facts.name)
        and _has_type(match, facts.event_type)
    )


def _fits(pattern: str, text: str) -> bool:
    return not pattern or fnmatch.fnmatchcase(text, pattern)


def _has_type(match: Match, event_type: str) -> bool:
    if match.event_types:
        return event_type in match.event_types
    return event_type != "BOOKMARK"
