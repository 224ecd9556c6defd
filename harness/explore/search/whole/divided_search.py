"""A whole search that is divided into branches, and the places above them."""

import msgspec

from harness.explore.search.whole import branches, search_tree


class SharedNode(msgspec.Struct):
    """A place above several branches."""

    node: search_tree.Node
    above: int | None
    """Number of the shared node above it; None: it is the first place."""
    way: search_tree.Node | None
    """A copy of the node above it, with the option that leads here."""
    depth: int
    share: float
    """Which share of the whole tree it was thought to be."""
    users: int = 1
    """Number of shared nodes and branches right below it."""


class DividedSearch(msgspec.Struct):
    """The rest of a search: branches, and options of places above them."""

    waiting: list[branches.Branch]
    shared: dict[int, SharedNode] = {}
    unused: int = 0
    """Number of the next shared node."""

    def left(self) -> float:
        """Return which share of the search is left, if all options were alike; 0 at the end."""
        here = (place.share / place.node.width * place.node.left for place in self.shared.values())
        return min(sum(here) + sum(branch.left() for branch in self.waiting), 1.0)

    def new_branch(self) -> branches.Branch | None:
        """Return a branch for something that a shared node still has to try; None if none has.

        The node nearest to the root gives it, whose branch is likely to be the largest.
        """
        left = [number for number, place in self.shared.items() if place.node.left]
        if not left:
            return None
        number = min(left, key=lambda it: self.shared[it].depth)
        place = self.shared[number]
        place.users += 1
        path = [*self._way_to(place), place.node.give(number)]
        return branches.Branch.after(path, place.share / place.node.width)

    def _way_to(self, place: SharedNode) -> list[search_tree.Node]:
        path: list[search_tree.Node] = []
        while place.above is not None and place.way is not None:
            path.append(place.way.again())
            place = self.shared[place.above]
        return path[::-1]

    def divide(self, branch: branches.Branch) -> bool:
        """Share the places of a branch down to the first with options left; False if none has."""
        own = [index for index, node in enumerate(branch.path) if node.shared is None]
        last = next((index for index in own if branch.path[index].left), None)
        if last is None:
            return False
        for index in range(own[0], last + 1):
            self._share(branch, index)
        self.learn(branch)
        return True

    def _share(self, branch: branches.Branch, index: int) -> None:
        node, above = branch.path[index], branch.path[index - 1] if index else None
        self.shared[self.unused] = SharedNode(
            node=node,
            above=above.shared if above else None,
            way=above.again() if above else None,
            depth=index,
            share=branch.share,
        )
        branch.share /= node.width
        branch.path[index] = node.share(self.unused)
        self.unused += 1

    def learn(self, branch: branches.Branch) -> None:
        """Take over what a branch asks of the places above it; forget those without use."""
        copies = [node for node in branch.path if node.shared is not None]
        for copy, below in zip(copies, [*branch.path[1:], None], strict=False):
            is_known = branch.is_over if below is None else isinstance(below, search_tree.TurnNode)
            match self.shared[copy.shared or 0].node, copy:
                case search_tree.TurnNode() as node, search_tree.TurnNode() as asking:
                    node.learn(asking, is_known=is_known)
        if branch.is_over and copies:
            self._leave(copies[-1].shared)

    def _leave(self, number: int | None) -> None:
        """Note that a branch below a node is over; forget nodes that nothing needs any more."""
        while number is not None:
            place = self.shared[number]
            place.users -= 1
            if place.users or place.node.left:
                return
            del self.shared[number]
            number = place.above
