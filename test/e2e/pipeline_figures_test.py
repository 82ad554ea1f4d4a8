#!/usr/bin/env python3
"""The figures of a pipeline: what the papers say of its orders, and what
`zc inspect` plans against what a run sends and holds.

With equal stages, and forward and backward of the same time, the last of P
stages begins P-1 units late and the first one ends P-1 units after it: a step of
m micro-batches takes 2(m + P-1), of which 2(P-1) are idle (Huang et al. 2019).
"""
import collections
import json
import unittest

import numpy as np
import onnx

from small_models import SmallModels, drawn
from zctest import TRANSLATOR_STAGES, UNET_STAGES, Fixture, ZcTest, read_log

STEPS = 2


class FiguresTest(ZcTest):

    def inspect(self, artifact, *what):
        return json.loads(self.zc("inspect", artifact, "--json", *what))

    def build(self, fixture, *options, dim=None):
        artifact = self.folder / "a.zca"
        options = [*fixture.compile_options("adamw"), "--cpu-threads", 1,
                   *options]
        if dim:
            options[options.index("--dim") + 1] = dim
        self.zc("compile", fixture.model, "-o", artifact, *options)
        return artifact

    def run_it(self, artifact, fixture, ranks, *options):
        log = self.folder / "log.jsonl"
        self.zc("run", artifact, "--data", fixture.data, "--steps", STEPS,
                "--no-shuffle", "--local-ranks", ranks, "--log", log, *options)
        return read_log(log)


class Orders(FiguresTest):

    def order(self, schedule, micro):
        artifact = self.build(Fixture("odd"), "--mesh", "pp=4", "--schedule",
                              schedule, "--accumulate", micro, dim="batch=48")
        found = self.inspect(artifact, "--schedule")["schedule"]
        self.assertEqual(found["order"], schedule)
        self.assertEqual(len(found["stages"]), 4)
        return found

    def columns(self, found, micro):
        """The number of a timeline's columns, each a forward or a backward."""
        busy = 1 - found["of_equal_stages"]["bubble_of_total"]
        return 2 * micro / busy

    def test_naive(self):
        found = self.order("naive", 1)
        self.assertAlmostEqual(found["of_equal_stages"]["bubble_of_total"], .75)
        self.assertAlmostEqual(self.columns(found, 1), 8)
        self.assertEqual(found["in_flight"], [1, 1, 1, 1])

    def test_gpipe_and_1f1b(self):
        for micro, bubble, columns in ((4, 3 / 7, 14), (16, 3 / 19, 38)):
            for schedule in ("gpipe", "1f1b"):
                with self.subTest(schedule=schedule, micro=micro):
                    found = self.order(schedule, micro)
                    equal = found["of_equal_stages"]
                    self.assertAlmostEqual(equal["bubble_of_total"], bubble)
                    self.assertAlmostEqual(equal["bubble_of_ideal"], 3 / micro)
                    self.assertAlmostEqual(self.columns(found, micro), columns)
                    self.assertEqual(found["in_flight"], [
                        micro if schedule == "gpipe" else min(micro, 4 - role)
                        for role in range(4)])


class Traffic(FiguresTest):

    def check(self, model, micro, pp, *options, ranks=None, axes=""):
        fixture = Fixture(model)
        ranks = ranks or pp
        artifact = self.build(fixture, "--mesh", f"pp={pp}{axes}",
                              "--accumulate", micro, *options)
        plan = self.inspect(artifact, "--comm", "--memory")
        trace = self.folder / "trace.json"
        lines = self.run_it(artifact, fixture, ranks, "--trace", trace)
        comm = plan["comm"]
        self.assertEqual({line["sent_bytes"] for line in lines},
                         {comm["sent_bytes"]})
        self.assertEqual({line["peak_bytes"] for line in lines},
                         {plan["memory"]["peak"]})
        self.assertEqual(plan["memory"]["peak"], max(
            role["peak"] for role in plan["memory"]["roles"]))
        self.check_messages(comm["messages"], micro)
        self.assertEqual(comm["sent_bytes"], max(
            each["sent_bytes"] for each in comm["roles"]))
        self.count(json.loads(trace.read_text())["traceEvents"],
                   comm["messages"], ranks // pp)
        return comm

    def check_messages(self, messages, micro):
        """A value and its gradient cross once for each micro-batch: 2m."""
        forth, back = collections.Counter(), collections.Counter()
        for each in messages:
            self.assertEqual(each["count"], micro, each)
            ends = each["from"], each["to"]
            is_forth = each["kind"] == "activation"
            self.assertEqual(ends[0] < ends[1], is_forth, each)
            found = forth if is_forth else back
            found[each["name"], *sorted(ends), each["bytes"]] += 1
        self.assertTrue(back)
        self.assertLessEqual(back, forth)  # some values have no gradient

    def count(self, events, messages, copies):
        """The messages that a run sends, by its trace, are those that were
        planned."""
        planned, sent = {}, {}
        for each in messages:
            key = each["from"], each["to"], each["kind"]
            planned[key] = planned.get(key, 0) + each["count"] * STEPS * copies
        for event in events:
            if event["ph"] == "b" and event["name"].startswith("send "):
                _, kind, *_, peer = event["name"].split()
                key = event["pid"] // copies, int(peer), kind
                sent[key] = sent.get(key, 0) + 1
        self.assertEqual(sent, planned)

    def test_layers(self):
        comm = self.check("odd", 5, 4)
        # One value between neighbours, with a gradient.
        self.assertEqual([(each["from"], each["to"])
                          for each in comm["messages"]
                          if each["kind"] == "activation"],
                         [(0, 1), (1, 2), (2, 3)])
        self.assertEqual(len(comm["messages"]), 6)

    def directions(self, comm, kind="activation"):
        return {(each["from"], each["to"]) for each in comm["messages"]
                if each["kind"] == kind}

    def test_skips(self):
        """The first level's goes to the last stage, over two others."""
        stages = self.folder / "stages"
        stages.write_text(UNET_STAGES)
        comm = self.check("unet", 2, 4, "--stages", stages)
        self.assertEqual(self.directions(comm),
                         {(0, 1), (0, 3), (1, 2), (2, 3)})
        self.assertEqual(self.directions(comm, "gradient"),
                         {(1, 0), (3, 0), (2, 1), (3, 2)})

    def test_memory_of_an_encoder(self):
        """Each stage of the decoder gets the encoder's output from there."""
        stages = self.folder / "stages"
        stages.write_text(TRANSLATOR_STAGES)
        comm = self.check("translator", 4, 3, "--stages", stages)
        memory = 2 * 11 * 24 * 4  # samples, tokens, width, bytes
        self.assertEqual(sorted((each["from"], each["to"])
                                for each in comm["messages"]
                                if each["bytes"] == memory),
                         [(0, 1), (0, 2), (1, 0), (2, 0)])

    def test_with_other_axes(self):
        self.check("odd", 5, 2, "--zero", "2", ranks=4, axes=",dp=2")
        self.check("gpt", 2, 2, ranks=4, axes=",tp=2")

    def test_gradients_cross_once(self):
        """For the update and for the norm alike: among two ranks, all-reduce
        sends each byte of a role's parameters once, and ZeRO half of them as
        gradients and half as parameters."""
        for zero, shares in ((0, (1, 0)), (1, (1 / 2, 1 / 2))):
            artifact = self.build(Fixture("odd"), "--mesh", "pp=2,dp=2",
                                  "--accumulate", 2, "--zero", zero,
                                  dim="batch=24")
            found = self.inspect(artifact, "--comm", "--memory")
            held = found["memory"]["parameters"]
            kinds = found["comm"]["by_kind"]
            self.assertEqual(tuple(kinds[kind]["bytes"] / held for kind in
                                   ("gradients", "parameters")), shares)
            self.assertLess(found["comm"]["by_axis"]["dp"]["bytes"],
                            1.01 * held)

    def test_tied(self):
        """Gradients are added up by the roles that hold the table: 3 of 4."""
        self.check("translator", 2, 4)


class Parameters(SmallModels):
    """Every parameter is in one role, a tied one in all that read it, whatever
    the numbers of layers and roles."""

    LAYERS, ROLES = 13, 5

    def model(self, layers):
        """Layers of odd sizes; the first and the last one share a weight."""
        widths = [5 + 2 * (index % 4) for index in range(layers)] + [5]
        weights = drawn({f"layer{i}.weight": (widths[i], widths[i + 1])
                         for i in range(layers)})
        weights |= drawn({f"layer{i}.bias": (widths[i + 1],)
                          for i in range(layers)}, 1)
        nodes, value = [], "x"
        for i in range(layers):
            nodes += [("MatMul", [value, f"layer{i}.weight"], f"p{i}"),
                      ("Add", [f"p{i}", f"layer{i}.bias"], f"s{i}"),
                      ("Tanh", [f"s{i}"], f"t{i}")]
            value = f"t{i}"
        weights |= drawn({"tied": (5, 5)}, 2)
        nodes += [("MatMul", [value, "tied"], "last")]
        nodes[0:0] = [("MatMul", ["x", "tied"], "first")]
        nodes[1] = ("MatMul", ["first", "layer0.weight"], "p0")
        return self.save(f"{layers}.onnx", nodes, weights,
                         {"x": (4, 5)}, {"last": (4, 5)})

    def held(self, artifact, roles):
        """The parameters of each role with their shapes, and their bytes."""
        plan = json.loads(self.zc("inspect", artifact, "--json", "--sharding",
                                  "--memory"))
        found = [{} for _ in range(roles)]
        for each in plan["sharding"]:
            if each["kind"] == "parameter":
                role = found[each.get("role", 0)]
                self.assertNotIn(each["name"], role)
                role[each["name"]] = tuple(each["shape"])
        memory = plan["memory"]
        return found, [each["parameters"]
                       for each in memory.get("roles", [memory])]

    def test_sum_over_roles(self):
        for layers in range(1, self.LAYERS + 1):
            model = self.model(layers)
            expected = {each.name: tuple(each.dims)
                        for each in onnx.load(model).graph.initializer}
            for roles in range(1, self.ROLES + 1):
                with self.subTest(layers=layers, roles=roles):
                    self.check(model, expected, layers, roles)

    def check(self, model, expected, layers, roles):
        options = ["--accumulate", 4] + (
            ["--mesh", f"pp={roles}"] if roles > 1 else [])
        # A product, a bias, and a product with the tied weight at both ends.
        places = 2 * layers + 2
        if roles > places:
            self.fails(1, [f"cannot be cut into {roles} stages",
                           f"expected {places} stages at most"], "compile", model, "-o",
                       self.folder / "a.zca", "--loss", "mse", *options)
            return
        artifact, _ = self.compiled(model, *options)
        held, used = self.held(artifact, roles)
        if roles == 1:  # which divides nothing, and so tells of no tensor
            held = [expected]
        names = [name for role in held for name in role]
        self.assertEqual(set(names), set(expected))
        for role in held:
            for name, shape in role.items():
                self.assertEqual(shape, expected[name], name)
        twice = {name for name in names if names.count(name) > 1}
        self.assertEqual(twice, {"tied"} if roles > 1 else set())
        self.assertEqual(names.count("tied"), min(roles, 2))
        self.assertEqual(used, [4 * sum(int(np.prod(shape))
                                        for shape in role.values())
                                for role in held])


if __name__ == "__main__":
    unittest.main()
