#!/usr/bin/env python3
"""zc plan --html and --chakra: what they write says what the timeline and the
plan say."""
import collections
import html.parser
import json
import re
import shutil
import unittest

from plan_test import PlanTest
from zctest import Fixture

WIDTH = 1000  # of a drawing


class Page(html.parser.HTMLParser):
    """Rectangles by role and track, and whether what is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.rectangles = {}  # (role, track) -> [(x, width, fill, title)]
        self.role = self.track = self.rectangle = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("meta", "path"):
            return
        self.open.append(tag)
        if tag == "rect":
            self.rectangle = dict(attrs)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data
        inner = self.open[-1] if self.open else ""
        if inner == "h3":
            self.role = int(data.split(",")[0].split()[1])
        if inner == "text" and not data.endswith("ms"):
            self.track = data
        if inner == "title" and self.rectangle:
            self.rectangles.setdefault((self.role, self.track), []).append(
                (float(self.rectangle["x"]), float(self.rectangle["width"]),
                 self.rectangle["fill"], data))
            self.rectangle = None


def size(count):
    """As zc prints sizes."""
    for unit, digits in (("GiB", 2), ("MiB", 2), ("KiB", 1)):
        scale = 1024 ** ("KiB", "MiB", "GiB").index(unit) * 1024
        if count >= scale:
            return f"{count / scale:.{digits}f} {unit}"
    return f"{count} B"


class Pages(PlanTest):

    def page(self, *args):
        target = self.folder / "plan.html"
        self.zc("plan", *args, "--html", target)
        text = target.read_text()
        page = Page(text)
        self.assertEqual(page.open, [])
        # Nothing is fetched, nothing runs.
        for tag, attrs in page.tags:
            self.assertNotIn(tag, ("script", "link", "img", "iframe"))
            self.assertFalse({"src", "href", "onload"} & set(attrs))
        return page, text

    def test_page_is_the_timeline(self):
        """A rectangle for each event, where the timeline has it."""
        model = self.folder / "a<b> & c.onnx"
        shutil.copy(self.gpt.model, model)
        timeline = self.folder / "timeline.json"
        options = [model, *self.gpt.compile_options("adamw"), "--mesh",
                   "pp=2,dp=2", "--accumulate", "2", "--cluster", "h100-dgx"]
        page, text = self.page(*options, "--timeline", timeline)
        self.assertIn("<h1>a&lt;b&gt; &amp; c.onnx on h100-dgx</h1>", text)
        events = json.loads(timeline.read_text())
        tracks = {(each["pid"], each["tid"]): each["args"]["name"]
                  for each in events if each.get("name") == "thread_name"}
        drawn = [each for each in events if each["ph"] == "X"]
        end = max(each["ts"] + each["dur"] for each in drawn)
        expected = {}
        for each in drawn:
            expected.setdefault(
                (each["pid"], tracks[each["pid"], each["tid"]]), []).append(
                    (each["ts"] / end * WIDTH, each["dur"] / end * WIDTH,
                     each["name"]))
        self.assertGreater(len(expected), 6)
        for place, events in expected.items():
            found = sorted(page.rectangles[place])
            self.assertEqual(len(found), len(events), place)
            self.assertEqual(sorted(title.split("\n")[0]
                                    for _, _, _, title in found),
                             sorted(name for _, _, name in events))
            for one, other in zip(found, sorted(events)):
                self.assertAlmostEqual(one[0], other[0], delta=0.02)
                self.assertAlmostEqual(one[1], max(0.05, other[1]), delta=0.02)
        fills = {title.split()[0]: fill for _, _, fill, title in
                 page.rectangles[0, "order"]}
        self.assertEqual(len({fills["forward"], fills["backward"],
                              fills["apply"]}), 3)
        # The page shows the numbers of the plan.
        plan = self.plan(*options)
        self.assertIn(f"{plan['step_s'] * 1e6:.1f} us", page.text)
        for role in plan["roles"]:
            self.assertIn(f"live of the {size(role['memory']['peak'])} that "
                          "are allocated", page.text)

    def test_memory_is_the_peak(self):
        """With one role, the drawn memory reaches up to the bytes that programs
        have live."""
        for optimizer in ("sgd", "adamw"):
            options = [self.gpt.model, *self.gpt.compile_options(optimizer)]
            artifact = self.folder / "one.zca"
            self.zc("compile", *options, "-o", artifact)
            memory = json.loads(self.zc("inspect", artifact,
                                        "--json"))["memory"]
            page, _ = self.page(artifact, "--cluster", "ideal")
            most = memory["persistent"] + memory["programs"]["step"]["live"]
            self.assertIn(f"at most {size(most)} live of the "
                          f"{size(memory['peak'])}", page.text)
            self.assertNotIn("forward", {title.split()[0] for *_, title in
                                         page.rectangles[0, "order"]})

    def test_much_is_drawn_in_slices(self):
        """Many micro-batches: the same busy time, in fewer rectangles."""
        # One stage of as many micro-batches as the page has no room for.
        accumulate = 256
        page, text = self.page(
            self.gpt.model, *self.gpt.compile_options("sgd"), "--batch",
            accumulate * 2, "--mesh", "pp=2", "--accumulate", accumulate,
            "--cluster", "h100-dgx")
        rectangles = sum(map(len, page.rectangles.values()))
        self.assertLess(rectangles, 17000)
        self.assertLess(len(text), 4e6)
        sliced = page.rectangles[0, "compute"]
        self.assertTrue(any("mostly backward" in title
                            for _, _, _, title in sliced))
        for (x, width, _, _), (after, *_) in zip(sliced, sliced[1:]):
            self.assertLessEqual(x + width, after + 0.02)
        for each in page.rectangles.values():
            for x, width, _, title in each:
                self.assertTrue(-0.01 <= x <= x + width <= WIDTH + 0.1, title)


COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7
LOAD, STORE = 2, 3


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """The fields of a message in Protobuf's wire format: (number, value)
    pairs."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            assert key & 7 == 2, key
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        found.append((key >> 3, value))
    assert at == len(data)
    return found


def numbers(data):
    at, found = 0, []
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


# The types of et_def.proto's values, as Chakra's feeder reads each attribute.
VALUES = {"is_cpu_op": 27, "num_ops": 9, "tensor_size": 13, "comm_type": 9,
          "comm_size": 9, "comm_src": 7, "comm_dst": 7, "comm_tag": 7,
          "pg_name": 29, "axes": 29, "sent_bytes": 9}


def nodes_of(path):
    """The nodes of a trace, as (id, name, type, ctrl, data, start, lasts,
    attributes)."""
    data, at, messages = path.read_bytes(), 0, []
    while at < len(data):
        size, at = varint(data, at)
        messages.append(data[at:at + size])
        at += size
    assert fields(messages[0]) == [(1, b"0.0.4")]
    nodes = []
    for message in messages[1:]:
        node = {"ctrl": [], "data": [], "start": 0, "lasts": 0, "attr": {}}
        for number, value in fields(message):
            if number in (4, 5):
                node["ctrl" if number == 4 else "data"] += numbers(value)
            elif number == 10:
                (_, name), (kind, what) = fields(value)
                name = name.decode()
                assert VALUES[name] == kind, name
                node["attr"][name] = what.decode() if kind == 29 else what
            else:
                key = {1: "id", 2: "name", 3: "type", 6: "start",
                       7: "lasts"}[number]
                node[key] = value.decode() if number == 2 else value
        nodes.append(node)
    return nodes


class Chakra(PlanTest):

    def traces(self, ranks, *options, model="gpt", optimizer="sgd"):
        """The traces of all ranks, which are sound; and the plan."""
        fixture, folder = Fixture(model), self.folder / "traces" / "deep"
        shutil.rmtree(folder, ignore_errors=True)
        plan = self.plan(fixture.model, *fixture.compile_options(optimizer),
                         *(options if "--cluster" in options
                           else ("--cluster", "h100-dgx", *options)),
                         "--chakra", folder)
        traces = [nodes_of(folder / f"zc.{rank}.et") for rank in range(ranks)]
        self.assertEqual(len(list(folder.glob("*.et"))), ranks)
        self.groups = json.loads((folder / "comm_groups.json").read_text())
        for name in ("system.json", "memory.json"):
            json.loads((folder / name).read_text())
        self.network = (folder / "network.yml").read_text()
        for rank, nodes in enumerate(traces):
            for place, node in enumerate(nodes):
                self.assertEqual(node["id"], place + 1)
                self.assertTrue(set(node["ctrl"]) <= set(node["data"]))
                for other in node["data"]:
                    self.assertTrue(0 < other < node["id"])
                    before = nodes[other - 1]
                    # Dependences have ended, as the plan simulated it, to the
                    # microseconds that times are rounded to.
                    if before["type"] != SEND or node["type"] != SEND:
                        self.assertGreaterEqual(
                            node["start"] + 2,
                            before["start"] + before["lasts"], (rank, node))
                if node["type"] == COLLECTIVE:
                    self.assertIn(
                        rank, self.groups[node["attr"]["pg_name"]])
        self.check_pairs(traces)
        return traces, plan

    def check_pairs(self, traces):
        """Each send has its receive; collectives, all of their group."""
        sends, receives = collections.Counter(), collections.Counter()
        meetings = collections.defaultdict(list)
        for rank, nodes in enumerate(traces):
            for node in nodes:
                attr = node["attr"]
                if node["type"] in (SEND, RECEIVE):
                    isSend = node["type"] == SEND
                    self.assertEqual(
                        attr["comm_src" if isSend else "comm_dst"], rank)
                    (sends if isSend else receives)[
                        attr["comm_src"], attr["comm_dst"], attr["comm_tag"],
                        attr["comm_size"]] += 1
                if node["type"] == COLLECTIVE:
                    meetings[attr["pg_name"], rank].append(
                        (attr["comm_type"], attr["comm_size"]))
        self.assertEqual(sends, receives)
        # A tag is used once.
        self.assertLessEqual(max(sends.values(), default=1), 1)
        for (group, rank), list_ in meetings.items():
            for other in self.groups[group]:
                self.assertEqual(meetings[group, other], list_)

    def check_traffic(self, traces, plan):
        """The rank that sends most sends as often and as many bytes, by
        axes."""
        counts = []
        for nodes in traces:
            found = collections.defaultdict(lambda: [0, 0])
            for node in nodes:
                attr = node["attr"]
                if node["type"] in (SEND, COLLECTIVE):
                    found[attr["axes"]][0] += 1
                    found[attr["axes"]][1] += attr.get("sent_bytes",
                                                       attr["comm_size"])
            counts.append({axes: tuple(each) for axes, each in found.items()})
        expected = {axes: (each["count"], each["bytes"])
                    for axes, each in plan["traffic"]["by_axis"].items()}
        self.assertIn(expected, counts)

    def test_layouts(self):
        for ranks, *options in (
                (1,), (2, "--mesh", "dp=2"),
                (4, "--mesh", "dp=2,tp=2", "--zero", "3"),
                (4, "--mesh", "pp=2,dp=2", "--accumulate", "2"),
                (2, "--mesh", "sp=2", "--sp-attention", "ulysses"),
                (4, "--mesh", "sp=4", "--sp-attention", "ring"),
                (4, "--mesh", "pp=4", "--accumulate", "4", "--schedule",
                 "zero-bubble=h1")):
            with self.subTest(options=options):
                traces, plan = self.traces(ranks, *options)
                self.check_traffic(traces, plan)
                counts = re.search(r"npus_count: \[ (.*) \]", self.network)
                self.assertEqual(counts[1], str(ranks))
                self.assertIn("bandwidth: [ ", self.network)
                # A ring of attention is sends and receives.
                self.assertEqual(
                    "ring" in options or "pp" in " ".join(map(str, options)),
                    any(node["type"] == SEND for node in traces[0]))

    def test_placement_numbers_ranks_by_devices(self):
        """Sixteen ranks are two nodes: pipelines stand in one."""
        options = ["--mesh", "pp=2,dp=8", "--batch", 16, "--accumulate", 2]
        traces, _ = self.traces(16, *options, "--placement", "dp,pp")
        self.assertIn("npus_count: [ 8, 2 ]", self.network)
        for rank, nodes in enumerate(traces):
            for node in nodes:
                if node["type"] == SEND:
                    self.assertEqual(node["attr"]["comm_dst"] // 2, rank // 2)

    def test_network_of_uneven_blocks(self):
        """Six ranks in nodes of four: one dim. The network has 2^30 bytes."""
        cluster = self.folder / "c.json"
        cluster.write_text(json.dumps({
            "name": "c", "device": {
                "name": "d", "memory_bytes_per_s": 1e10,
                "flops_per_s": {"f32": 1e11}},
            "levels": [{"name": "node", "size": 4, "bytes_per_s": 2**32,
                        "latency_s": 1e-6},
                       {"name": "net", "size": 64, "bytes_per_s": 2**31,
                        "latency_s": 3e-6}]}))
        for ranks, expected in ((6, ("6", "2", "3000")),
                                (8, ("4, 2", "4, 2", "1000, 3000"))):
            self.traces(ranks, "--mesh", f"dp={ranks}", "--batch", ranks,
                        "--cluster", cluster)
            self.assertEqual(
                tuple(re.findall(r": \[ (.*) \]", self.network)[1:]), expected)

    def test_durations(self):
        """Work is as long as the plan says; flops are the model's."""
        traces, plan = self.traces(1)
        works = [node for node in traces[0]
                 if node["type"] == COMPUTE and not node["attr"]["is_cpu_op"]]
        lasts = sum(node["lasts"] for node in works) / 1e6
        self.assertAlmostEqual(lasts, sum(plan["compute_s"].values()),
                               delta=0.5e-6 * len(works))
        self.assertGreaterEqual(sum(node["attr"]["num_ops"] for node in works),
                                plan["executed_flops"])

    def test_offloaded_states(self):
        traces, _ = self.traces(1, "--offload", "optimizer",
                                optimizer="adamw")
        types = collections.Counter(node["type"] for node in traces[0])
        self.assertGreater(types[LOAD], 0)
        self.assertGreater(types[STORE], 0)


class Refusals(PlanTest):

    def test_belongs_to_one_layout(self):
        for options in (["--table"], ["--search", "--ranks", "2"]):
            self.fails(2, ["--html", "one layout"], "plan", self.gpt.model,
                       *self.gpt.compile_options("sgd"), *options,
                       "--cluster", "h100-dgx", "--html", "x.html")
        self.fails(1, ["cannot|exists|not a"], "plan", self.gpt.model,
                   *self.gpt.compile_options("sgd"), "--cluster", "h100-dgx",
                   "--chakra", self.gpt.model)


if __name__ == "__main__":
    unittest.main()
