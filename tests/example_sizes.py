"""The examples at sizes that can be simulated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"

DIMS: Mapping[str, Mapping[str, int]] = {
    "attention": {"B": 1, "H": 2, "S": 64},
    "cross_entropy": {"B": 16, "C": 200},
    "cross_entropy_backward": {"B": 16, "C": 200},
    "gated_unit_step": {"B": 256, "H": 256},
    "gating": {"M": 256, "K": 128, "N": 256},
    "gelu_chain": {"M": 64, "N": 128},
    "heads": {"B": 1},
    "image": {"N": 2, "H": 24, "W": 40},
    "int4_product": {"M": 16, "N": 64, "K": 256},
    "layer_norm": {"M": 32},
    "layer_norm_backward": {"M": 32},
    "mixed_precision": {"M": 64, "N": 64, "K": 128},
    "mlp": {"B": 64, "D": 64},
    "packed": {"S": 128, "H": 2},
    "permute_2d": {"M": 256, "N": 192},
    "permute_3d": {"A": 16, "B": 64, "C": 64},
    "permute_5d": {"N": 2, "H": 32, "W": 32},
    "permute_heads": {"B": 2, "S": 64, "H": 4},
    "permute_nchw": {"N": 2, "H": 16, "W": 16},
    "reductions": {"A": 8, "B": 16, "C": 64},
    "resnet_block": {"N": 1, "H": 8, "W": 8},
    "rms_norm": {"M": 32},
    "rms_norm_backward": {"M": 32},
    "scaled_product": {"M": 128, "N": 128, "K": 256},
    "separable_block": {"N": 1, "H": 8, "W": 8, "C": 16, "E": 32},
    "softmax": {"M": 32},
    "softmax_backward": {"M": 32},
    "train_mlp": {"N": 64, "D": 64, "H": 128, "C": 64},
    "unet_block": {"N": 1, "H": 4, "W": 4, "C": 16},
}
"""Sizes at which a run takes about a second or less."""
