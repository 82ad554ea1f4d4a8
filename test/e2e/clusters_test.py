#!/usr/bin/env python3
"""The table of tools/clusters/README.md has the keys that zc reads, and no
others; a compilation for a cluster decides by its rates and links."""
import collections
import copy
import json
import pathlib
import re
import unittest

from zctest import Fixture, ZcTest

CLUSTERS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "clusters"

DEVICE = {
    "name": "d", "memory_bytes_per_s": 1e10, "flops_per_s": {"f32": 1e11},
    "efficiency": {"matmul": {
        "tile": {"rows": 1, "columns": 1, "multiprocessors": 1},
        "measured": [{"m": 1, "n": 1, "k": 1, "dtype": "f32",
                      "flops_per_s": 1e10}]}},
    "measured": [{"kind": "kernel", "operators": "x", "flops": 1, "bytes": 1,
                  "seconds": 1}]}

# Every object that a file may have, by the README's names.
FULL = {
    "name": "full", "device": DEVICE,
    "shares": [{"ranks": 2, "device": DEVICE}],
    "levels": [{"name": "l", "size": 64, "bytes_per_s": 1, "latency_s": 1}],
    "host": {"bytes_per_s": 1}, "collectives": {
        "protocols": [{"name": "ll", "algorithm": "ring", "latency_s": [1],
                       "bandwidth_share": [1]}],
        "measured": [
            {"kind": "message", "ranks": 2, "bytes": 1, "seconds": 1}]}}


def documented():
    """The table's keys, by the object that has them: "levels[]"."""
    keys = collections.defaultdict(set)
    for line in (CLUSTERS / "README.md").read_text().splitlines():
        if not line.startswith("| `"):
            continue
        names = re.findall("`([^`]+)`", line.split("|")[1])
        where = names[0].rpartition(".")[0]
        keys[where] |= {names[0].rpartition(".")[2], *names[1:]}
    for where in list(keys):
        while where:
            outer, _, name = where.rpartition(".")
            keys[outer].add(name.replace("[]", ""))
            where = outer
    return keys


def find(json_, where):
    for name in filter(None, where.split(".")):
        json_ = json_[name.replace("[]", "")]
        if name.endswith("[]"):
            json_ = json_[0]
    return json_


class Keys(ZcTest):

    def read_keys(self, where):
        """Reads the keys that zc knows of an object: it lists them when it meets
        another one."""
        cluster = copy.deepcopy(FULL)
        find(cluster, where)["another"] = 1
        path = self.folder / "c.json"
        path.write_text(json.dumps(cluster))
        said = self.fails(1, ["another: unknown key"], "plan", "--collectives",
                          "--cluster", path)
        return set(re.search("there are (.*)", said)[1].split(", "))

    def test_table_is_what_is_read(self):
        keys = documented()
        self.assertGreater(len(keys), 9)
        path = self.folder / "full.json"
        path.write_text(json.dumps(FULL))
        self.zc("plan", "--collectives", "--cluster", path)
        for where, expected in keys.items():
            with self.subTest(object=where):
                self.assertEqual(self.read_keys(where), expected)
        self.assertEqual(self.read_keys("shares[].device"), keys["device"])

    def test_every_object_is_there(self):
        """An object of FULL that the table forgets would not be looked at."""
        def objects(json_, where):
            yield where
            for key, value in json_.items():
                inner = f"{where}.{key}".strip(".")
                if isinstance(value, dict):
                    yield from objects(value, inner)
                elif isinstance(value, list) and isinstance(value[0], dict):
                    yield from objects(value[0], inner + "[]")
        found = {each for each in objects(FULL, "")
                 if not each.startswith("shares[].device")}
        self.assertEqual(found, set(documented()))


class Compilations(ZcTest):
    """zc compile --cluster FILE."""

    def describe(self, name, seconds, bytes_, target="cpu"):
        """The file of a cluster whose ranks have one kind of link."""
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps({
            "name": name,
            "device": dict(DEVICE, target=target),
            "levels": [{"name": "links", "size": 8, "bytes_per_s": bytes_,
                        "latency_s": seconds}]}))
        return path

    def order(self, *options):
        """The instructions of a compilation, without what it was for."""
        out = self.folder / "sched.mlir"
        gpt = Fixture("gpt")
        self.zc("compile", gpt.model, *gpt.compile_options("adamw"), "--mesh",
                "dp=4", "--zero", "3", "--emit", "sched", "-o", out, *options)
        return re.sub("#sched.target<.*", "", out.read_text())

    def test_links_decide_the_order(self):
        quick = self.order("--cluster", self.describe("quick", 1e-9, 1e15))
        slow = self.order("--cluster", self.describe("slow", 1e-3, 1e6))
        self.assertEqual(quick, self.order("--cluster",
                                           self.folder / "quick.json"))
        self.assertNotEqual(quick, slow)
        # The work is the same; what waits for what is not.
        work = re.compile(r"sched\.(?!wait|record)[a-z_]+ ")
        self.assertEqual(collections.Counter(work.findall(quick)),
                         collections.Counter(work.findall(slow)))

    def test_the_slowest_link_decides_where_it_is_crossed(self):
        """Nodes of two roles: only the middle one of three cuts is between
        nodes, and falls where fewer bytes cross."""
        path = self.describe("nodes", 1e-9, 1e15)
        cluster = json.loads(path.read_text())
        cuts = {}
        for name, slow in ("all", 1), ("middle", 2):
            cluster["levels"] = [
                {"name": "inside", "size": slow, "bytes_per_s": 1e15,
                 "latency_s": 1e-9},
                {"name": "outside", "size": 8, "bytes_per_s": 1e8,
                 "latency_s": 1e-9}]
            path.write_text(json.dumps(cluster))
            stages = self.folder / "stages.txt"
            self.zc("compile", Fixture("unet").model,
                    *Fixture("unet").compile_options("adamw"), "--mesh",
                    "pp=4", "--accumulate", "4", "--cluster", path,
                    "--write-stages", stages, "--emit", "step",
                    "-o", self.folder / "out.mlir")
            cuts[name] = stages.read_text()
        self.assertNotEqual(cuts["all"], cuts["middle"])

    def test_losses_do_not_depend_on_the_machine(self):
        gpt = Fixture("gpt")
        losses = []
        for options in ([], ["--cluster", self.describe("slow", 1e-3, 1e6)]):
            artifact = self.compile(gpt, "adamw", "--mesh", "dp=2", "--zero",
                                    "3", *options)
            log = self.folder / "log.jsonl"
            self.train(artifact, gpt.data, 3, "--local-ranks", 2, "--log", log)
            losses.append([json.loads(line)["loss"]
                           for line in log.read_text().splitlines()
                           if "loss" in json.loads(line)])
        self.assertEqual(losses[0], losses[1])

    def test_artifact_says_what_it_was_for(self):
        artifact = self.compile(Fixture("gpt"), "adamw", "--cluster",
                                self.describe("mine", 1e-6, 1e9))
        options = json.loads(self.zc("inspect", artifact, "--json"))["options"]
        self.assertRegex(options["cluster"],
                         'machine<name = "mine", rates = .*work = "matmul", '
                         'type = "f32", flops = 1.0+e\\+10')

    def test_without_a_cluster_the_usual_machine_decides(self):
        """The artifact names that machine; asked for by its name it makes the
        same programs."""
        gpt = Fixture("gpt")
        for name, options in (("usual-cpu", ()),
                              ("usual-gpu", ("--target", "cuda"))):
            with self.subTest(name):
                given = ("adamw", "--mesh", "dp=4", "--zero", "3", *options)
                made = []
                for flag in ((), ("--cluster", name)):
                    artifact = self.compile(gpt, *given, *flag)
                    told = json.loads(self.zc("inspect", artifact, "--schedule",
                                              "--comm", "--json"))
                    self.assertTrue(told["schedule"])
                    self.assertEqual(told["options"].pop("machine"), name)
                    self.assertEqual("cluster" in told["options"], bool(flag))
                    told["options"].pop("cluster", None)
                    made.append(told)
                self.assertEqual(*made)

    def plan(self, model, *options):
        """A plan, and the simulated step as a trace."""
        trace = self.folder / "trace.json"
        plan = json.loads(self.zc("plan", model, *options, "--timeline", trace,
                                  "--json"))["plan"]
        return plan, trace.read_text()

    def test_plan_is_of_what_compile_makes(self):
        """With the options that a plan prints, zc compile makes the very
        program that was planned: its peak, its bytes, its order."""
        quick = self.describe("quick", 1e-9, 1e15)
        gpt = Fixture("gpt")
        given = [*gpt.compile_options("adamw"), "--mesh", "dp=4", "--zero", "3"]
        traces = {}
        for flag in ((), ("--for-cluster",)):
            with self.subTest(flag=flag):
                plan, traces[flag] = self.plan(gpt.model, *given, *flag,
                                               "--cluster", quick)
                missing = plan.pop("compile_options")
                self.assertEqual(missing, f"--cluster {quick}" if flag else "")
                artifact = self.folder / "a.zca"
                self.zc("compile", gpt.model, *given, *missing.split(), "-o",
                        artifact)
                made, trace = self.plan(artifact, "--cluster", quick)
                self.assertEqual(made.pop("compile_options"), "")
                self.assertEqual(made, plan)
                self.assertEqual(trace, traces[flag])
        self.assertNotEqual(*traces.values())

    def test_search_says_what_compile_needs(self):
        gpu = self.describe("gpus", 1e-4, 1e8, target="cuda")
        gpt = Fixture("gpt")
        given = gpt.compile_options("adamw")
        for flag, expected in ((), "--target cuda"), (
                ("--for-cluster",), f"--cluster {gpu}"):
            with self.subTest(flag=flag):
                search = ["plan", gpt.model, *given, *flag, "--search",
                          "--mesh", "dp=2", "--zero", "3", "--accumulate", "1",
                          "--cluster", gpu]
                found = json.loads(self.zc(*search, "--json"))["search"]
                winner = found["winner"]
                self.assertEqual(found["compile_options"],
                                 f"{winner['options']} {expected}")
                self.assertIn(f"do not name, and {expected})",
                              self.zc(*search))
                artifact = self.folder / "a.zca"
                self.zc("compile", gpt.model, *given,
                        *found["compile_options"].split(), "--cubins", "none",
                        "-o", artifact)
                made, _ = self.plan(artifact, "--cluster", gpu)
                self.assertEqual(made["step_s"], winner["step_s"])
                self.assertEqual(made["memory"]["peak"], winner["memory"])

    def test_table_says_what_compile_needs(self):
        gpu = self.describe("gpus", 1e-4, 1e8, target="cuda")
        gpt = Fixture("gpt")
        given = [*gpt.compile_options("adamw"), "--mesh", "dp=2"]
        for flag, expected in ((), "--target cuda"), (
                ("--for-cluster",), f"--cluster {gpu}"):
            with self.subTest(flag=flag):
                table = ["plan", gpt.model, *given, *flag, "--table",
                         "--cluster", gpu]
                rows = json.loads(self.zc(*table, "--json"))["table"]
                self.assertEqual([row["compile_options"] for row in rows],
                                 [f"--zero {i} {expected}" for i in range(4)])
                self.assertIn(f"its --zero and {expected})", self.zc(*table))
        artifact = self.folder / "a.zca"
        self.zc("compile", gpt.model, *given,
                *rows[2]["compile_options"].split(), "--cubins", "none", "-o",
                artifact)
        made, _ = self.plan(artifact, "--cluster", gpu)
        self.assertEqual(made["memory"]["peak"], rows[2]["training_memory"])

    def test_ranks_of_a_compilation_have_no_placement(self):
        gpt = Fixture("gpt")
        self.fails(2, ["--for-cluster: ranks stand as they are numbered"],
                   "plan", gpt.model, *gpt.compile_options("adamw"), "--mesh",
                   "dp=2", "--placement", "dp", "--for-cluster", "--cluster",
                   "ideal")
        gpu = self.describe("gpus", 1e-4, 1e8, target="cuda")
        for options, message in (
                (("--target", "cpu"), "has devices of kind 'cuda', not 'cpu'"),
                (("--mesh", "dp=16"), "has room for 8 ranks, fewer than 16")):
            self.fails(2, [f"--cluster: cluster 'gpus' {message}"], "plan",
                       gpt.model,
                       *gpt.compile_options("adamw"), "--for-cluster",
                       "--cluster", gpu, *options)
        self.fails(2, ["--for-cluster: belongs to a model"], "plan",
                   "--collectives", "--for-cluster", "--cluster", "ideal")

    def test_each_mesh_is_described(self):
        """An artifact for two meshes has each mesh's program unchanged."""
        slow = self.describe("slow", 1e-3, 1e6)
        gpt = Fixture("gpt")
        given = [gpt.model, *gpt.compile_options("adamw"), "--zero", "3",
                 "--cluster", slow]
        both = self.folder / "both.zca"
        self.zc("compile", *given, "--mesh", "dp=4", "--mesh", "dp=2", "-o",
                both)
        alone = self.folder / "alone.zca"
        self.zc("compile", *given, "--mesh", "dp=4", "-o", alone)
        self.assertEqual(self.plan(both, "--cluster", slow),
                         self.plan(alone, "--cluster", slow))

    def test_devices_are_the_clusters(self):
        gpu = self.describe("gpus", 1e-6, 1e9, target="cuda")
        self.assertIn("cublaslt", self.order("--cluster", gpu))
        gpt = Fixture("gpt")
        for wrong, *options in (
                ["'gpus' has devices of kind 'cuda', not 'cpu'", "--target",
                 "cpu", "--cluster", gpu],
                ["'gpus' has room for 8 ranks, fewer than 16",
                 "--mesh", "dp=16", "--cluster", gpu]):
            with self.subTest(wrong=wrong):
                self.fails(2, [wrong], "compile", gpt.model,
                           *gpt.compile_options("adamw"), *options)

    def test_files_that_cannot_be_read(self):
        """The usage was right, and the work failed: in compilations as in
        plans."""
        gpt = Fixture("gpt")
        broken = self.folder / "broken.json"
        broken.write_text("{")
        for cluster, message in (
                ("absent.json",
                 "no cluster file 'absent.json'; presets are .*h100-dgx"),
                (broken, "broken.json: is no JSON")):
            for command in ("compile", "plan"):
                with self.subTest(cluster=cluster, command=command):
                    self.fails(1, [message], command, gpt.model,
                               *gpt.compile_options("adamw"), "--cluster",
                               cluster)


if __name__ == "__main__":
    unittest.main()
