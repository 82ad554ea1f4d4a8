#!/usr/bin/env python3
"""zc compile --aggregation server: the first rank adds up gradients and updates
for all, and alone holds the optimizer's states."""
import json
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zctest import Fixture, ZcTest, latest_step, load_tensors, read_log, run

SERVER = ("--aggregation", "server")


class ServerTest(ZcTest):

    def build(self, *options, model="gpt", optimizer="adamw", ranks=2,
              name="a"):
        fixture = Fixture(model)
        artifact = self.folder / f"{name}.zca"
        is_given = "--mesh" in options
        mesh = [] if is_given or ranks == 1 else ["--mesh", f"dp={ranks}"]
        common = fixture.compile_options(optimizer)
        if "--optimizer" in options:
            del common[common.index("--optimizer"):]
        self.zc("compile", fixture.model, "-o", artifact, *common,
                "--cpu-threads", 1, *mesh, *options)
        return artifact, fixture.data

    def train(self, artifact, data, ranks, *more, steps=4):
        log = self.folder / "log.jsonl"
        self.zc("run", artifact, "--data", data, "--steps", steps,
                "--no-shuffle", "--log", log, *more,
                *(["--local-ranks", ranks] if ranks > 1 else []))
        return read_log(log)

    def losses(self, *options, ranks=2, more=(), **build):
        artifact, data = self.build(*options, ranks=ranks, **build)
        lines = self.train(artifact, data, ranks, *more)
        return [line["loss"] for line in lines]

    def inspect(self, artifact, section):
        return json.loads(self.zc("inspect", artifact, "--json"))[section]


class Equality(ServerTest):

    def test_losses(self):
        """B-01: those of ranks that all update, whatever makes the update."""
        for options, build in (
                ((), {}), ((), {"ranks": 4, "model": "mlp"}),
                (("--clip-norm", 0.5), {}), (("--accumulate", 2), {}),
                (("--precision", "bf16"), {}),
                (("--precision", "fp16"), {"model": "mlp"}),
                (("--recompute", "layer"), {}),
                (("--optimizer", "adafactor"), {}),
                (("--momentum", 0.9), {"optimizer": "sgd", "model": "mlp"}),
                ((), {"model": "cnn", "optimizer": "sgd"}),
                # An axis of one rank changes nothing.
                (("--mesh", "pp=1,dp=2"), {"model": "mlp"})):
            with self.subTest(options=options, **build):
                everywhere = self.losses(*options, **build)
                served = self.losses(*options, *SERVER, **build)
                # Terms are added up one after another instead of in rings.
                rtol = 1e-3 if "--precision" in options else 1e-5
                np.testing.assert_allclose(served, everywhere, rtol=rtol)

    def test_parameters_are_those_of_one_rank(self):
        """And all ranks have them: evaluation reads every rank's."""
        fixture = Fixture("mlp")
        found = {}
        for ranks, options in ((1, ()), (4, SERVER)):
            artifact, data = self.build(*options, ranks=ranks, model="mlp")
            folder = self.folder / f"of{ranks}"
            self.train(artifact, data, ranks, "--checkpoint", folder,
                       "--eval-data", data)
            found[ranks] = load_tensors(latest_step(folder))
        self.assertEqual(set(found[1]), set(found[4]))
        for name, weight in found[1].items():
            np.testing.assert_allclose(found[4][name], weight, atol=1e-5,
                                       err_msg=name)
        self.assertGreaterEqual(set(found[4]), set(fixture.weights("adamw")))


class Checkpoints(ServerTest):

    def test_resume(self):
        """To the bit, also as, and from, ranks that all update."""
        artifact, data = self.build(*SERVER)
        everywhere, _ = self.build(name="b")
        whole = self.train(artifact, data, 2, steps=4)
        for first, second, exact in ((artifact, artifact, True),
                                     (artifact, everywhere, False),
                                     (everywhere, artifact, False)):
            folder = self.folder / f"{first.stem}{second.stem}"
            self.train(first, data, 2, "--checkpoint", folder, steps=2)
            rest = self.train(second, data, 2, "--checkpoint", folder,
                              "--resume", steps=4)
            losses = [line["loss"] for line in rest][-2:]
            expected = [line["loss"] for line in whole][2:]
            if exact:
                self.assertEqual(losses, expected)
            np.testing.assert_allclose(losses, expected, rtol=1e-5)

    def test_export_and_evaluation(self):
        artifact, data = self.build(*SERVER, model="mlp")
        folder, exported = self.folder / "ckpt", self.folder / "m.onnx"
        self.train(artifact, data, 2, "--checkpoint", folder)
        self.zc("export", artifact, "--checkpoint", folder, "-o", exported)
        whole, _ = self.build(model="mlp", ranks=1, name="one")
        outputs = {}
        samples = dict(np.load(data))
        inputs = [each for name, array in samples.items() if name != "labels"
                  for each in ("--input", f"{name}={self.folder / name}.npy")]
        for name, array in samples.items():
            np.save(self.folder / f"{name}.npy", array)
        for ranks, each in ((1, whole), (2, artifact)):
            to = self.folder / f"out{ranks}"
            self.zc("eval", each, *inputs, "--checkpoint", folder,
                    "--output-dir", to,
                    *(["--local-ranks", ranks] if ranks > 1 else []))
            outputs[ranks] = {path.name: np.load(path)
                              for path in sorted(to.iterdir())}
        self.assertEqual(set(outputs[1]), set(outputs[2]))
        for name, array in outputs[1].items():
            np.testing.assert_allclose(outputs[2][name], array, atol=1e-5)


class Figures(ServerTest):

    def test_sum_and_mean(self):
        """B-11: [1], [2], [3], [4] of four ranks become 10, or 2.5, on one."""
        value = helper.make_tensor_value_info
        for operator, expected in (("ReduceSum", 10), ("ReduceMean", 2.5)):
            graph = helper.make_graph(
                [helper.make_node("MatMul", ["x", "w"], ["h"]),
                 helper.make_node(operator, ["h"], ["y"], keepdims=0)], "g",
                [value("x", TensorProto.FLOAT, [4, 1])],
                [value("y", TensorProto.FLOAT, [])],
                [numpy_helper.from_array(np.ones((1, 1), np.float32), "w")])
            model, artifact = self.folder / "r.onnx", self.folder / "r.zca"
            onnx.save(helper.make_model(
                graph, opset_imports=[helper.make_opsetid("", 20)],
                ir_version=10), model)
            np.savez(self.folder / "r.npz", x=np.float32([[1], [2], [3], [4]]))
            self.zc("compile", model, "-o", artifact, "--loss", "none",
                    "--optimizer", "sgd", "--mesh", "dp=4", "--train", "w",
                    *SERVER)
            kinds = self.inspect(artifact, "comm")["roles"][1]["by_kind"]
            self.assertEqual(kinds["gradients"]["count"], 1)
            line, = self.train(artifact, self.folder / "r.npz", 4, steps=1)
            # The gradient of w, which starts as 1, and the loss.
            self.assertEqual(line["grad_norm"], expected)
            self.assertEqual(line["loss"], expected)

    def test_states(self):
        """B-01: the optimizer's states are on the server alone."""
        artifact, _ = self.build(*SERVER, "--clip-norm", 1)
        server, worker = self.inspect(artifact, "memory")["roles"]
        self.assertEqual(server["optimizer"], 8 * 29568)
        self.assertEqual(worker["optimizer"], 0)
        self.assertEqual(worker["parameters"], server["parameters"])
        self.assertLess(worker["peak"], server["peak"])

    def test_traffic(self):
        """B-06, B-07, B-26: one reduce and one broadcast a bucket; N workers
        beside the server send it N S, and it sends as much to them."""
        for ranks in (2, 4):
            for buckets in (1, 3):
                size = 4 * 29568
                mib = 2 * size / buckets / (1 << 20) * 0.55
                artifact, data = self.build(
                    *SERVER, "--collective-algorithm", "parameter-server",
                    "--bucket-mib", mib if buckets > 1 else 16, "--unit",
                    "auto" if buckets > 1 else 1 << 30, ranks=ranks)
                comm = self.inspect(artifact, "comm")
                server, worker = comm["roles"]
                kinds = worker["by_kind"]
                count = kinds["gradients"]["count"]
                self.assertEqual(kinds["parameters"]["count"], count)
                self.assertEqual(server["by_kind"]["parameters"]["count"],
                                 count)
                if buckets == 1:
                    self.assertEqual(count, 1)
                else:
                    self.assertGreater(count, 1)
                parameters = comm["parameter_bytes"]
                pushed = comm["per_rank"][1]
                self.assertNotIn("data_parallel", comm)
                # Losses, norms and learning rates are a few scalars.
                self.assertAlmostEqual(pushed, parameters, delta=64)
                self.assertAlmostEqual(comm["per_rank"][0],
                                       (ranks - 1) * parameters, delta=256)
                lines = self.train(artifact, data, ranks, steps=2)
                self.assertEqual({line["sent_bytes"] for line in lines},
                                 {max(comm["per_rank"])})


class Budget(ServerTest):

    def peaks(self, *options):
        artifact, _ = self.build(*SERVER, "--verify", "off", *options)
        memory = self.inspect(artifact, "memory")
        return [role["peak"] for role in memory["roles"]]

    def test_kept(self):
        """Both roles fit, or an error says what would help."""
        free = self.peaks()
        for part in (0.9, 0.81):
            budget = int(part * max(free))
            self.assertLessEqual(
                max(self.peaks("--memory-budget", budget)), budget)
        fixture = Fixture("gpt")
        self.fails(1, ["no plan fits|takes .* more than", "--unit BYTES"],
                   "compile", fixture.model, *fixture.compile_options("adamw"),
                   "-o", self.folder / "b.zca", "--cpu-threads", 1, "--mesh",
                   "dp=2", *SERVER, "--memory-budget", max(free) // 4)


class Refusals(ServerTest):

    def test_refusals(self):
        fixture = Fixture("gpt")
        model = [fixture.model, *fixture.compile_options("adamw")]
        for options in (["--mesh", "dp=2", "--zero", 1], ["--mesh", "tp=2"],
                        ["--mesh", "dp=2,tp=2"], []):
            self.fails(2, ["--mesh with dp alone"], "compile", *model, *options,
                       *SERVER)
        (self.folder / "stages").write_text("0: .*\n")
        for schedule in ("2bw", "stash"):
            self.fails(2, ["--aggregation server does not go with --schedule"],
                       "compile", *model, "--mesh", "dp=2", "--schedule",
                       schedule, "--accumulate", 2, "--stages",
                       self.folder / "stages", *SERVER)
        for more in (["--mesh", "dp=2"], ["--search"]):
            self.fails(2, ["--servers N"], "plan", *model, *more, "--cluster",
                       "ideal", *SERVER)
        self.fails(1, ["--servers N"], "plan", self.build(*SERVER)[0],
                   "--cluster", "ideal")
        code, _, err = run("run", self.build(*SERVER)[0], "--data",
                           fixture.data, "--steps", 1)
        self.assertNotEqual(code, 0)
        self.assertIn("--local-ranks 2", err)


if __name__ == "__main__":
    unittest.main()
