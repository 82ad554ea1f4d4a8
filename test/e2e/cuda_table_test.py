#!/usr/bin/env python3
"""Updates of a table's rows by many warps of a GPU, on the fake of its driver,
against a CPU, which makes them one after the other."""
import unittest

import cuda_run_test
import numpy as np
from onnx import TensorProto, helper, numpy_helper, save
from zctest import read_log


class Tables(cuda_run_test.Fake):

    def test_a_table_that_several_teams_update(self):
        """Many of 2048 updates are of one row; a CPU makes them in turn."""
        model, data = self.folder / "table.onnx", self.folder / "data.npz"
        random = np.random.default_rng(0)
        table = random.standard_normal((50, 8)).astype(np.float32)
        graph = helper.make_graph(
            [helper.make_node("Gather", ["table", "x"], ["y"])], "table",
            [helper.make_tensor_value_info("x", TensorProto.INT64, (2048,))],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2048, 8))],
            [numpy_helper.from_array(table, "table")])
        save(helper.make_model(graph, ir_version=9, opset_imports=[
            helper.make_opsetid("", 18)]), model)
        np.savez(data, x=random.integers(0, 50, 2048) ** 2 // 50,
                 labels=random.standard_normal((2048, 8)).astype(np.float32))
        logs = []
        for target in ("cpu", "cuda"):
            artifact = self.folder / "table.zca"
            self.zc("compile", model, "--target", target, "--loss", "mse",
                    "--optimizer", "sgd", "-o", artifact, env=self.gpu)
            self.zc("run", artifact, "--data", data, "--steps", 3, "--lr", 1,
                    "--no-shuffle", "--log", self.log, env=self.gpu)
            logs.append([(line["loss"], line["grad_norm"])
                         for line in read_log(self.log)])
            self.log.unlink()
        np.testing.assert_allclose(*logs, rtol=1e-6)  # sums in other orders
        self.assertLess(logs[0][2][0], logs[0][0][0] * 0.999)


if __name__ == "__main__":
    unittest.main()
