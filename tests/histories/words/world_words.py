"""A line of words for the objects at the end of a run, as in tables of cases.

    pod p of a             pod p names claim a; without `of`, it gets one from a template
        gets a             … which is claim a
        at n runs          … is bound to node n, and runs; or `ended`, `failed`
        deleting gated     … is to be removed, or held back by a gate
        twice only m       … names its claim in two entries; may run on node m only
        asks 2             … names none, and asks for two devices as an extended resource
    claim a n0 n1 for p q  claim a holds devices 0 and 1 of node n, and is reserved for these pods
        wants 2  only n    … asks for two devices; its allocation admits node n only
        like WORD          … asks for what the test means by it
        owner=p extended   … was generated for this pod; by its scheduler, for extended resources
        deleting finalizer … is to be removed, and has the finalizer of allocations
    node n 2 WORD          a slice of node n with two devices, whose fields are those of the word
    host n                 node n itself

Objects are parted by ` ; `.
"""

from collections.abc import Mapping
from typing import Any

from tests.histories import worlds
from tests.histories.worlds import Object

_WITH_VALUES = {"of": "claim", "gets": "generated", "at": "node", "only": "only", "asks": "asks"}
"""Words about pods that another one follows -> the fields."""
PHASES = {"runs": "Running", "ended": "Succeeded", "failed": "Failed"}
Fields = Mapping[str, Object]
"""The words of one test for fields of requests and of devices."""


def world(text: str, fields: Fields | None = None) -> worlds.World:
    made: dict[str, list[Object]] = {kind: [] for kind in _MAKERS}
    for item in text.split(" ; ") if text else []:
        kind, name, *words = item.split()
        made[kind].append(_MAKERS[kind](name, words, fields or {}))
    return worlds.World(
        pods=made["pod"], claims=made["claim"], slices=made["node"], nodes=made["host"]
    )


def _pod(name: str, words: list[str], _: Fields) -> Object:
    said: dict[str, Any] = {}
    following = iter(words)
    for word in following:
        if word in _WITH_VALUES:
            said[_WITH_VALUES[word]] = next(following)
        elif word in PHASES:
            said["phase"] = PHASES[word]
        else:
            said[word] = True
    only, asked, is_twice = (said.pop(word, "") for word in ("only", "asks", "twice"))
    made = worlds.pod(name, **said)
    if only:
        made["spec"]["nodeSelector"] = {"node": only}
    if asked:
        del made["spec"]["resourceClaims"]
        requests = {f"deviceclass.resource.kubernetes.io/{worlds.CLASS}": asked}
        made["spec"]["containers"] = [{"name": "c", "resources": {"requests": requests}}]
    if is_twice:
        [entry] = made["spec"]["resourceClaims"]
        made["spec"]["resourceClaims"] = [entry, {**entry, "name": "again"}]
    return made


def _claim(name: str, words: list[str], fields: Fields) -> Object:
    said: dict[str, Any] = {}
    devices, names = [], list[str]()
    following = (word for word in words if word != "extended")
    for word in following:
        match word:
            case "for":
                said["users"] = list(following)
            case "wants":
                said["count"] = int(next(following))
            case "like":
                said |= fields[next(following)]
            case "deleting" | "finalizer":
                said[word] = True
            case "only":
                names = [next(following)]
            case _ if word.startswith("owner="):
                said["owner"] = word.removeprefix("owner=")
            case _:
                devices.append(worlds.device(word[0], int(word[1:])))
    made = worlds.claim(name, *devices, **said)
    if names:
        field = {"key": "metadata.name", "operator": "In", "values": names}
        selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        made["status"]["allocation"]["nodeSelector"] = selector
    if "extended" in words:
        note = {"resource.kubernetes.io/extended-resource-claim": "true"}
        made["metadata"]["annotations"] = note
    return made


def _node(name: str, words: list[str], fields: Fields) -> Object:
    count, *more = words
    return worlds.devices_of(name, int(count), **(fields[more[0]] if more else {}))


def _host(name: str, _: list[str], __: Fields) -> Object:
    return worlds.node(name, node=name)


_MAKERS = {"pod": _pod, "claim": _claim, "node": _node, "host": _host}
