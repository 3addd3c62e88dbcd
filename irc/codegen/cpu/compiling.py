"""LLVM IR to machine code of this machine by llvmlite, cached on disk as cubins are."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from ctypes.util import find_library
from functools import cache
from itertools import count
from typing import Any

from irc.codegen.cpu.vector_functions import LIBRARY, VectorFunction, vector_functions
from irc.support import cache as store
from irc.support.blas import products
from irc.support.diagnostics import IrcError

KIND = "objects"
"""The name of the entries' folder in the cache."""

TUNING = {"loop_vectorization": True, "slp_vectorization": True, "loop_interleaving": True, "loop_unrolling": False}
"""Of LLVM's pipeline. Unrolled, the loops over a row that follow each other would keep the row in registers that there
are not; vectors are interleaved without."""


def llvm() -> Any:
    """llvmlite's binding; IrcError where it is not installed."""
    try:
        import llvmlite.binding as binding
    except ImportError as error:
        raise IrcError("the target cpu needs llvmlite", hint="pip install llvmlite, or the target interpret") from error
    return binding


@cache
def has_pairs() -> bool:
    """Whether this CPU multiplies pairs of bf16: AVX512-BF16, and masks of 16 bits."""
    features = llvm().get_host_cpu_features()
    return bool(features.get("avx512bf16") and features.get("avx512bw"))


@cache
def functions() -> Mapping[str, VectorFunction]:
    """The functions of the C library that there are on vectors of this CPU."""
    return vector_functions(llvm().get_host_cpu_features())


@cache
def _machine() -> Any:
    """The target machine: this CPU, with all that it has."""
    binding = llvm()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="small",
        jit=True,
    )


def assemble(texts: Sequence[str]) -> bytes:
    """An object file with all of these modules of LLVM IR."""
    binding = llvm()
    host = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten(), binding.llvm_version_info
    key = store.key_of("object", host, TUNING, list(texts))
    if (found := store.read(KIND, key)) is not None:
        return found
    machine = _machine()
    content = machine.emit_object(_optimized(texts, machine))
    store.write(KIND, key, content)
    return content


def assembly(texts: Sequence[str]) -> str:
    """The machine code of all of these modules, as text."""
    machine = _machine()
    return machine.emit_assembly(_optimized(texts, machine))


def _optimized(texts: Sequence[str], machine: Any) -> Any:
    """One module of LLVM with all texts."""
    binding = llvm()
    module: Any = None
    for text in texts:
        each = binding.parse_assembly(text)
        each.triple, each.data_layout = machine.triple, str(machine.target_data)
        if module is None:
            module = each
        else:
            module.link_in(each)
    options = binding.create_pipeline_tuning_options(speed_level=3)
    for name, value in TUNING.items():
        setattr(options, name, value)
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


class Loaded:
    """Kernels in memory, by name, as long as this lives."""

    def __init__(self, content: bytes, names: Sequence[str], *, multiplies: bool):
        """`multiplies`: whether a kernel calls BLAS, which takes long to import."""
        library = llvm().JITLibraryBuilder().add_object_img(content).add_current_process()
        for name in names:
            library.export_symbol(name)
        for name, address in products().items() if multiplies else ():
            library.import_symbol(f"irc_{name}", address)
        self._addresses = library.link(_linker(), f"kernels{next(_NUMBERS)}")

    def address(self, name: str) -> int:
        return self._addresses[name]


_NUMBERS = count()
"""Of libraries of kernels: their names in the linker."""


@cache
def _linker() -> Any:
    """LLVM's linker in memory. JITLink places all sections of an object in one block: they reach each other by 32 bits,
    and a process whose addresses a GPU's driver has cut into pieces has no room for them side by side otherwise."""
    _machine()
    _give_functions()
    return llvm().create_lljit_compiler(use_jit_link=True)


def _give_functions() -> None:
    """The C library's functions, which kernels call. On Linux their library is named: `find_library` starts a
    process."""
    llvm().load_library_permanently("libm.so.6" if platform.system() == "Linux" else find_library("m"))
    if functions():
        llvm().load_library_permanently(LIBRARY)
