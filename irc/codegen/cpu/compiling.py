"""LLVM IR to machine code of this machine by llvmlite, cached on disk as cubins are."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from irc.codegen.cpu.float_products import Vectors
from irc.codegen.cpu.vector_functions import VectorFunction, vector_functions
from irc.support import cache as store
from irc.support.llvm import host, llvm, start

KIND = "objects"
"""The name of the entries' folder in the cache."""

TUNING = {"loop_vectorization": True, "slp_vectorization": True, "loop_interleaving": True, "loop_unrolling": False}
"""Of LLVM's pipeline. Unrolled, the loops over a row that follow each other would keep the row in registers that there
are not; vectors are interleaved without."""


@cache
def has_pairs() -> bool:
    """Whether this CPU multiplies pairs of bf16: AVX512-BF16, and masks of 16 bits."""
    features = llvm().get_host_cpu_features()
    return bool(features.get("avx512bf16") and features.get("avx512bw"))


@cache
def vectors() -> Vectors:
    """The vectors of this CPU. Those of ARM and of AVX-512 are 32 registers, others 16."""
    features = llvm().get_host_cpu_features()
    if features.get("avx512f"):
        return Vectors(64, 4)
    if features.get("avx"):
        return Vectors(32, 2)
    return Vectors(16, 4 if platform.machine().lower() in ("aarch64", "arm64") else 2)


@cache
def functions() -> Mapping[str, VectorFunction]:
    """The functions of the C library that there are on vectors of this CPU."""
    return vector_functions(llvm().get_host_cpu_features())


@cache
def _machine() -> Any:
    """The target machine: this CPU, with all that it has."""
    start()
    _, name, features = host()
    return (
        llvm()
        .Target.from_default_triple()
        .create_target_machine(
            cpu=name,
            features=features,
            opt=3,
            reloc="pic",
            codemodel="small",
            jit=True,
        )
    )


def assemble(texts: Sequence[str]) -> bytes:
    """An object file with all of these modules of LLVM IR."""
    key = store.key_of("object", host(), llvm().llvm_version_info, TUNING, list(texts))
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
