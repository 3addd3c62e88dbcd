"""Graphs of AOTAutograd that the next process need not trace: what torch's own cache of them (`AOTAutogradCache`) keeps
for irc.

torch's cache finds what AOTAutograd made by the graph that Dynamo traced, and keeps what is around the graphs of ATen
ops. irc keeps these graphs there, as they were before irc changed them, and compiles them as ever: its own cache knows
their programs. The key is irc's, since torch's has what its own code generator depends on, and loads all of that. Not
kept are graphs of dynamic shapes, with subclasses of tensors, with ops of which the graph does not say all, and those
that torch's cache refuses.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch._functorch import config
from torch._guards import detect_fake_mode
from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket
from torch._subclasses import FakeTensor, FakeTensorMode
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Graph, GraphModule
from torch.fx import Node as FxNode
from torch.fx.node import map_arg

from irc.driver.compiler import preferred_target
from irc.support.cache import cache_folder, source_digest
from irc_frontend.evaluation import current_target

try:
    from torch._functorch._aot_autograd import autograd_cache
    from torch._functorch._aot_autograd.schemas import SerializableAOTDispatchCompiler
    from torch._inductor.output_code import OutputCode
except ImportError:  # another torch
    autograd_cache = SerializableAOTDispatchCompiler = None
    OutputCode = object

FRONTEND = Path(__file__).parents[1]
"""irc's own source, beside that of the compiler."""

NAMESPACES = ("aten", "prims", "irc")
"""Of ops that do the same wherever they have the same name."""

MAX_CONSTANT_BYTES = 1 << 16
"""Of an array that a graph holds."""

Compile = Callable[..., Callable[[list[Any]], Any]]
"""The compiler of one graph: the graph, example inputs, its kind, the numbers of parameters and buffers among the
arguments, and how many results are for the user."""


class NotKept(Exception):
    """A graph that is not kept, and why."""


@dataclass(frozen=True)
class _Array:
    """A fake array: the number of its memory in the graph, and how it lies there."""

    memory: int
    nbytes: int
    dtype: torch.dtype
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    device: torch.device
    requires_grad: bool


@dataclass(frozen=True)
class _Line:
    """A node."""

    op: str
    name: str
    target: Any
    args: Any
    kwargs: Any
    value: Any
    trace: str | None
    custom: Any


class Snapshot:
    """A graph of ATen ops with its example inputs, as it is now, whatever is done to it later. NotKept where it cannot
    be made again from what is written down."""

    def __init__(self, module: GraphModule, inputs: Sequence[Any]):
        self._numbers = {node: number for number, node in enumerate(module.graph.nodes)}
        self._memories: dict[int, int] = {}
        self._alive: list[Any] = []
        self._lines = [self._line(node) for node in module.graph.nodes]
        self._inputs = [self._noted(each) for each in inputs]
        held = {node.target for node in module.graph.nodes if node.op == "get_attr"}
        self._held = {name: _constant(module, name) for name in sorted(held)}

    def content(self) -> bytes:
        """The snapshot as bytes."""
        stream = io.BytesIO()
        pickler = pickle.Pickler(stream, protocol=pickle.HIGHEST_PROTOCOL)
        pickler.dump((self._lines, self._inputs, self._held))
        return stream.getvalue()

    def _line(self, node: FxNode) -> _Line:
        target = node.target
        if node.op == "call_function":
            target = _written_target(target)
        elif node.op not in ("placeholder", "get_attr", "output"):
            raise NotKept(f"it has a node of kind {node.op}")
        args, kwargs = map_arg((node.args, node.kwargs), self._place)
        custom = node.meta.get("custom")
        value = self._noted(node.meta.get("val"))
        return _Line(node.op, node.name, target, args, kwargs, value, node.meta.get("stack_trace"), custom)

    def _place(self, node: FxNode) -> Any:
        return _Place(self._numbers[node])

    def _noted(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._array(value)
        if type(value) in (list, tuple):
            return type(value)(map(self._noted, value))
        if value is None or type(value) in (bool, int, float, complex, str):
            return value
        raise NotKept(f"it has a value of type {type(value).__name__}")

    def _array(self, x: torch.Tensor) -> _Array:
        if not is_plain(x):
            raise NotKept("it has an array of a kind of its own")
        storage = x.untyped_storage()
        self._alive.append(storage)  # so that no other gets its address
        memory = self._memories.setdefault(storage._cdata, len(self._memories))  # pyright: ignore[reportPrivateUsage]
        shape, stride, offset = tuple(x.shape), tuple(x.stride()), x.storage_offset()
        nbytes: Any = storage.nbytes()
        if not all(type(each) is int for each in (*shape, *stride, offset, nbytes)):
            raise NotKept("its shapes are dynamic")
        return _Array(memory, nbytes, x.dtype, shape, stride, int(offset), x.device, x.requires_grad)


@dataclass(frozen=True)
class _Place:
    """The number of a node, as an argument of another."""

    number: int


@dataclass(frozen=True)
class _Op:
    """An op of torch's by its name."""

    namespace: str
    name: str
    overload: str


def _written_target(target: Any) -> Any:
    if isinstance(target, OpOverload):
        if (why := why_not_known(target)) is not None:
            raise NotKept(why)
        namespace, _, name = target._schema.name.partition("::")  # pyright: ignore[reportPrivateUsage]
        return _Op(namespace, name, target._overloadname)  # pyright: ignore[reportPrivateUsage]
    if getattr(target, "__module__", None) in ("_operator", "builtins", "math"):
        return target
    raise NotKept(f"it calls {target}")


def why_not_known(op: OpOverload) -> str | None:
    """Why a graph does not say all about a call of an op; None where it does."""
    namespace, _, name = op._schema.name.partition("::")  # pyright: ignore[reportPrivateUsage]
    if namespace not in NAMESPACES:
        return f"it calls {op}, an op of the user"
    return "it calls a kernel of the user" if (namespace, name[:6]) == ("irc", "kernel") else None


def _constant(module: GraphModule, name: Any) -> torch.Tensor:
    value: Any = getattr(module, str(name), None)
    is_known = isinstance(value, torch.Tensor) and type(value) is torch.Tensor and is_plain(value)
    if not is_known or value.device.type != "cpu" or value.nbytes > MAX_CONSTANT_BYTES:
        raise NotKept("it holds something else than a small array")
    with unset_fake_temporarily():  # AOTAutograd compiles within a mode that refuses an array of numbers
        return value.detach().clone()


def is_plain(x: torch.Tensor) -> bool:
    """Whether memory, type, shape and strides say all of an array."""
    is_known = type(x) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer, FakeTensor)
    return is_known and x.layout == torch.strided and not (x.is_nested or x.is_quantized or x.is_conj() or x.is_neg())


def restored(content: bytes, mode: FakeTensorMode) -> tuple[GraphModule, list[Any]]:
    """The graph and the example inputs of a snapshot, whose arrays are fakes of this mode."""
    lines, inputs, held = pickle.loads(content)
    value_of = partial(_value, mode=mode, memories={})
    graph, nodes = Graph(), list[FxNode]()
    for line in lines:
        target = line.target
        if isinstance(target, _Op):
            target = getattr(getattr(getattr(torch.ops, target.namespace), target.name), target.overload)
        args, kwargs = _with_nodes(line.args, nodes), _with_nodes(line.kwargs, nodes)
        node = graph.create_node(line.op, target, args, kwargs, line.name)
        for key, meta in (("val", value_of(line.value)), ("stack_trace", line.trace), ("custom", line.custom)):
            if meta is not None:
                node.meta[key] = meta
        nodes.append(node)
    root = torch.nn.Module()
    for name, value in held.items():
        root.register_buffer(name, value)
    return GraphModule(root, graph), [value_of(each) for each in inputs]


def _with_nodes(value: Any, nodes: Sequence[FxNode]) -> Any:
    if isinstance(value, _Place):
        return nodes[value.number]
    if isinstance(value, dict):
        return {key: _with_nodes(each, nodes) for key, each in value.items()}
    if isinstance(value, slice):
        return slice(*(_with_nodes(each, nodes) for each in (value.start, value.stop, value.step)))
    if isinstance(value, torch.Size) or not isinstance(value, list | tuple):
        return value
    found = [_with_nodes(each, nodes) for each in value]
    return found if isinstance(value, list) else tuple(found)


def _value(value: Any, mode: FakeTensorMode, memories: dict[int, Any]) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_value(each, mode, memories) for each in value)
    if not isinstance(value, _Array):
        return value
    if value.memory not in memories:
        memories[value.memory] = torch.empty(value.nbytes, dtype=torch.uint8, device="meta").untyped_storage()
    array = torch.empty(0, dtype=value.dtype, device="meta")
    array.set_(memories[value.memory], value.offset, value.shape, value.stride)
    return FakeTensor(mode, array.requires_grad_(value.requires_grad), value.device)


class KeptGraph(OutputCode):  # pyright: ignore[reportGeneralTypeIssues, reportUntypedBaseClass]
    """A compiled graph of AOTAutograd that torch's cache can keep: it keeps the graph, which is compiled again."""

    def __init__(self, run: Any, snapshot: Snapshot | None, compile: Compile, *said: Any):
        super().__init__()
        self._boxed_call = True  # it takes a list; what torch wraps it in looks at what the instance has
        self._run, self._snapshot, self._content = run, snapshot, b""
        self._compile, self._said = compile, said

    def __call__(self, inputs: Any) -> Any:
        run: Any = self._run
        return run(inputs)

    def prepare_for_serialization(self) -> None:
        """Torch calls it on a copy that is to be written to the disk."""
        if self._snapshot is None:
            raise _bypass("irc does not keep this graph")
        self._content, self._run, self._snapshot = self._snapshot.content(), None, None

    def post_compile(self, example_inputs: Any, constants: Any, graph_kwargs: Any) -> None:
        """Torch calls it on what comes from the disk."""
        if self._run is not None:
            return
        mode = detect_fake_mode(example_inputs)
        if mode is None:
            raise NotKept("there is no array among the arguments")
        module, inputs = restored(self._content, mode)
        self._run = self._compile(module, inputs, *self._said)

    def set_triton_bundle(self, triton_bundle: Any) -> None:
        """Irc has none."""


def kept_compiler(compiler: Callable[..., KeptGraph]) -> Any:
    """The compiler as one of whose results torch's cache knows that it can keep them."""
    made: Any = SerializableAOTDispatchCompiler
    return made(KeptGraph, compiler)


def why_not_kept(module: GraphModule, inputs: Sequence[Any]) -> str | None:
    """Why what AOTAutograd makes of a graph of torch's functions is not looked for in torch's cache, which refuses
    graphs on its own; None where it is."""
    if os.environ.get("IRC_KEPT_GRAPHS") == "off":
        return "IRC_KEPT_GRAPHS is off"
    if not _has_cache():
        return "this torch has no such cache"
    if cache_folder() is None:
        return "caches are off"
    if not any(isinstance(x, torch.Tensor) for x in inputs):
        return "there is no array among the arguments"
    if not all(isinstance(x, torch.Tensor) and is_plain(x) and _is_static(x) for x in inputs):
        return "its arguments are not all plain arrays of known shapes"
    if hasattr(module, "saved_tensors_hooks_pack_0"):
        return "there are hooks of what is kept for the backward graph"
    if torch._C._len_torch_dispatch_stack() > 0 or torch._C._len_torch_function_stack() > 0:  # pyright: ignore[reportPrivateUsage]
        return "there is a mode of the user's"
    return next((why for node in module.graph.nodes if (why := _why_not_said(node)) is not None), None)


def _is_static(x: torch.Tensor) -> bool:
    return all(type(each) is int for each in (*x.shape, *x.stride(), x.storage_offset()))


def _why_not_said(node: FxNode) -> str | None:
    """Why a node of a graph of torch's functions does not say all that it does."""
    if node.op not in ("placeholder", "call_function", "call_method", "output"):
        return "it holds something"
    target: Any = node.target
    if isinstance(target, HigherOrderOperator):
        return f"it calls {target}"
    ops = [target] if isinstance(target, OpOverload) else []
    if isinstance(target, OpOverloadPacket):
        ops = [getattr(target, name) for name in target.overloads()]
    return next((why for op in ops if (why := why_not_known(op)) is not None), None)


@cache
def _has_cache() -> bool:
    """Whether this torch has the cache as irc uses it; its keys are irc's then, where `keyed` says so."""
    needed = ("autograd_cache_key", "sanitize_gm_for_cache", "check_cacheable", "AOTAutogradCachePickler")
    if autograd_cache is None or not all(hasattr(autograd_cache, name) for name in needed):
        return False
    if not hasattr(config, "bundled_autograd_cache"):
        return False
    of_torch: Any = autograd_cache.autograd_cache_key

    def key(module: Any, inputs: Any, aot_config: Any, *others: Any, **options: Any) -> Any:
        of_irc = _of_irc.get()
        if of_irc is None:
            return of_torch(module, inputs, aot_config, *others, **options)
        return _key(module, inputs, aot_config, of_irc), []

    autograd_cache.autograd_cache_key = key
    return True


_of_irc: ContextVar[str | None] = ContextVar("irc's part of a key", default=None)


@contextmanager
def keyed(module: GraphModule, inputs: Sequence[Any], *options: object) -> Generator[None]:
    """Within the block torch's cache keeps graphs by keys of irc's."""
    said = [(node.meta.get("stack_trace"), node.meta.get("custom")) for node in module.graph.nodes]
    token = _of_irc.set(repr((_state(inputs), options, said)))
    try:
        with config.patch(bundled_autograd_cache=True):  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            yield
    finally:
        _of_irc.reset(token)


def _key(module: GraphModule, inputs: Sequence[Any], aot_config: Any, of_irc: str) -> str:
    """What torch's cache finds an entry by: the graph's code, what is known of its arguments, and `of_irc`."""
    assert autograd_cache is not None
    with autograd_cache.sanitize_gm_for_cache(module):
        autograd_cache.check_cacheable(module)
        known = (of_irc, module, list(inputs), aot_config, config.save_config())  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]
        return f"irc{autograd_cache.AOTAutogradCachePickler(module).get_hash(known)}"


def _state(inputs: Sequence[Any]) -> object:
    """What the graph and its arguments do not say: irc, and what tracing asks torch for."""
    memories: dict[int, int] = {}
    shared = [memories.setdefault(x.untyped_storage()._cdata, len(memories)) for x in inputs]  # pyright: ignore[reportPrivateUsage]
    offsets = [x.storage_offset() for x in inputs] if len(memories) < len(inputs) else []
    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    attention = [getattr(cuda, f"{name}_sdp_enabled", bool)() for name in ("flash", "mem_efficient", "math", "cudnn")]
    devices = sorted({x.device for x in inputs}, key=str)
    kinds = sorted({"cpu", *(device.type for device in devices)})
    return (
        (torch.__version__, torch.version.cuda, torch.get_num_threads(), source_digest(), _frontend_digest()),
        (current_target() or preferred_target(), [_device(each) for each in devices]),
        (shared, offsets, [x.is_inference() for x in inputs]),
        [(each, torch.is_autocast_enabled(each), torch.get_autocast_dtype(each)) for each in kinds],
        (attention, cudnn.enabled, cudnn.benchmark, cudnn.deterministic, torch.backends.mkldnn.enabled),  # pyright: ignore[reportAttributeAccessIssue]
        (torch.backends.mha.get_fastpath_enabled(), str(torch.get_default_device()), torch.get_default_dtype()),
        (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()),
        (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_float32_matmul_precision()),
    )


def _device(device: torch.device) -> tuple[object, ...]:
    if device.type != "cuda":
        return (str(device),)
    found = torch.cuda.get_device_properties(device)
    return str(device), found.name, found.major, found.minor, found.multi_processor_count


@cache
def _frontend_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(FRONTEND.rglob("*.py")):
        digest.update(str(path.relative_to(FRONTEND)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _bypass(why: str) -> Exception:
    """What torch takes for a graph that is not to be kept, without a warning."""
    found: Any = getattr(autograd_cache, "BypassAOTAutogradCache", NotKept)
    return found(why)


def snapshot_of(module: GraphModule, inputs: Sequence[Any]) -> Snapshot | None:
    """The snapshot of a graph; None where it is not kept."""
    try:
        return Snapshot(module, inputs)
    except NotKept:
        return None
