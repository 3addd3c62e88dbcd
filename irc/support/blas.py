"""BLAS as scipy brings it: the addresses of its products, and how many threads one of them takes."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any


@cache
def products() -> Mapping[str, int]:
    """The addresses of `sgemm` and `dgemm`, with BLAS's Fortran interface and numbers of 32 bits."""
    from scipy.linalg import cython_blas  # pyright: ignore[reportAttributeAccessIssue]

    capsules: Any = cython_blas.__pyx_capi__
    pointer, name = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_GetName
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return {each: pointer(capsules[each], name(capsules[each])) for each in ("sgemm", "dgemm")}


@cache
def _library() -> Any | None:
    """scipy's own OpenBLAS; None where it has another BLAS."""
    import scipy

    folder = Path(scipy.__file__).parents[1] / "scipy.libs"
    for path in folder.glob("libscipy_openblas*"):
        library = ctypes.CDLL(str(path))
        if hasattr(library, "scipy_openblas_set_num_threads"):
            return library
    return None


_lock = threading.Lock()
_inside = 0
_before = 1


@contextmanager
def single_threaded() -> Generator[None]:
    """A product inside takes one thread: tiles are what threads share."""
    global _inside, _before
    library = _library()
    if library is None:
        yield
        return
    with _lock:
        _inside += 1
        if _inside == 1:
            _before = library.scipy_openblas_get_num_threads()
            library.scipy_openblas_set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                library.scipy_openblas_set_num_threads(_before)
