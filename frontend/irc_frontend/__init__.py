"""Lazy arrays on irc: numpy's names, recorded as an nd graph, compiled and run when a value is asked for.

    import irc_frontend as ir
    x = ir.Tensor(array)
    y = ir.softmax(x @ x.T)
    y.numpy()

`realize(a, b)` computes several by one program; `with target("cpu"):` chooses where. The same graph structure compiles
once. `@jit` makes a function of Tensors one program. `grad(f)` and `value_and_grad(f)` are the gradients of a function
of trees of arrays (docs/autodiff.md). `data.prefetch(batches)` copies batches to the device ahead of their use.
"""

import irc

if "IrcError" not in getattr(irc, "__all__", ()):
    raise ImportError(
        "the package `irc` here is not irc-compiler's: `pip uninstall irc` (Internet Relay Chat's), "
        "then `pip install --force-reinstall --no-deps irc-compiler`"
    )

from irc_frontend import (
    arrangement_functions,
    attention_functions,
    control_flow,
    custom_gradients,
    data,
    elementwise_functions,
    functions,
    gradients,
    indexing_functions,
    kernels,
    linalg,
    linear_functions,
    logic_functions,
    making_functions,
    packed_functions,
    product_operation,
    pytrees,
    reduction_functions,
    transforms,
    window_functions,
)
from irc_frontend.arrangement_functions import *  # noqa: F403
from irc_frontend.attention_functions import *  # noqa: F403
from irc_frontend.control_flow import *  # noqa: F403
from irc_frontend.custom_gradients import *  # noqa: F403
from irc_frontend.dims import Dim
from irc_frontend.elementwise_functions import *  # noqa: F403
from irc_frontend.evaluation import autotuned, sharing_gpu, target
from irc_frontend.functions import *  # noqa: F403
from irc_frontend.gradients import *  # noqa: F403
from irc_frontend.indexing_functions import *  # noqa: F403
from irc_frontend.jit import jit
from irc_frontend.kernels import *  # noqa: F403
from irc_frontend.linear_functions import *  # noqa: F403
from irc_frontend.logic_functions import *  # noqa: F403
from irc_frontend.making_functions import *  # noqa: F403
from irc_frontend.mesh import Mesh, Sharded, mesh, shard
from irc_frontend.packed_functions import *  # noqa: F403
from irc_frontend.product_operation import *  # noqa: F403
from irc_frontend.pytrees import *  # noqa: F403
from irc_frontend.reduction_functions import *  # noqa: F403
from irc_frontend.tensor import Tensor
from irc_frontend.transforms import *  # noqa: F403
from irc_frontend.window_functions import *  # noqa: F403

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    "Dim",
    "Mesh",
    "Sharded",
    "Tensor",
    "autotuned",
    "data",
    "jit",
    "linalg",
    "mesh",
    "shard",
    "sharing_gpu",
    "target",
    *arrangement_functions.__all__,
    *attention_functions.__all__,
    *control_flow.__all__,
    *custom_gradients.__all__,
    *elementwise_functions.__all__,
    *functions.__all__,
    *gradients.__all__,
    *indexing_functions.__all__,
    *kernels.__all__,
    *linear_functions.__all__,
    *logic_functions.__all__,
    *making_functions.__all__,
    *packed_functions.__all__,
    *product_operation.__all__,
    *pytrees.__all__,
    *reduction_functions.__all__,
    *transforms.__all__,
    *window_functions.__all__,
]
