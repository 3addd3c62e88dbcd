"""Compiling many programs at once, so that a test that runs one finds it on the disk."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress

from irc.driver.compiler import compile_artifact
from irc.support.cache import cache_folder

MAX_WORKERS = 16


def compile_ahead(texts: Sequence[str], arch: str) -> None:
    """Fills the on-disk cache from several processes. A program that does not compile is left for its own test, as all
    are where there is no cache, where there can be no processes, or where pytest's own share the tests."""
    workers = min(os.cpu_count() or 1, MAX_WORKERS)
    is_shared = "PYTEST_XDIST_WORKER" in os.environ
    if is_shared or cache_folder() is None or workers < 2 or len(texts) < 2 * workers:
        return
    with (
        suppress(OSError, BrokenProcessPool),
        ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool,
    ):
        for _ in pool.map(_compile, texts, [arch] * len(texts), chunksize=4):
            pass


def _compile(text: str, arch: str) -> None:
    with suppress(Exception):
        compile_artifact(text, arch=arch)
