"""Trains a language model of transformers by zc: python huggingface.py

Needs torch, onnxscript and transformers. A model of the hub comes by
AutoModelForCausalLM.from_pretrained instead.
"""
import logging

import numpy as np
import torch
import zc
from transformers import AutoConfig, AutoModelForCausalLM

logging.getLogger("zc").setLevel(logging.INFO)
config = AutoConfig.for_model("gpt2", vocab_size=256, n_positions=64, n_embd=64,
                              n_layer=2, n_head=4, use_cache=False)
model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")

text = np.frombuffer(open(__file__, "rb").read(), np.uint8).astype(np.int64)
starts = np.random.default_rng(0).integers(0, len(text) - 65, (200, 8))
batches = [{"input_ids": np.stack([text[at:at + 64] for at in row]),
            "labels": np.stack([text[at + 1:at + 65] for at in row])}
           for row in starts]

zc.compile_torch(model, (torch.zeros(8, 64, dtype=torch.long),), "gpt2.zca",
                 input_names=["input_ids"], output_names=["logits"],
                 loss="softmax-cross-entropy", clip_norm=1.0)
with zc.Session("gpt2.zca") as session:
    session.learning_rate = 3e-3
    losses = session.train(batches)
    print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}")
    print("not copied:", zc.copy_to_torch(session, model))
with torch.no_grad():
    logits = model.eval()(torch.from_numpy(batches[0]["input_ids"])).logits
print("next bytes:", bytes(logits[0, -8:].argmax(-1).tolist()))
