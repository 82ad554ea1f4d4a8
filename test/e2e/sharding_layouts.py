"""Layouts of models over ranks, for sharding_test."""
from zctest import FIXTURES

SGD = ["--optimizer", "sgd", "--momentum", "0.9"]
MSE = ["--loss", "mse", *SGD]
ODD = ["--dim", "batch=12", "--loss", "softmax-cross-entropy", *SGD]
ADAFACTOR = ["--optimizer", "adafactor"]
SM3 = ["--optimizer", "sm3", "--momentum", "0.9"]
DROPPED = FIXTURES / "options" / "dropped.onnx"

# name: (model, or how attention_model makes it; options, options of the mesh)
LAYOUTS = {
    "mlp": ("mlp", ODD, ["--mesh", "dp=3"]),
    "mlp-accumulated": ("mlp", [*ODD, "--accumulate", "2", "--clip-norm", "1"],
                        ["--mesh", "dp=2"]),
    "cnn": ("cnn", None, ["--mesh", "dp=4"]),
    "gpt": ("gpt", None, ["--mesh", "dp=2"]),
    "zero-1": ("mlp", ODD, ["--mesh", "dp=4", "--zero", "1"]),
    "zero-2": ("mlp", [*ODD, "--accumulate", "2", "--clip-norm", "1"],
               ["--mesh", "dp=3", "--zero", "2", "--unit", "4096"]),
    "zero-3": ("gpt", None, ["--mesh", "dp=4", "--zero", "3", "--unit",
                             "layer"]),
    "zero-3-cnn": ("cnn", None, ["--mesh", "dp=2", "--zero", "3"]),
    "zero-hybrid": ("mlp", ODD, ["--mesh", "dp=4", "--zero", "3",
                                 "--zero-group", "2", "--reshard-last"]),
    "tp": ("mlp", ODD, ["--mesh", "dp=3,tp=2"]),
    "tp-clipped": ("mlp", [*ODD, "--accumulate", "2", "--clip-norm", "0.1"],
                   ["--mesh", "tp=4"]),
    "tp-padded": ("mlp", [*ODD, "--clip-norm", "0.1"],
                  ["--mesh", "tp=4", "--shard", "6.weight=tp,-", "--shard",
                   "6.bias=tp"]),
    "tp-padded-zero": ("mlp", ODD, ["--mesh", "dp=2,tp=4", "--zero", "3",
                                    "--shard", "6.weight=tp,-"]),
    "tp-gpt": ("gpt", None, ["--mesh", "dp=2,tp=2"]),
    "tp-llama": ("llama", None, ["--mesh", "tp=2"]),
    "tp-cnn": ("cnn", None, ["--mesh", "dp=2,tp=2"]),
    "tp-mobilenet": ("mobilenet", None, ["--mesh", "tp=2"]),
    # Weights that tp divides lie in units of their shares.
    "tp-zero-1": ("mlp", [*ODD, "--clip-norm", "0.1"],
                  ["--mesh", "dp=3,tp=2", "--zero", "1"]),
    "tp-zero-2": ("mlp", [*ODD, "--accumulate", "2"],
                  ["--mesh", "dp=2,tp=2", "--zero", "2", "--bucket-mib",
                   "0.01"]),
    "tp-zero-3": ("gpt", None, ["--mesh", "dp=2,tp=2", "--zero", "3",
                                "--unit", "layer"]),
    # Every gradient by itself, and all together; others in what is usual.
    "alone": ("mlp", ODD, ["--mesh", "dp=2", "--bucket-mib", "0"]),
    "together": ("gpt", None, ["--mesh", "dp=2", "--bucket-mib", "100"]),
    # The whole program has them too, from its mesh.
    "local-statistics": ("cnn", ["--loss", "softmax-cross-entropy", *SGD,
                                 "--mesh", "dp=4", "--batchnorm-stats",
                                 "local"], []),
    "dropout": (DROPPED, ["--loss", "softmax-cross-entropy", *SGD],
                ["--mesh", "dp=2"]),
    # Rows and columns: ZeRO divides a dim of each parameter.
    "zero-1-adafactor": ("mlp", [*ODD[:4], *ADAFACTOR],
                         ["--mesh", "dp=2", "--zero", "1"]),
    "zero-2-adafactor": ("mlp", [*ODD[:4], *ADAFACTOR, "--accumulate", "2",
                                 "--clip-norm", "0.1"],
                         ["--mesh", "dp=3,tp=2", "--zero", "2"]),
    "zero-3-adafactor": ("llama", ["--loss", "softmax-cross-entropy",
                                   *ADAFACTOR],
                         ["--mesh", "dp=2", "--zero", "3"]),
    "zero-3-sm3": ("gpt", ["--loss", "softmax-cross-entropy", *SM3],
                   ["--mesh", "dp=2,tp=2", "--zero", "3"]),
    "zero-2-sm3": ("mlp", [*ODD[:4], *SM3, "--clip-norm", "0.1"],
                   ["--mesh", "dp=4", "--zero", "2", "--zero-group", "2"]),
    # Tokens: heads are divided instead, or attention gathers.
    "sp-gpt": ("gpt", None, ["--mesh", "sp=2"]),
    "sp-zero-3": ("gpt", None, ["--mesh", "dp=2,sp=2", "--zero", "3",
                                "--unit", "layer"]),
    "sp-llama": ("llama", None, ["--mesh", "sp=2,tp=2"]),
    "sp-bert": ("bert", None, ["--mesh", "sp=4", "--zero", "1"]),
    # Or keys and values go round, masks over them too, or are gathered.
    "sp-ring": ("gpt", None, ["--mesh", "sp=4", "--sp-attention", "ring"]),
    "sp-ring-2": ("llama", None, ["--mesh", "tp=2,sp=2", "--sp-attention",
                                  "ring=zigzag", "--zero", "3"]),
    "sp-contiguous": ("gpt", None, ["--mesh", "dp=2,sp=2", "--sp-attention",
                                    "ring=contiguous"]),
    "sp-ring-mask": ("bert", None, ["--mesh", "sp=3", "--sp-attention",
                                    "ring"]),
    "sp-gather": ("gpt", None, ["--mesh", "sp=2", "--sp-attention",
                                "gather"]),
    "sp-gather-2": ("llama", None, ["--mesh=sp=4", "--sp-attention=gather"]),
    "sp-gather-mask": ("bert", None, ["--mesh", "sp=2", "--sp-attention",
                                      "gather"]),
    # Attention of several ops, and keys of other tokens: made models.
    "sp-ops-heads": ({"bias": "learned", "drops_weights": True}, MSE,
                     ["--mesh", "sp=2"]),
    "sp-ops-gather": ({"bias": "learned"}, MSE,
                      ["--mesh", "tp=2,sp=2", "--zero", "1"]),
    "sp-ops-joined": ({"drops_weights": True, "joins_heads": True}, MSE,
                      ["--mesh", "sp=2", "--sp-attention", "ulysses"]),
    # Keys that change places with heads, and are too few to change back.
    "sp-ops-memory": ({"drops_weights": True, "joins_heads": True,
                       "mask": "none", "memory": 11}, MSE,
                      ["--mesh", "sp=2", "--sp-attention", "ulysses"]),
    "sp-memory-ring": ({"mask": "none", "memory": 12}, MSE,
                       ["--mesh", "sp=4", "--sp-attention", "ring",
                        "--token-dim", "z=1"]),
    "sp-memory-whole": ({"mask": "none", "memory": 10}, MSE,
                        ["--mesh", "sp=4", "--zero", "3"]),
    # Megatron's sequence parallelism: tokens of residuals over tp.
    "tp-tokens": ("gpt", None, ["--mesh", "tp=2", "--sequence-parallel",
                                "on"]),
    "tp-tokens-llama": ("llama", None, ["--mesh", "dp=2,tp=2", "--zero", "3",
                                        "--sequence-parallel", "on"]),
    "tp-tokens-sp": ("bert", None, ["--mesh", "tp=2,sp=2", "--zero", "1",
                                    "--sequence-parallel", "on"]),
    # Experts: rows go to rooms on other ranks; one rank has no rooms.
    "ep-2": ("experts/mixtral", None, ["--mesh", "ep=2"]),
    "ep-4": ("experts/mixtral", None, ["--mesh", "ep=4"]),
    "ep-sp-zero-3": ("experts/qwen", None, ["--mesh", "ep=2,sp=2", "--zero",
                                            "3"]),
    "tp-dropout": (DROPPED, ["--loss", "softmax-cross-entropy", *SGD],
                   ["--mesh", "dp=2,tp=2", "--zero", "2"]),
}
MORE = {
    **{f"{model}-dp": (model, None, ["--mesh", "dp=2"])
       for model in ("resnet", "vgg", "mobilenet", "unet", "vit", "bert",
                     "llama", "lstm", "recommender", "regression")},
    **{f"{model}-tp-{ranks}": (model, None, ["--mesh", f"tp={ranks}"])
       for model in ("resnet", "vgg", "mobilenet", "unet", "vit", "bert",
                     "llama", "gpt", "lstm", "recommender", "regression")
       for ranks in (2, 4) if (model, ranks) != ("mobilenet", 2)},
    **{f"{model}-zero-{stage}": (model, None, ["--mesh", "dp=2", "--zero",
                                               str(stage), "--unit", "layer"])
       for model in ("resnet", "bert", "llama") for stage in (1, 2, 3)},
    "zero-clipped": ("mlp", [*ODD, "--clip-norm", "0.1"],
                     ["--mesh", "dp=4", "--zero", "1", "--unit", "layer"]),
    "zero-3-accumulated": ("mlp", [*ODD, "--accumulate", "2"],
                           ["--mesh", "dp=2", "--zero", "3"]),
    "tp-zero-hybrid": ("gpt", None, ["--mesh", "dp=4,tp=2", "--zero", "2",
                                     "--zero-group", "2"]),
    "tp-zero-3-cnn": ("cnn", None, ["--mesh", "dp=2,tp=2", "--zero", "3"]),
    "tp-zero-3-accumulated": ("mlp", [*ODD, "--accumulate", "2",
                                      "--clip-norm", "1"],
                              ["--mesh", "dp=2,tp=2", "--zero", "3"]),
    "tp-zero-3-llama": ("llama", None, ["--mesh", "dp=2,tp=2", "--zero", "3",
                                        "--reshard-last"]),
    "zero-kept": ("mlp", ODD, ["--mesh", "dp=2", "--zero", "3",
                               "--no-reshard-after-forward"]),
}
