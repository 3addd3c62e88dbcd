"""Layers, losses and checkpoints (docs/training.md).

A layer says what is computed, and is constant: a frozen dataclass. Its parameters are a tree of Tensors beside it, so
that gradients, optimizers and checkpoints see plain trees:

    model = Mlp(nn.Linear(64, 32), nn.Linear(32, 10))
    params = model.init(seed=0)
    scores = model(params, x)
"""

from irc_frontend.nn.attention import MultiHeadAttention
from irc_frontend.nn.checkpoint import load, save
from irc_frontend.nn.convolution import Conv, ConvTranspose
from irc_frontend.nn.dropout import Dropout
from irc_frontend.nn.experts import MixtureOfExperts
from irc_frontend.nn.layer import Layer, Params
from irc_frontend.nn.linear import Embedding, Linear
from irc_frontend.nn.losses import accuracy, cross_entropy, mse
from irc_frontend.nn.norms import Batch, BatchNorm, GroupNorm, LayerNorm, RMSNorm
from irc_frontend.nn.pools import AvgPool, MaxPool
from irc_frontend.nn.seeds import fold
from irc_frontend.nn.transformer import TransformerBlock

__all__ = [
    "AvgPool",
    "Batch",
    "BatchNorm",
    "Conv",
    "ConvTranspose",
    "Dropout",
    "Embedding",
    "GroupNorm",
    "Layer",
    "LayerNorm",
    "Linear",
    "MaxPool",
    "MixtureOfExperts",
    "MultiHeadAttention",
    "Params",
    "RMSNorm",
    "TransformerBlock",
    "accuracy",
    "cross_entropy",
    "fold",
    "load",
    "mse",
    "save",
]
