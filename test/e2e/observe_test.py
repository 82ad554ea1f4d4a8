#!/usr/bin/env python3
"""Reports of a run besides its log: traces, profiles, TensorBoard's events, and
what zc inspect says first."""
import json
import re
import struct
import unittest

from zctest import Fixture, ZcTest, read_log


def crc32c(data):
    """Bit by bit, as the definition has it."""
    value = 0xffffffff
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
    return value ^ 0xffffffff


def masked(data):
    value = crc32c(data)
    return (value >> 15 | value << 17 & 0xffffffff) + 0xa282ead8 & 0xffffffff


def records(data):
    while data:
        length, check = struct.unpack("<QI", data[:12])
        assert check == masked(data[:8]), "a length's checksum"
        message = data[12:12 + length]
        check, = struct.unpack("<I", data[12 + length:16 + length])
        assert check == masked(message), "a message's checksum"
        yield message
        data = data[16 + length:]


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """The fields of a Protobuf message: [(number, value)]."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        found.append((key >> 3, value))
    return found


class Observe(ZcTest):

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("cnn")
        self.artifact = self.compile(self.fixture)

    def test_trace(self):
        path = self.folder / "trace.json"
        self.train(self.artifact, self.fixture.data, 3, "--trace", path)
        events = json.loads(path.read_text())["traceEvents"]
        runs = [event for event in events
                if "instruction" in event.get("args", {})]
        self.assertEqual(len(runs),
                         3 * self.instructions(self.artifact, "step"))
        for before, after in zip(runs, runs[1:]):
            self.assertGreaterEqual(after["ts"] + 1e-3,
                                    before["ts"] + before["dur"])
        self.assertIn("convolution", {event["cat"] for event in runs})
        names = {event["args"]["name"] for event in events
                 if event["ph"] == "M"}
        self.assertEqual(names, {"rank 0", "compute", "steps", "data"})

    def spans(self, *options):
        """The tracks of a run's trace beside the instructions: {category:
        [(name, begin, end)]}, and its instructions."""
        path = self.folder / "trace.json"
        self.train(self.artifact, self.fixture.data, 6, "--trace", path,
                   *options)
        spans, runs = {}, []
        for event in json.loads(path.read_text())["traceEvents"]:
            if event.get("args", {}).get("program") == "step":
                runs.append((event["name"], event["ts"],
                             event["ts"] + event["dur"]))
            elif event["ph"] == "X" and not event["args"]["program"]:
                spans.setdefault(event["cat"], []).append(
                    (event["name"], event["ts"], event["ts"] + event["dur"]))
        return spans, runs

    def test_trace_of_some_steps(self):
        spans, runs = self.spans(
            "--trace-steps", "3:4", "--checkpoint", self.folder / "ckpt",
            "--save-every", 2, "--eval-data", self.fixture.data,
            "--eval-every", 4)
        self.assertEqual([name for name, *_ in spans["steps"]],
                         ["step 3", "step 4"])
        self.assertEqual([name for name, *_ in spans["checkpoints"]],
                         ["save step 4"])
        self.assertEqual([name for name, *_ in spans["evaluation"]],
                         ["evaluate after step 4"])
        self.assertIn("read samples", [name for name, *_ in spans["data"]])
        # Every instruction lies in a step.
        self.assertEqual(len(runs),
                         2 * self.instructions(self.artifact, "step"))
        for _, begin, end in runs:
            self.assertTrue(any(first <= begin and end <= last
                                for _, first, last in spans["steps"]))

    def test_trace_of_no_step(self):
        data = ("--data", self.fixture.data, "--steps", 3)
        for text in ("0:2", "3:2", "3", "1:2:3", "a:b"):
            self.fails(2, ["--trace-steps", "10:12"], "run", self.artifact,
                       *data, "--trace", self.folder / "t.json",
                       "--trace-steps", text)
        self.fails(2, ["--trace-steps", "needs --trace FILE.json"], "run",
                   self.artifact, *data, "--trace-steps", "1:2")
        self.fails(1, ["--trace-steps 4:5: the run does steps 1 to 3"], "run",
                   self.artifact, *data, "--trace", self.folder / "t.json",
                   "--trace-steps", "4:5")

    def test_profile(self):
        out = self.zc("run", self.artifact, "--data", self.fixture.data,
                      "--steps", 2, "--profile")
        table = out[out.index("GFLOP/s"):].splitlines()[1:]
        rows = [line.split() for line in table]
        total = next(row for row in rows if row[2:] == ["in", "all"])
        rows = rows[:rows.index(total)]
        phases = [row for row in rows if len(row) == 3]
        self.assertEqual([row[2] for row in phases],
                         ["forward", "backward", "optimizer"])
        self.assertAlmostEqual(sum(float(row[0]) for row in phases),
                               float(total[0]), delta=0.003)
        rows = [row for row in rows if len(row) > 3]
        self.assertAlmostEqual(sum(float(row[0]) for row in rows),
                               float(total[0]), delta=0.001 * len(rows))
        self.assertEqual(sum(int(row[2]) for row in rows),
                         2 * self.instructions(self.artifact, "step"))
        self.assertTrue(any("train.conv" in row for row in rows))
        for row in rows:
            if "others," in row:
                continue
            self.assertGreaterEqual(float(row[1]), 0.5)
            if row[5:7] in (["from", "caches"], ["too", "short"]):
                continue
            self.assertRegex(row[5], r"^(\d|\d\d|100)%$")
            self.assertIn(row[6], ("compute", "memory"))
            if row[6] == "compute" and "matmul" in row:
                self.assertLessEqual(int(row[5][:-1]), 101)
        self.assertIn("limits: compute", out)

    def test_no_row_is_above_the_limit(self):
        """These products are shorter than those by which the limit is
        measured."""
        fixture = Fixture("gpt")
        artifact = self.compile(fixture, name="gpt.zca")
        out = self.zc("run", artifact, "--data", fixture.data, "--steps", 20,
                      "--profile")
        shares = [int(share) for share in
                  re.findall(r" (\d+)% (?:compute|memory)", out)]
        # The machine decides which rows are from caches, or too short.
        self.assertGreater(len(shares), 2)
        self.assertLessEqual(max(shares), 100)

    def test_profile_of_evaluations(self):
        out = self.zc("run", self.artifact, "--data", self.fixture.data,
                      "--steps", 1, "--profile", "--eval-data",
                      self.fixture.data)
        phases = [row[2] for row in map(str.split, out.splitlines())
                  if len(row) == 3 and row[2].isalpha()]
        self.assertEqual(phases,
                         ["forward", "backward", "optimizer", "evaluation"])

    def test_tensorboard(self):
        folder, log = self.folder / "tb" / "run", self.folder / "log.jsonl"
        self.train(self.artifact, self.fixture.data, 3, "--tensorboard",
                   folder, "--log", log, "--eval-data", self.fixture.data)
        path, = folder.iterdir()
        self.assertRegex(path.name, r"^events\.out\.tfevents\.\d+\.")
        first, given, *events = map(fields, records(path.read_bytes()))
        self.assertEqual(dict(first)[3], b"brain.Event:2")
        self.check_hyperparameters(given)
        curves = {}
        for event in map(dict, events):
            for _, value in fields(event[5]):
                value = dict(fields(value))
                tag = value[1].decode()
                curves.setdefault(tag, {})[event[2]], = struct.unpack(
                    "<f", value[2])
        lines = read_log(log)
        for tag in ("loss", "lr", "grad_norm"):
            for line in lines:
                self.assertAlmostEqual(curves[tag][line["step"]], line[tag],
                                       delta=1e-6 * abs(line[tag]))
        self.assertEqual(set(curves["eval_loss"]), {3})

    def check_hyperparameters(self, event):
        """As the plugin "hparams" of TensorBoard has them."""
        found = {}
        for _, value in fields(dict(event)[5]):
            value = dict(fields(value))
            plugin = dict(fields(dict(fields(value[9]))[1]))
            self.assertEqual(plugin[1], b"hparams")
            found[value[1]] = dict(fields(plugin[2]))
        start = fields(found[b"_hparams_/session_start_info"][3])
        values = {}
        for key, value in start:
            if key == 1:
                name, given = (each for _, each in fields(value))
                kind, given = fields(given)[0]
                values[name.decode()] = (
                    struct.unpack("<d", given)[0] if kind == 2
                    else given.decode())
        self.assertEqual(values["lr"], 0.001)
        self.assertEqual(values["beta2"], 0.999)
        self.assertEqual(values["optimizer"], "adamw")
        self.assertEqual(values["seed"], 0)
        self.assertNotIn("tensorboard", values)
        described = [dict(fields(value))[1].decode() for key, value in fields(
            found[b"_hparams_/experiment"][2]) if key == 4]
        self.assertEqual(set(described), set(values))

    def test_what_it_is_of_comes_first(self):
        """Inputs, outputs, options, parameters by module and threads."""
        lines = self.zc("inspect", self.artifact).splitlines()
        self.assertRegex(lines[0], r"^training of model.onnx .*at most \d+ thr")
        text = "\n".join(lines[:lines.index("")])
        batch = self.fixture.reference["batch"]
        self.assertRegex(text, rf"\ninputs\n  x +float32 \[{batch}, ")
        self.assertRegex(text, rf"\n  labels +int64 \[{batch}\]; the labels, 0 "
                               r"to \d+, -100 is ignored\noutputs\n")
        self.assertRegex(text, r"\noptions\n  .*beta1 0\.9")
        found = json.loads(self.zc("inspect", self.artifact, "--json"))
        weights = self.fixture.weights("adamw")
        trained = [name for name in weights if "running" not in name]
        self.assertEqual(sum(each["tensors"] for each in found["modules"]),
                         len(trained))
        self.assertEqual(sum(each["elements"] for each in found["modules"]),
                         sum(weights[name].size for name in trained))
        self.assertEqual([each["labels"] for each in found["inputs"]],
                         [False, True])
        self.assertEqual(found["inputs"][0]["dims"][0], batch)
        # The same of ranks that divide batch and parameters.
        divided = self.compile(self.fixture, "adamw", "--mesh", "dp=2",
                               "--zero", 3, "--accumulate", 2, name="d.zca")
        other = json.loads(self.zc("inspect", divided, "--json"))
        for key in ("inputs", "outputs", "modules"):
            self.assertEqual(other[key], found[key])
        self.assertIn("\nmesh\n  dp=2\n", self.zc("inspect", divided))


if __name__ == "__main__":
    unittest.main()
