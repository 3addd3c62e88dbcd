"""Minimum cuts of small networks, by Dinic's algorithm (Soviet Math. Doklady 11, 1970)."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from math import inf
from typing import Generic, TypeVar

NodeT = TypeVar("NodeT", bound=Hashable)


class Network(Generic[NodeT]):
    """Directed edges with capacities; nodes are numbered as they are named."""

    def __init__(self) -> None:
        self._numbers: dict[NodeT, int] = {}
        self._edges: list[list[int]] = []
        self._heads: list[int] = []
        self._left: list[float] = []

    def _number(self, node: NodeT) -> int:
        if node not in self._numbers:
            self._numbers[node] = len(self._edges)
            self._edges.append([])
        return self._numbers[node]

    def connect(self, tail: NodeT, head: NodeT, capacity: float) -> None:
        """An edge; `inf` is never cut."""
        for start, end, amount in ((tail, head, capacity), (head, tail, 0.0)):
            number = self._number(end)
            self._edges[self._number(start)].append(len(self._heads))
            self._heads.append(number)
            self._left.append(amount)

    def sink_side(self, source: NodeT, sink: NodeT) -> set[NodeT]:
        """The smallest sink side of a minimum cut; ValueError where every cut is infinite."""
        first, last = self._number(source), self._number(sink)
        while (levels := self._levels(first))[last] >= 0:
            self._block(first, last, levels)
        reaching = self._reaching(last)
        return {node for node, number in self._numbers.items() if reaching[number]}

    def _levels(self, first: int) -> list[int]:
        levels = [-1] * len(self._edges)
        levels[first] = 0
        queue = deque([first])
        while queue:
            node = queue.popleft()
            for edge in self._edges[node]:
                if self._left[edge] > 0 and levels[self._heads[edge]] < 0:
                    levels[self._heads[edge]] = levels[node] + 1
                    queue.append(self._heads[edge])
        return levels

    def _block(self, first: int, last: int, levels: list[int]) -> None:
        """A blocking flow: paths along the levels until there is none, without recursion."""
        following = [0] * len(self._edges)
        path: list[int] = []
        node = first
        while True:
            if node == last:
                self._push(path)
                path, node = [], first
                continue
            edge = self._next(node, following, levels)
            if edge is not None:
                path.append(edge)
                node = self._heads[edge]
            elif path:
                node = self._heads[path.pop() ^ 1]
                following[node] += 1
            else:
                return

    def _next(self, node: int, following: list[int], levels: list[int]) -> int | None:
        """The node's next edge to the level after it."""
        while following[node] < len(self._edges[node]):
            edge = self._edges[node][following[node]]
            if self._left[edge] > 0 and levels[self._heads[edge]] == levels[node] + 1:
                return edge
            following[node] += 1
        return None

    def _push(self, path: list[int]) -> None:
        amount = min(self._left[edge] for edge in path)
        if amount == inf:
            raise ValueError("every cut is infinite")
        for edge in path:
            self._left[edge] -= amount
            self._left[edge ^ 1] += amount

    def _reaching(self, last: int) -> list[bool]:
        """Which nodes have a path to the sink that is not full."""
        found = [False] * len(self._edges)
        found[last] = True
        queue = deque([last])
        while queue:
            node = queue.popleft()
            for edge in self._edges[node]:
                tail = self._heads[edge]
                if self._left[edge ^ 1] > 0 and not found[tail]:
                    found[tail] = True
                    queue.append(tail)
        return found
