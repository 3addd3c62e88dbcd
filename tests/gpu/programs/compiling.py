"""Compiling many programs at once, so that a test that runs one finds it on the disk."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from irc.compiler import compile_artifact
from irc.diagnostics import IrcError


def compile_ahead(texts: Sequence[str], arch: str) -> None:
    """Fills the on-disk cache from several processes. A program that fails to compile is left for its test."""
    workers = min(os.cpu_count() or 1, 16)
    if workers < 2 or len(texts) < 2 * workers:
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        for _ in pool.map(_compile, texts, [arch] * len(texts), chunksize=4):
            pass


def _compile(text: str, arch: str) -> str:
    try:
        compile_artifact(text, arch=arch)
    except IrcError as error:
        return error.message
    except Exception as error:
        return repr(error)
    return ""
