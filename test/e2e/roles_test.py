#!/usr/bin/env python3
"""The roles of a pipeline compute together what one rank does: both train in
the interpreter in double precision, from the model's weights on the same
samples, and must agree to 1e-12 of each tensor's largest element in new
weights, statistics, moments, accumulators, the loss and the gradient's norm.
Tensors that several roles hold are alike, or the interpreter fails.

No order of micro-batches is part of this: roles work on one after the other.
"""
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from sharding_test import Units
from zctest import TRANSLATOR_STAGES, UNET_STAGES, Fixture, ZcTest

STEPS = 2
SGD = ["--optimizer", "sgd", "--momentum", "0.9", "--clip-norm", "0.1"]
# Some gradients are 0 but for rounding, as those of keys' biases: eps makes
# their steps as small.
ADAMW = ["--optimizer", "adamw", "--eps", "1e-3"]
LIMIT = 1e-12
# The least scale of errors, for tensors that are 0 but for rounding, such as
# the gradient of a bias before a batch norm.
LEAST = 1e-3


class RolesTest(ZcTest):

    def emit(self, name, model, what, *options):
        path = self.folder / f"{name}.mlir"
        self.zc("compile", model, *options, "--emit", what, "-o", path)
        return path

    def interpret(self, module, inputs, *options):
        """Results by name."""
        folder = module.with_suffix("")
        folder.mkdir()
        given = []
        for name, array in inputs.items():
            path = folder / f"{name}.npy"
            np.save(path, array)
            given += ["--input", f"{name}={path}"]
        results = folder / "results"
        results.mkdir()
        self.zc(module, *given, *options, "--output-dir", results,
                tool="zc-interpret")
        return {path.name[:-len(".npy")]: np.load(path)
                for path in results.iterdir()}

    def train(self, module, fixture, accumulate, batch):
        samples = {name: array[:STEPS * batch]
                   for name, array in np.load(fixture.data).items()}
        text = module.read_text()
        roles = {f"role{index}.": Units(part) for index, part in
                 enumerate(text.split("module @role")[1:])}
        found = self.interpret(module, {
            **samples, **self.pack(roles, fixture), "lr": np.array(0.1)},
            "--steps", STEPS, "--accumulate", accumulate)
        return self.unpack(roles, found)

    @staticmethod
    def pack(roles, fixture):
        """The vectors of ZeRO of each role, from the model's weights."""
        weights = {each.name: numpy_helper.to_array(each) for each in
                   onnx.load(fixture.model).graph.initializer}
        vectors = {}
        for prefix, units in roles.items():
            members = {name: weights[name] for each in units.members.values()
                       for name, *_ in each}
            vectors.update({prefix + name: array for name, array in
                            units.pack(members).items()})
        return vectors

    def unpack(self, roles, arrays):
        """The inverse, of results; what two roles have must be the same."""
        found = {name: array for name, array in arrays.items()
                 if not name.startswith("role")}
        for prefix, units in roles.items():
            own = {name[len(prefix):]: array for name, array in arrays.items()
                   if name.startswith(prefix)}
            for name, array in units.unpack(own).items():
                if name in found:
                    np.testing.assert_array_equal(array, found[name], name)
                found[name] = array
        return found

    def check(self, found, expected):
        for name, value in expected.items():
            with self.subTest(result=name):
                self.assertEqual(value.shape, found[name].shape)
                scale = max(np.abs(value).max(), LEAST)
                error = np.abs(value - found[name]).max() / scale
                self.assertLess(error, LIMIT)

    def compare(self, name, accumulate, batch, optimizer, *meshes):
        fixture = Fixture(name)
        options = ["--loss", fixture.reference["loss"], *optimizer,
                   "--accumulate", accumulate]
        if fixture.reference["symbolic_batch"]:
            options += ["--dim",
                        f"{fixture.reference['symbolic_batch']}={batch}"]
        one = self.emit("one", fixture.model, "sharded", *options)
        expected = self.train(one, fixture, accumulate, batch)
        self.check_trains(expected)
        for index, mesh in enumerate(meshes):
            with self.subTest(mesh=mesh):
                roles = self.emit(f"roles{index}", fixture.model, "sharded",
                                  *options, "--mesh", *mesh)
                found = self.train(roles, fixture, accumulate, batch)
                self.assertEqual(expected.keys(), found.keys())
                self.check(found, expected)

    def check_trains(self, results):
        """The model that is compared does not stand still."""
        self.assertGreater(results["grad_norm"], 1e-3)
        self.assertEqual(results["optimizer.step"], STEPS)


class Steps(RolesTest):

    def test_mlp(self):
        self.compare("mlp", 3, 12, SGD, ["pp=2"], ["pp=3"], ["pp=2,dp=2"],
                     ["pp=2,tp=2"], ["pp=2,dp=2", "--zero", "1"])

    def test_cnn(self):
        """Batch norm's statistics go from one micro-batch to the next."""
        self.compare("cnn", 2, Fixture("cnn").reference["batch"], SGD,
                     ["pp=2"], ["pp=3"], ["pp=2,dp=2"])

    def test_gpt(self):
        """The embedding is the head: two roles hold it, with one gradient."""
        self.compare("gpt", 2, Fixture("gpt").reference["batch"], ADAMW,
                     ["pp=2"], ["pp=3"], ["pp=2,dp=2"])

    def test_gpt_divided(self):
        self.compare("gpt", 2, Fixture("gpt").reference["batch"], SGD,
                     ["pp=2,tp=2"], ["pp=2,dp=2", "--zero", "2"],
                     ["pp=3,dp=2", "--zero", "3"])

    def test_llama(self):
        self.compare("llama", 2, Fixture("llama").reference["batch"], SGD,
                     ["pp=3"])

    def test_translator(self):
        """An encoder's output goes to each stage of the decoder."""
        stages = self.folder / "stages"
        stages.write_text(TRANSLATOR_STAGES)
        self.compare("translator", 2, Fixture("translator").reference["batch"],
                     SGD, ["pp=3", "--stages", stages], ["pp=4"])

    def test_odd(self):
        self.compare("odd", 3, 18, SGD, ["pp=4"], ["pp=2,tp=2"],
                     ["pp=2,dp=2", "--zero", "3"])

    def test_unet(self):
        """The first level's skip goes over two stages."""
        stages = self.folder / "stages"
        stages.write_text(UNET_STAGES)
        self.compare("unet", 2, Fixture("unet").reference["batch"], SGD,
                     ["pp=4", "--stages", stages])

    def test_several_stages_a_role(self):
        """Stages of one role send each other what stages of others would."""
        gpt = Fixture("gpt").reference["batch"]
        self.compare("gpt", 2, gpt, SGD, ["pp=2", "--schedule", "interleaved"],
                     ["pp=2,dp=2", "--zero", "3", "--schedule", "interleaved"])

    def test_there_and_back(self):
        """The last role's two stages are neighbours."""
        self.compare("odd", 3, 18, SGD,
                     ["pp=2", "--schedule", "zero-bubble=v"])

    def test_replicas(self):
        """Roles of one stage take micro-batches in turn."""
        self.compare("gpt", 4, Fixture("gpt").reference["batch"], SGD,
                     ["pp=2", "--stage-replicas", "2"],
                     ["pp=4", "--stage-replicas", "1,2,1"])

    def test_replicas_of_odd_numbers(self):
        self.compare("odd", 3, 18, SGD,
                     ["pp=5", "--stage-replicas", "2,3"],
                     ["pp=3,dp=2", "--zero", "1", "--stage-replicas", "2,1"])

    def test_whole_batch(self):
        """Micro-batches in roles are the batch that one rank takes at once."""
        fixture = Fixture("mlp")
        options = ["--loss", fixture.reference["loss"], *SGD, "--dim",
                   f"{fixture.reference['symbolic_batch']}=12"]
        one = self.emit("one", fixture.model, "step", *options)
        expected = self.train(one, fixture, 1, 12)
        self.check_trains(expected)
        roles = self.emit("roles", fixture.model, "sharded", *options,
                          "--accumulate", 3, "--mesh", "pp=2")
        self.check(self.train(roles, fixture, 3, 12), expected)

    def test_samples(self):
        """Samples that are no whole number of micro-batches are refused."""
        fixture = Fixture("mlp")
        one = self.emit("one", fixture.model, "sharded",
                        *fixture.compile_options("sgd"), "--accumulate", 4)
        path = self.folder / "x.npy"
        np.save(path, np.load(fixture.data)["x"][:12])
        self.fails(1, ["takes 8 samples of 'x' at a time, which has .12, 64."],
                   one, "--steps", 1, "--input", f"x={path}",
                   tool="zc-interpret")


if __name__ == "__main__":
    unittest.main()
