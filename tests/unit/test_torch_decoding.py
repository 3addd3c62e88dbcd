"""Steps of decoding with a static cache."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch_models import library

from irc_frontend.torch import backend
from irc_frontend.torch.graphs import Compiled, watching
from irc_tools.bench.suite import load_suite
from irc_tools.bench.torch_steps import body_function

SMALL = {"layers": 2, "width": 32, "heads": 4, "groups": 2, "inner": 48, "words": 64, "length": 8, "batch": 2}


def test_the_model_of_the_suite_decodes_as_eager() -> None:
    """Several words, each of which sees those before it; one compilation serves them."""
    row = load_suite("decode").rows[0]
    torch.manual_seed(0)
    model, (token, _) = body_function(row.name, row.model, list(SMALL), {"torch": torch})(**SMALL)
    twin, seen = copy.deepcopy(model), list[Compiled]()
    torch._dynamo.reset()
    run = torch.compile(model, backend=backend, dynamic=False, fullgraph=True)
    with torch.no_grad(), watching(lambda _, compiled: seen.append(compiled)):
        for place in (3, 4, 7):
            given = (token + place) % SMALL["words"], torch.tensor([place])
            torch.testing.assert_close(run(*given), twin(*given), rtol=1e-4, atol=1e-4)
    for (name, found), wanted in zip(model.named_buffers(), twin.buffers(), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4, msg=name)
    assert len(seen) == 1 and not seen[0].division.reasons


def test_generate_compiles_a_bounded_number_of_programs() -> None:
    """transformers calls its model for the prompt, and then for each word with the cache."""
    lib: Any = library("transformers")
    torch.manual_seed(0)
    sizes = {"num_hidden_layers": 1, "hidden_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1}
    ends = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}
    model = lib.LlamaForCausalLM(lib.LlamaConfig(**sizes, **ends, intermediate_size=48, vocab_size=64)).eval()
    prompt, seen = torch.randint(1, 64, (1, 5)), list[Compiled]()
    options = {"do_sample": False, "cache_implementation": "static", "disable_compile": True}
    wanted = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=8, **options)
    torch._dynamo.reset()
    model.forward = torch.compile(model.forward, backend=backend, dynamic=False)
    with watching(lambda _, compiled: seen.append(compiled)):
        found = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=8, **options)
        graphs = len(seen)
        model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=8, **options)
    assert found.tolist() == wanted.tolist()
    assert graphs <= 4 and len(seen) == graphs
