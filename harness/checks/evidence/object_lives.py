"""Are the observed lives of objects lawful, and does each record agree with its object?

A life begins with ADDED, or in a list; it ends with DELETED, or by missing in the list after a gap.
Its uid never comes back, and its name, namespace and creation time never change. A MODIFIED or
DELETED of an object that is not alive proves that something was lost or changed.

Of each living object three numbers are kept, of each that has gone eight bytes.
"""

import array

import numpy as np

from harness.checks.evidence import contradictions, observed_objects, observed_versions

AGREES, LAWFUL, FINAL = "records", "lives", "final-objects"
"""The items of the certificate that this module answers."""


class ObjectLives:
    """The lives of the objects of one resource."""

    def __init__(self, resource: str, found: contradictions.Contradictions) -> None:
        self._resource, self._found = resource, found
        self._alive: dict[str, tuple[int, int, int]] = {}
        """uid -> resourceVersion, digest of the content, digest of the identity."""
        self._born = array.array("q")
        """Digest of the uid of every life that began."""
        self._finals: set[str] = set()
        self._seen_in_list: set[str] | None = None
        """uids of a list after a gap that is being read; None: there is none."""

    @property
    def births(self) -> int:
        """The number of lives that began."""
        return len(self._born)

    @property
    def finals(self) -> int:
        """The number of objects in the final list."""
        return len(self._finals)

    def observe(self, item: observed_objects.ObservedObject) -> None:
        """Follow an observation of this resource."""
        self._require_agreement(item)
        match item.type:
            case "FINAL":
                self._compare_final(item)
            case "ADDED":
                self._begin(item)
            case "LISTED":
                self._list(item)
            case _:
                self._go_on(item)

    def begin_list(self, purpose: str) -> None:
        """Note that a list follows. The first and the final one are no news about lives."""
        self.end_list()
        self._seen_in_list = set() if purpose == "relist" else None

    def end_list(self) -> None:
        """Forget the objects that a list after a gap did not show: they are gone."""
        if self._seen_in_list is not None:
            gone = self._alive.keys() - self._seen_in_list
            for uid in gone:
                del self._alive[uid]
        self._seen_in_list = None

    def end(self, *, has_final_list: bool) -> None:
        """Look at what the end shows: uids that came back, objects missing in the final list."""
        self.end_list()
        again = len(self._born) - len(np.unique(observed_versions.as_integers(self._born)))
        if again:
            self._found.add(LAWFUL, f"{again:,} uids of {self._resource} came back")
        missing = self._alive.keys() - self._finals if has_final_list else ()
        for uid in sorted(missing):
            rv = self._alive[uid][0]
            self._found.add(
                FINAL,
                f"{self._resource} with uid {uid} were never deleted, "
                "but are missing in the final list",
                resource=self._resource,
                uid=uid,
                from_rv=rv + 1,
            )

    # ----------------------------------------------------------------------- records

    def _require_agreement(self, item: observed_objects.ObservedObject) -> None:
        if item.stated_rv != str(item.rv):
            text = f"the object says resourceVersion {item.stated_rv}"
            self._dispute(AGREES, item, text, from_rv=0)
        elif item.has_foreign_kind:
            self._dispute(AGREES, item, f"the object is a {item.kind}", from_rv=0)

    def _begin(self, item: observed_objects.ObservedObject) -> None:
        known = self._alive.get(item.uid)
        if known is None:
            self._born.append(hash(item.uid))
        elif known[:2] == (item.rv, item.content):
            self._found.add(LAWFUL, f"{item.title} at {item.rv}: was recorded twice")
        else:
            self._dispute(LAWFUL, item, "was added, but existed already")
            self._dispute_others(item)
        self._keep(item)

    def _list(self, item: observed_objects.ObservedObject) -> None:
        known = self._alive.get(item.uid)
        if self._seen_in_list is not None:
            self._seen_in_list.add(item.uid)
        if known is None:
            self._born.append(hash(item.uid))
        elif known[0] > item.rv:
            self._dispute(LAWFUL, item, f"is older in a list than when last seen ({known[0]})")
        elif known[0] == item.rv and known[1] != item.content:
            self._dispute(LAWFUL, item, "differs in a list from the same version in the watch")
        self._keep(item)

    def _go_on(self, item: observed_objects.ObservedObject) -> None:
        """Follow MODIFIED and DELETED."""
        known = self._alive.get(item.uid)
        if known is None:
            self._dispute(LAWFUL, item, f"was {item.type.lower()} {self._why_not_alive(item.uid)}")
            self._dispute_others(item)
        elif known[0] >= item.rv:
            self._dispute(LAWFUL, item, f"arrived after version {known[0]}", from_rv=0)
        if item.type != "DELETED":
            self._keep(item)
        elif known is not None and known[0] < item.rv:
            self._require_identity(item)
            del self._alive[item.uid]

    def _why_not_alive(self, uid: str) -> str:
        if self._found.count(LAWFUL):  # only the first one is shown, and searching takes time
            return "while it was not alive"
        return "after its deletion" if hash(uid) in self._born else "without having been added"

    def _keep(self, item: observed_objects.ObservedObject) -> None:
        """Remember the newest version; the identity has to stay the same."""
        self._require_identity(item)
        known = self._alive.get(item.uid)
        if known is None or known[0] < item.rv:
            self._alive[item.uid] = (item.rv, item.content, _identity(item))

    def _require_identity(self, item: observed_objects.ObservedObject) -> None:
        known = self._alive.get(item.uid)
        if known is not None and known[2] != _identity(item):
            self._dispute(LAWFUL, item, "has another name or creation time than before")
            self._dispute_others(item)

    def _compare_final(self, item: observed_objects.ObservedObject) -> None:
        known = self._alive.get(item.uid)
        self._finals.add(item.uid)
        if known is None:
            self._dispute(FINAL, item, "is in the final list, but was not alive")
        elif known[0] != item.rv:
            text = f"has version {item.rv} in the final list, but {known[0]} was its last"
            self._dispute(FINAL, item, text, from_rv=min(known[0], item.rv) + 1)
        elif known[1] != item.content:
            self._dispute(FINAL, item, "differs in the final list from the same version before")

    def _dispute(
        self,
        name: str,
        item: observed_objects.ObservedObject,
        text: str,
        *,
        from_rv: int | None = None,
    ) -> None:
        """Count a contradiction about an object, and doubt it from its revision on, or another."""
        self._found.add(
            name,
            f"{item.title} at {item.rv}: {text}",
            resource=self._resource,
            uid=item.uid,
            from_rv=item.rv if from_rv is None else from_rv,
        )

    def _dispute_others(self, item: observed_objects.ObservedObject) -> None:
        """Doubt all objects from a revision on: the record may belong to another one of them."""
        self._found.doubt(resource=self._resource, from_rv=item.rv)


def _identity(item: observed_objects.ObservedObject) -> int:
    return hash((item.namespace, item.name, item.created))
