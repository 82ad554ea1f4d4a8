"""Small models that tests write by hand, trained and exported."""
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from zctest import ZcTest, load_tensors, read_log

FLOAT = TensorProto.FLOAT
# Eight samples of five numbers, and three for each.
X = np.random.default_rng(1).normal(size=(8, 5)).astype(np.float32)
LABELS = np.random.default_rng(2).normal(size=(8, 3)).astype(np.float32)


def drawn(shapes, seed=0):
    random = np.random.default_rng(seed)
    return {name: random.normal(size=shape).astype(np.float32) * 0.3
            for name, shape in shapes.items()}


def constant(name, array):
    return helper.make_node("Constant", [], [name],
                            value=numpy_helper.from_array(array))


class SmallModels(ZcTest):
    """Models of a few nodes, from Python, on their way through zc."""

    def save(self, name, nodes, initializers, inputs=None, outputs=None,
             opset=18, producer="", ir_version=8, functions=(), domains=()):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node(*node[:2], [node[2]], **dict(node[3:]))
             if isinstance(node, tuple) else node for node in nodes],
            "g", [value(n, FLOAT, s)
                  for n, s in (inputs or {"x": (4, 5)}).items()],
            [value(n, FLOAT, s)
             for n, s in (outputs or {"y": (4, 3)}).items()],
            [numpy_helper.from_array(a, n) for n, a in initializers.items()])
        imports = [helper.make_opsetid("", opset)]
        imports += [helper.make_opsetid(domain, 1) for domain in domains]
        model = helper.make_model(graph, opset_imports=imports,
                                  producer_name=producer,
                                  ir_version=ir_version,
                                  functions=list(functions))
        path = self.folder / name
        onnx.save(model, path)
        return path

    def compiled(self, model, *options, name=None):
        artifact = self.folder / (name or f"{model.stem}.zca")
        return artifact, self.zc("compile", model, "-o", artifact, "--loss",
                                 "mse", "--optimizer", "sgd", *options)

    def trained(self, artifact, x, labels, *options, steps=3, lr=0.1):
        """Losses, and the checkpoint's tensors."""
        data, log = self.folder / "d.npz", self.folder / "log.jsonl"
        np.savez(data, x=x, labels=labels)
        folder = self.folder / f"{artifact.stem}-c"
        self.train(artifact, data, steps, "--no-shuffle", "--overwrite",
                   "--log", log, "--checkpoint", folder, *options, lr=lr)
        return ([line["loss"] for line in read_log(log)],
                load_tensors(folder / f"step-{steps}"))

    def exported(self, artifact, x, checkpoint=None, output="y"):
        """The exported model, which computes what zc computes."""
        path = self.folder / f"{artifact.stem}-trained.onnx"
        checkpoint = checkpoint or self.folder / f"{artifact.stem}-c"
        self.zc("export", artifact, "--checkpoint", checkpoint, "-o", path)
        np.save(self.folder / "x.npy", x)
        out = self.folder / "out"
        self.zc("eval", path, "--input", f"x={self.folder / 'x.npy'}",
                "--output-dir", out)
        session = onnxruntime.InferenceSession(path)
        theirs = session.run([output], {"x": x})[0]
        np.testing.assert_allclose(theirs, np.load(out / f"{output}.npy"), 1e-4,
                                   1e-5)
        return onnx.load(path), theirs
