"""Small models with random weights, made from the configurations of transformers, timm and torchvision. A test of one
is skipped where its library is missing or does not load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

Made = tuple[nn.Module, tuple[torch.Tensor, ...]]


def library(name: str) -> Any:
    """The module, or a skipped test. torchvision's wheel for CUDA names ops when it is imported that it has not with a
    torch for the CPU: they get a name alone."""
    if torch.version.cuda is None and not hasattr(torch.ops.torchvision, "nms"):
        for op in ("nms", "qnms"):
            torch.library.define(f"torchvision::{op}", "(Tensor dets, Tensor scores, float threshold) -> Tensor")
    return pytest.importorskip(name, exc_type=ImportError)


def _tokens() -> tuple[torch.Tensor, ...]:
    return (torch.randint(0, 128, (2, 16)),)


def _image() -> tuple[torch.Tensor, ...]:
    return (torch.randn(2, 3, 32, 32),)


def gpt2() -> Made:
    lib = library("transformers")
    sizes = {"n_layer": 2, "n_embd": 64, "n_head": 4, "vocab_size": 128, "n_positions": 16}
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    config = lib.GPT2Config(**sizes, **ends, use_cache=False, attn_pdrop=0.0)  # irc draws what is not eager's
    return lib.GPT2LMHeadModel(config), _tokens()


def bert() -> Made:
    lib = library("transformers")
    sizes = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128}
    others = {"vocab_size": 128, "max_position_embeddings": 16, "attention_probs_dropout_prob": 0.0}
    return lib.BertModel(lib.BertConfig(**sizes, **others)), _tokens()


def llama() -> Made:
    lib = library("transformers")
    sizes = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = lib.LlamaConfig(**sizes, intermediate_size=96, vocab_size=128, use_cache=False)
    return lib.LlamaForCausalLM(config), _tokens()


def vit() -> Made:
    lib = library("transformers")
    sizes = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128}
    return lib.ViTModel(lib.ViTConfig(**sizes, image_size=32, patch_size=8)), _image()


def mistral() -> Made:
    """With a window of fewer tokens than there are."""
    lib = library("transformers")
    sizes = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = lib.MistralConfig(**sizes, intermediate_size=96, vocab_size=128, use_cache=False, sliding_window=6)
    return lib.MistralForCausalLM(config), _tokens()


def whisper() -> Made:
    lib = library("transformers")
    sides = {f"{side}_{name}": n for side in ("encoder", "decoder") for name, n in _WHISPER.items()}
    sizes = {"d_model": 64, "num_mel_bins": 8, "max_source_positions": 20, "max_target_positions": 16}
    tokens = {"vocab_size": 128, "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0, "decoder_start_token_id": 1}
    model = lib.WhisperModel(lib.WhisperConfig(**sides, **sizes, **tokens, use_cache=False))
    return _Whisper(model), (torch.randn(2, 8, 40), *_tokens())


_WHISPER = {"layers": 2, "attention_heads": 4, "ffn_dim": 96}


class _Whisper(nn.Module):
    """Takes its two inputs by place."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, sound: torch.Tensor, tokens: torch.Tensor) -> Any:
        return self.model(sound, decoder_input_ids=tokens)


def mixer() -> Made:
    """With a head that gives something: it begins as zeros."""
    lib = library("timm.models.mlp_mixer")
    model = lib.MlpMixer(img_size=32, patch_size=8, num_blocks=2, embed_dim=32, num_classes=10)
    nn.init.normal_(model.head.weight, std=0.02)
    return model, _image()


def resnet18() -> Made:
    return resnet("resnet18")


def resnet(name: str) -> Made:
    """With norms that change numbers: those that it begins with only decide how ties are rounded."""
    model = getattr(library("torchvision").models, name)(num_classes=10)
    for norm in model.modules():
        if isinstance(norm, nn.BatchNorm2d):
            mean, var = norm.get_buffer("running_mean"), norm.get_buffer("running_var")
            nn.init.normal_(mean, std=0.1)
            nn.init.uniform_(var, 0.5, 2.0)
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            nn.init.normal_(norm.bias, std=0.1)
    return model, _image()


MODELS: dict[str, Callable[[], Made]] = {
    "gpt2": gpt2,
    "bert": bert,
    "llama": llama,
    "mistral": mistral,
    "whisper": whisper,
    "vit": vit,
    "mixer": mixer,
    "resnet18": resnet18,
}


def first_tensor(result: Any) -> torch.Tensor:
    """The result of a model: a tensor, or the first of a dictionary of them."""
    return result if isinstance(result, torch.Tensor) else next(iter(result.values()))
