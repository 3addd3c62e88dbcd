"""Batches on their way to the device."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from irc.runtime.driver import device
from irc.support.diagnostics import IrcError
from irc_frontend.evaluation import on_gpu
from irc_frontend.pytrees import rebuilt, tree_leaves

if TYPE_CHECKING:
    from irc.runtime.feed import Feed

__all__ = ["prefetch"]

Sent = tuple[Any, Any]
"""A tree of arrays of the device, and the event behind which they are there."""


def prefetch(batches: Iterable[Any], depth: int = 2, *, stream: Any | None = None) -> Generator[Any]:
    """The batches, trees of numpy arrays, as trees of arrays of the device, up to `depth` of them copied ahead.

    They are copied through pinned memory on a stream of their own, while what was enqueued for the batches before runs;
    the arrays of a batch may be changed once the next one was asked for. Work on `stream` (by default the device's
    default stream) that is enqueued after a batch was given waits for its copy. On other targets than `cuda`, batches
    are given as they are. IrcError where depth is less than one, or a batch has arrays that irc does not have.
    """
    if depth < 1:
        raise IrcError(f"prefetch: expected a depth of one or more, found {depth}")
    if not on_gpu():
        yield from batches
        return
    from irc.runtime.dlpack import LEGACY_STREAM
    from irc.runtime.feed import Feed
    from irc.runtime.libraries import stream_handle

    on = device()
    on.use()
    feed = Feed(on, depth)
    handle = LEGACY_STREAM if stream is None else stream_handle(stream)
    try:
        yield from _fed(batches, depth, feed, handle)
    finally:
        feed.close()


def _fed(batches: Iterable[Any], depth: int, feed: Feed, handle: int) -> Generator[Any]:
    source = iter(batches)
    ahead: deque[Sent] = deque()
    while True:
        while len(ahead) < depth and (batch := next(source, None)) is not None:
            arrays, event = feed.send([np.asarray(leaf) for leaf in tree_leaves(batch)])
            ahead.append((rebuilt(batch, iter(arrays)), event))
        if not ahead:
            return
        tree, event = ahead.popleft()
        feed.arrived(event, handle)
        yield tree
