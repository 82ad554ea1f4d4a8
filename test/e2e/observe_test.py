#!/usr/bin/env python3
"""What a run tells besides its log: traces, profiles, TensorBoard's events, and
the page of zc inspect."""
import html.parser
import json
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
    """Of a Protobuf message: [(number, value)]."""
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


class Page(html.parser.HTMLParser):
    """Counts elements and remembers what they refer to."""

    def __init__(self, text):
        super().__init__()
        self.open, self.counts, self.references = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.references += [value for name, value in attributes
                            if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


class Observe(ZcTest):

    def setUp(self):
        super().setUp()
        self.fixture = Fixture("cnn")
        self.artifact = self.compile(self.fixture)

    def instructions(self, program):
        report = json.loads(self.zc("inspect", self.artifact, "--ops",
                                    "--json"))
        return sum(report["ops"]["programs"][program].values())

    def test_trace(self):
        path = self.folder / "trace.json"
        self.train(self.artifact, self.fixture.data, 3, "--trace", path)
        events = json.loads(path.read_text())["traceEvents"]
        runs = [event for event in events if event["ph"] == "X"]
        self.assertEqual(len(runs), 3 * self.instructions("step"))
        for before, after in zip(runs, runs[1:]):
            self.assertGreaterEqual(after["ts"] + 1e-3,
                                    before["ts"] + before["dur"])
        self.assertIn("convolution", {event["cat"] for event in runs})
        names = {event["args"]["name"] for event in events
                 if event["ph"] == "M"}
        self.assertEqual(names, {"rank 0", "stream 0"})

    def test_profile(self):
        out = self.zc("run", self.artifact, "--data", self.fixture.data,
                      "--steps", 2, "--profile")
        table = out[out.index("GFLOP/s"):].splitlines()[1:]
        rows = [line.split() for line in table]
        total = next(row for row in rows if row[2:] == ["in", "all"])
        rows = rows[:rows.index(total)]
        self.assertAlmostEqual(sum(float(row[0]) for row in rows),
                               float(total[0]), delta=0.001 * len(rows))
        self.assertEqual(sum(int(row[2]) for row in rows),
                         2 * self.instructions("step"))
        self.assertTrue(any("train.conv" in row for row in rows))
        for row in rows:
            self.assertRegex(row[5], r"^\d+%$")
            self.assertIn(row[6], ("compute", "memory"))
            if row[6] == "compute" and "matmul" in row:
                self.assertLessEqual(int(row[5][:-1]), 101)
        self.assertIn("limits: compute", out)

    def test_tensorboard(self):
        folder, log = self.folder / "tb" / "run", self.folder / "log.jsonl"
        self.train(self.artifact, self.fixture.data, 3, "--tensorboard",
                   folder, "--log", log, "--eval-data", self.fixture.data)
        path, = folder.iterdir()
        self.assertRegex(path.name, r"^events\.out\.tfevents\.\d+\.")
        first, *events = map(fields, records(path.read_bytes()))
        self.assertEqual(dict(first)[3], b"brain.Event:2")
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

    def test_page(self):
        path = self.folder / "page.html"
        self.zc("inspect", self.artifact, "--html", path)
        page = Page(path.read_text())
        self.assertEqual(page.open, [], "every element is closed")
        self.assertEqual(page.references, [], "it needs no other file")
        drawn = sum(self.instructions(program)
                    for program in ("init", "step", "eval"))
        self.assertEqual(page.counts["rect"], drawn)
        self.assertEqual(page.counts["svg"], 6)
        said = self.zc("inspect", self.artifact, "--html", path, "--memory",
                       "--json")
        self.assertEqual(set(json.loads(said)), set(json.loads(
            self.zc("inspect", self.artifact, "--memory", "--json"))))

    def test_page_of_several(self):
        """Of one model there is no curve by layers."""
        path = self.folder / "page.html"
        other = self.compile(self.fixture, "sgd", name="<other>.zca")
        self.zc("inspect", self.artifact, other, "--html", path)
        text = path.read_text()
        page = Page(text)
        self.assertEqual(page.open, [], "every element is closed")
        self.assertEqual(page.references, [], "it needs no other file")
        self.assertEqual(page.counts["svg"], 2)
        self.assertIn("<h3>model</h3>", text)
        self.assertIn("<h3>&lt;other&gt;</h3>", text)
        for more in (["--memory"], ["--html", path, "--json"]):
            self.fails(2, ["several", "--html FILE"], "inspect",
                       self.artifact, other, *more)
        self.fails(1, ["missing.zca"], "inspect", self.artifact,
                   self.folder / "missing.zca", "--html", path)


if __name__ == "__main__":
    unittest.main()
