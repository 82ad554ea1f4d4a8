"""Operators, and forms of operators, that zc refuses, with the reason it gives.

tools/operator-table writes them to tools/guide/operators.md, and a test compares
that page with what zc says. Neither list is written by hand: those without a form
are asked for by a model of every operator that ONNX has, and each form below is a
model of one node.
"""
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
MICROSOFT, ML = "com.microsoft", "ai.onnx.ml"
BEGIN = "<!-- begin: tools/refused_operators.py -->"
END = "<!-- end: tools/refused_operators.py -->"
# Become others as a file is read, are left out, or have a row in the table.
READ = ["LinearClassifier", "LinearRegressor", "ZipMap", "Compress", "Unique"]
# Operators of ONNX Runtime, which does not list them.
CONTRIB = """
Attention AttnLSTM BeamSearch BiasAdd BiasDropout BiasGelu BiasSoftmax
BiasSplitGelu BifurcationDetector BitmaskBiasDropout BitmaskDropout CDist
ComplexMul ConvTransposeWithDynamicPads CropAndResize DecoderAttention
DecoderMaskedMultiHeadAttention DecoderMaskedSelfAttention DequantizeLinear
DynamicQuantizeLSTM DynamicQuantizeMatMul DynamicTimeWarping
EmbedLayerNormalization ExpandDims FastGelu FusedConv FusedGemm FusedMatMul
FusedMatMulActivation GatedRelativePositionBias GatherBlockQuantized GatherND Gelu
GemmFastGelu GemmFloat8 GemmaRotaryEmbedding GreedySearch GridSample GroupNorm
GroupQueryAttention Inverse Irfft LongformerAttention MatMulBnb4 MatMulFpQ4
MatMulInteger16 MatMulIntegerToFloat MatMulNBits MaxpoolWithMask MoE MRotaryEmbedding
MulInteger MultiHeadAttention MurmurHash3 NGramRepeatBlock NhwcConv NhwcFusedConv
NhwcMaxPool PackedAttention PackedMultiHeadAttention Pad QAttention QGemm
QLinearAdd QLinearAveragePool QLinearConcat QLinearConv QLinearGlobalAveragePool
QLinearLeakyRelu QLinearMul QLinearReduceMean QLinearSigmoid QLinearSoftmax
QLinearWhere QMoE QOrderedAttention QOrderedGelu QOrderedLayerNormalization
QOrderedLongformerAttention QOrderedMatMul QuantizeLinear QuantizeWithOrder
QuickGelu Range ReduceSumInteger RelativePositionBias RemovePadding RestorePadding
Rfft RotaryEmbedding SampleOp Sampling SkipGroupNorm SkipLayerNormalization
SkipSimplifiedLayerNormalization Snpe SparseAttention SparseToDenseMatMul Tokenizer
TorchEmbedding TransposeMatMul Trilu UnfoldTensor Unique WhisperBeamSearch
WordConvEmbedding""".split()


def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def draw(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def whole(*shape, kind=np.uint8):
    return np.arange(np.prod(shape)).reshape(shape).astype(kind)


class Form:
    """One node that is refused. `says`: the attribute or operand; operands are
    arrays, of which the first is an input."""

    def __init__(self, op, says, operands, domain="", outputs=1, version=None,
                 stored=(), gives=None, **attributes):
        self.op, self.says, self.operands = op, says, operands
        self.domain, self.outputs, self.version = domain, outputs, version
        self.stored, self.attributes = stored, attributes
        # ONNX knows the results' types of its own operators.
        self.gives = gives or (FLOAT if domain or version else None)

    def model(self):
        names, inputs, tensors = [], [], []
        for index, array in enumerate(self.operands):
            if array is None:
                names.append("")
                continue
            names.append(f"x{index}")
            if index in self.stored:
                tensors.append(numpy_helper.from_array(array, names[-1]))
                continue
            inputs.append(value(
                names[-1], helper.np_dtype_to_tensor_dtype(array.dtype),
                array.shape))
        outputs = [f"y{index}" for index in range(self.outputs)]
        graph = helper.make_graph(
            [helper.make_node(self.op, names, outputs, "node",
                              domain=self.domain, **self.attributes)], "form",
            inputs, [value(name, self.gives, None) if self.gives else
                     onnx.ValueInfoProto(name=name) for name in outputs],
            tensors)
        return make_model(graph, self.version)


def make_model(graph, opset=None):
    version = opset or onnx.defs.onnx_opset_version()
    return helper.make_model(
        graph, ir_version=4 if opset and opset < 10 else 10, opset_imports=[
            helper.make_opsetid("", version), helper.make_opsetid(ML, 3),
            helper.make_opsetid(MICROSOFT, 1)])


def list_forms():
    image = draw(1, 3, 4, 4)
    tokens, weights, bias = draw(2, 6, 16), draw(16, 48), draw(48)
    token = [draw(2, 6, 32), draw(2, 6, 16), draw(2, 6, 16), None, None,
             whole(2, kind=np.int32), np.array(6, np.int32)]
    experts = [draw(2, 6, 16), draw(12, 4), draw(4, 8, 16), draw(4, 8),
               draw(4, 16, 8), draw(4, 16)]
    return [
        Form("BatchNormalization", "spatial=0",
             [image, *[draw(3, 4, 4)] * 4], version=7, stored=(1, 2, 3, 4),
             spatial=0),
        Form("Cast", "to=FLOAT8E8M0", [image], to=TensorProto.FLOAT8E8M0),
        Form("AveragePool", "integers", [whole(1, 1, 4, 4)],
             kernel_shape=[2, 2]),
        Form("MaxUnpool", "output_shape as an input",
             [image, whole(1, 3, 4, 4, kind=np.int64),
              np.array([1, 3, 9, 9])], kernel_shape=[2, 2]),
        Form("Scan", "opset 8", [np.zeros((1, 2), np.float32),
                                 draw(1, 3, 2)], version=8, outputs=2,
             num_scan_inputs=1, body=scan_body()),
        Form("Gemm", "integers", [whole(3, 4, kind=np.int32),
                                  whole(4, 5, kind=np.int32)]),
        Form("RoiAlign", "sampling_ratio=0",
             [draw(1, 3, 8, 8), draw(2, 4), np.array([0, 0])],
             output_height=2, output_width=2),
        Form("NonZero", "no bound", [image]),
        Form("Compress", "no bound", [image, np.ones(3, bool)], axis=1),
        Form("Unique", "no bound", [image]),
        Form("If", "a condition that is computed", [np.array(True)],
             then_branch=constant_body(1), else_branch=constant_body(2)),
        Form("DFT", "long primes", [draw(1, 8209, 1), None, np.array(1)],
             stored=(2,)),
        Form("Det", "large matrices", [draw(40, 40)]),
        Form("LSTM", "initial state of another width (proj_size)",
             [draw(3, 2, 4), draw(1, 12, 4), draw(1, 12, 3), None, None,
              draw(1, 2, 2), draw(1, 2, 3)], stored=(1, 2, 5, 6),
             hidden_size=3),
        Form("Attention", "do_rotary, past_present_share_buffer",
             [tokens, weights, bias], MICROSOFT, stored=(1, 2), num_heads=2,
             do_rotary=1),
        Form("GroupQueryAttention", "softcap, smooth_softmax", token,
             MICROSOFT, num_heads=4, kv_num_heads=2, softcap=5.0),
        Form("MoE", "use_sparse_mixer", experts, MICROSOFT, k=2,
             activation_type="silu", use_sparse_mixer=1),
        Form("QMoE", "all", experts, MICROSOFT),
        Form("FusedGemm", "activation", [draw(4, 5), draw(5, 3), draw(3)],
             MICROSOFT, activation="Erf"),
        Form("QLinearGlobalAveragePool", "channels_last=1",
             [whole(1, 4, 4, 3), np.float32(0.1), np.uint8(3),
              np.float32(0.1), np.uint8(0)], MICROSOFT, stored=(1, 2, 3, 4),
             gives=TensorProto.UINT8, channels_last=1),
        Form("MatMulNBits", "g_idx",
             [draw(5, 32), whole(6, 2, 8), draw(6, 2), None,
              whole(32, kind=np.int32)], MICROSOFT, stored=(1, 2, 4), K=32,
             N=6, bits=4, block_size=16),
        Form("OneHotEncoder", "cats_strings", [whole(3, 2, kind=np.int64)],
             ML, cats_strings=["a", "b"]),
        Form("Imputer", "imputed_value_int64s", [whole(3, 2, kind=np.int64)],
             ML, gives=TensorProto.INT64, imputed_value_int64s=[1, 2],
             replaced_value_int64=3),
        Form("TreeEnsembleRegressor", "all", [draw(3, 2)], ML,
             nodes_treeids=[0], nodes_nodeids=[0], nodes_modes=["LEAF"],
             target_treeids=[0], target_nodeids=[0], target_ids=[0],
             target_weights=[1.0], n_targets=1),
    ]


def scan_body():
    return helper.make_graph(
        [helper.make_node("Add", ["s", "x"], ["t"]),
         helper.make_node("Identity", ["t"], ["u"])], "body",
        [value("s", FLOAT, [2]), value("x", FLOAT, [2])],
        [value("t", FLOAT, [2]), value("u", FLOAT, [2])])


def constant_body(size):
    name = f"c{size}"
    return helper.make_graph(
        [helper.make_node("Constant", [], [name], value_float=float(size))],
        "branch", [], [value(name, FLOAT, [])])


def ask(zc, model):
    """The errors of `zc compile`, one a line, without places."""
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work, "m.onnx")
        onnx.save(model, path)
        done = subprocess.run(
            [str(zc), "compile", str(path), "--mode", "infer", "-o",
             str(pathlib.Path(work, "m.zca"))], text=True, capture_output=True)
    if done.returncode == 0:
        return []
    return [re.sub(r"^zc: error: \S*m\.onnx: (node '[^']*' \([^)]*\): )?", "",
                   line) for line in done.stderr.splitlines() if line.strip()]


def fill_attributes(schema):
    """Something for each attribute that must be there; None for bodies."""
    some = {AttributeProto.INT: 1, AttributeProto.FLOAT: 1.0,
            AttributeProto.STRING: "a", AttributeProto.INTS: [1],
            AttributeProto.FLOATS: [1.0], AttributeProto.STRINGS: ["a"],
            AttributeProto.TENSOR: helper.make_tensor("t", FLOAT, [1], [1.0])}
    attributes = {}
    for name, attribute in schema.attributes.items():
        if attribute.required:
            kind = getattr(AttributeProto, attribute.type.name)
            if kind not in some:
                return None
            attributes[name] = some[kind]
    return attributes


def list_nodes():
    """A node of each operator. Those with bodies zc takes apart itself."""
    version = onnx.defs.onnx_opset_version()
    latest = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        most = {"": version, ML: 3}.get(schema.domain, 0)
        key = schema.domain, schema.name
        if getattr(latest.get(key), "since_version", 0) \
                <= schema.since_version <= most:
            latest[key] = schema
    nodes = []
    for (domain, name), schema in sorted(latest.items()):
        attributes = fill_attributes(schema)
        if attributes is None or schema.deprecated or name in READ:
            continue
        nodes.append(helper.make_node(
            name, ["x"] * max(schema.min_input, int(schema.max_input > 0)),
            [f"{domain}.{name}.{i}" for i in range(max(schema.min_output, 1))],
            domain=domain, **attributes))
    nodes += [helper.make_node(name, ["x"], [f"{MICROSOFT}.{name}"],
                               domain=MICROSOFT) for name in CONTRIB]
    return nodes


def find_missing(zc):
    """Names of operators that zc has no form for, by domain. A dim without a
    size makes it tell them all before it looks at any node."""
    nodes = list_nodes()
    graph = helper.make_graph(
        nodes, "all", [value("x", FLOAT, ["N"])],
        [value(name, FLOAT, None) for node in nodes for name in node.output])
    missing = {"": [], ML: [], MICROSOFT: []}
    for line in ask(zc, make_model(graph)):
        found = re.match(r"\s+((?:[a-z]+\.)*)(\w+) \((?:opset|version) \d+\)",
                         line)
        if found:
            missing[found[1].rstrip(".")].append(found[2])
    return missing


def make_table(zc):
    """The lines of the tables."""
    lines = ["| operator | attribute or operand | why it is refused |",
             "| --- | --- | --- |"]
    for form in list_forms():
        said = ask(zc, form.model())
        if not said:
            raise RuntimeError(f"{form.op} with {form.says} is not refused")
        why = " ".join(each.strip() for each in said[:2]) \
            if "not supported" in said[0] else said[0]
        prefix = form.domain + "." if form.domain else ""
        lines.append(f"| {prefix}{form.op} | {form.says} | "
                     f"{why.replace('|', '/')} |")
    lines += ["", "Operators without any form (`is not supported`):", ""]
    for domain, names in find_missing(zc).items():
        lines.append(f"- `{domain or 'ai.onnx'}`: "
                     f"{', '.join(sorted(names)) or 'none'}")
    return lines
