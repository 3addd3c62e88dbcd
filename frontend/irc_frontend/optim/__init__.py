"""Optimizers, gradient clipping and schedules (docs/training.md).

An optimizer is constant, and its state a tree of Tensors beside the parameters, so that a step is a function:

    state = optimizer.init(params)
    params, state = optimizer.update(params, gradients, state)
"""

from irc_frontend.optim.adam import Adam, AdamW
from irc_frontend.optim.clipping import clip_by_global_norm, global_norm
from irc_frontend.optim.optimizer import Optimizer, State
from irc_frontend.optim.schedules import Schedule, cosine, warmup
from irc_frontend.optim.sgd import SGD

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "Optimizer",
    "Schedule",
    "State",
    "clip_by_global_norm",
    "cosine",
    "global_norm",
    "warmup",
]
