"""What a request is about, in the words of Kubernetes' authorization and audit: a verb and what it is done to."""

import dataclasses

from harness.apiserver import requesting, verbs

READING_VERBS = frozenset({"get", "list", "watch", "head", "options"})
_OBJECT_VERBS = {**verbs.OBJECT, "HEAD": "get"}
_COLLECTION_VERBS = {**verbs.COLLECTION, "HEAD": "list"}


@dataclasses.dataclass(frozen=True, slots=True)
class Attributes:
    """A verb and, unless the path is of another kind, the target of it."""

    verb: str
    path: str
    target: requesting.Target | None

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing."""
        return self.verb in READING_VERBS

    @property
    def name(self) -> str:
        """The object's name as the path says it."""
        return self.target.name if self.target else ""


def of(request: requesting.Request) -> Attributes:
    """What a request is about."""
    target = requesting.parse_target(request.path)
    if target is None:
        return Attributes(request.method.lower(), request.path, None)
    if request.method == "POST":
        verb = "create"
    elif requesting.watched(request):
        verb = "watch"
    else:
        known = _OBJECT_VERBS if target.name else _COLLECTION_VERBS
        verb = known.get(request.method, request.method.lower())
    return Attributes(verb, request.path, target)
