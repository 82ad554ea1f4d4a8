#!/usr/bin/env python3
"""Runs whose products are computed as was measured once: `--tune`."""
import json
import os
import shutil
import subprocess
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zctest import (BIN, TIMEOUT, ZcTest, free_port, latest_step, load_tensors,
                    run)

# A product of this depth has other bits by tiles, which add it up in blocks of
# their own, than by oneDNN; the fixtures' are too short for that.
DEPTH = 1000


class Base(ZcTest):

    def setUp(self):
        super().setUp()
        self.file, self.data = self.folder / "tune.json", self.folder / "d.npz"
        random = np.random.default_rng(0)
        weights = {"v": random.normal(size=(DEPTH, 48)) * 0.03,
                   "w": random.normal(size=(48, 32)) * 0.1}
        np.savez(self.data, x=random.normal(size=(128, DEPTH)).astype("f4"),
                 labels=random.normal(size=(128, 32)).astype("f4"))
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "v"], ["a"]),
             helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("MatMul", ["b", "w"], ["y"])], "two",
            [value("x", TensorProto.FLOAT, (64, DEPTH))],
            [value("y", TensorProto.FLOAT, (64, 32))],
            [numpy_helper.from_array(array.astype("f4"), name)
             for name, array in weights.items()])
        self.model = self.folder / "model.onnx"
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
            helper.make_opsetid("", 18)]), self.model)
        self.artifact = self.compile_for()

    def compile_for(self, *options, name="one.zca"):
        self.zc("compile", self.model, "-o", self.folder / name, "--loss",
                "mse", *options)
        return self.folder / name

    def refuse(self, patterns, *options):
        return self.fails(1, patterns, "run", self.artifact, "--data",
                          self.data, "--steps", 1, *options)

    def go(self, steps, *options, artifact=None, tune=True, **process):
        """A run's (stdout, stderr); it must succeed."""
        code, out, err = run(
            "run", artifact or self.artifact, "--data", self.data,
            "--steps", steps, "--no-shuffle",
            *(["--tune", self.file] if tune else []), *options, **process)
        self.assertEqual(code, 0, err)
        return out, err

    def ways(self):
        return json.loads(self.file.read_text())["ways"]

    def choose(self, way):
        """Writes a file by which all calls are computed in this way."""
        table = json.loads(self.file.read_text())
        for entry in table["ways"].values():
            entry["way"] = way
        self.file.write_text(json.dumps(table))

    def kept(self, folder):
        state = latest_step(self.folder / folder) / "train_state.json"
        return json.loads(state.read_text()).get("ways", {})

    def tune_first(self):
        out, _ = self.go(1)
        if "--tune: of" not in out:
            self.skipTest("this processor has one way of each product")
        return out


class Tuned(Base):

    def test_a_second_run_measures_nothing(self):
        out = self.tune_first()
        count = len(self.ways())
        self.assertRegex(out, rf"of {count} calls with several ways {count} "
                              r"were measured in [0-9.]+ s, 0 before")
        for key, entry in self.ways().items():
            self.assertRegex(key, r"oneDNN .* threads?: matmul of f32 ")
            self.assertIn(entry["way"], entry["ms"])
        before = self.file.read_bytes()
        out, _ = self.go(1)
        self.assertRegex(out, f"ways 0 were measured in .*, {count} before")
        self.assertEqual(self.file.read_bytes(), before)

    def test_a_profile_names_the_way(self):
        self.tune_first()
        for way in "library", "tiles":
            self.choose(way)
            out, _ = self.go(2, "--profile")
            self.assertIn(f"matmul train.matmul ({way}, measured)", out)
            self.assertNotIn("by rule", out)
        out, _ = self.go(2, "--profile", tune=False)
        self.assertRegex(out, r"matmul train.matmul \([a-z]+ by rule\)")
        self.assertNotIn("measured", out)

    def test_the_usual_file(self):
        self.tune_first()
        for variable, place in (("XDG_CACHE_HOME", "zc/tune.json"),
                                ("HOME", ".cache/zc/tune.json")):
            environment = {name: value for name, value in os.environ.items()
                           if name not in ("XDG_CACHE_HOME", "HOME")}
            environment[variable] = str(self.folder / variable)
            self.go(1, "--tune", tune=False, env=environment)
            self.assertTrue((self.folder / variable / place).is_file())
        environment.pop("HOME")
        self.fails(1, ["--tune: neither .*HOME", "--tune FILE"], "run",
                   self.artifact, "--data", self.data, "--steps", 1,
                   "--tune", env=environment)

    def test_a_run_goes_on_as_it_began(self):
        """Whatever the file says meanwhile, with --tune and without."""
        self.tune_first()
        self.choose("tiles")
        self.go(6, "--checkpoint", self.folder / "other")
        self.choose("library")
        self.go(6, "--checkpoint", self.folder / "whole")
        whole = load_tensors(latest_step(self.folder / "whole"))
        other = load_tensors(latest_step(self.folder / "other"))
        self.assertTrue(any(value.tobytes() != other[name].tobytes()
                            for name, value in whole.items()),
                        "the ways have the same bits: this shows nothing")
        ways = self.kept("whole")
        self.assertEqual(set(ways.values()), {"library"})
        self.go(3, "--checkpoint", self.folder / "part")
        for tune in False, True:
            folder = f"on-{tune}"
            shutil.copytree(self.folder / "part", self.folder / folder)
            self.choose("tiles")
            out, err = self.go(6, "--resume", "--profile", "--checkpoint",
                               self.folder / folder, tune=tune)
            self.assertIn("matmul train.matmul (library, measured)", out)
            self.assertNotRegex(out, "tiles|by rule")
            self.assertNotIn("warning: --resume", err)
            self.assertEqual(self.kept(folder), ways)
            found = load_tensors(latest_step(self.folder / folder))
            for name, value in whole.items():
                self.assertEqual(value.tobytes(), found[name].tobytes(), name)

    def test_a_run_on_another_machine_says_why_it_differs(self):
        self.tune_first()
        self.go(3, "--checkpoint", self.folder / "ckpt")
        out, err = self.go(6, "--resume", "--profile", "--threads", 1,
                           "--checkpoint", self.folder / "ckpt", tune=False)
        self.assertRegex(err, "--resume: .* calls .* go by rule: .* number of "
                              "threads")
        self.assertIn("by rule", out)
        _, err = self.go(8, "--resume", "--threads", 1, "--checkpoint",
                         self.folder / "ckpt")
        self.assertRegex(err, "--resume: .* are measured now: .* number of "
                              "threads")

    def test_an_artifact_is_no_tuning_file(self):
        self.fails(2, ["--tune.* takes .*one.zca.* for its FILE"], "run",
                   "--tune", self.artifact, "--data", self.data, "--steps", 1)

    def test_a_run_by_rule_is_warned_of_another_order(self):
        self.tune_first()
        self.go(3, "--checkpoint", self.folder / "ckpt", tune=False)
        self.assertEqual(self.kept("ckpt"), {})
        _, err = self.go(6, "--resume", "--checkpoint", self.folder / "ckpt")
        self.assertIn("--tune: the run so far computed by rule", err)

    def test_evaluation_is_tuned_too(self):
        self.tune_first()
        code, plain, err = run("eval", self.artifact, "--data",
                               self.data, "--json")
        self.assertEqual(code, 0, err)
        for _ in range(2):
            code, out, err = run("eval", self.artifact, "--data",
                                 self.data, "--json", "--tune",
                                 self.folder / "eval.json")
            self.assertEqual(code, 0, err)
            self.assertAlmostEqual(json.loads(out)["loss"],
                                   json.loads(plain)["loss"], places=5)
        self.assertTrue((self.folder / "eval.json").is_file())
        code, _, err = run("eval", self.artifact, "--data", self.data,
                           "--tune", self.model)
        self.assertEqual(code, 2)
        self.assertRegex(err, "--tune.* takes .*model.onnx.* for its FILE")

    def test_other_files_are_refused_and_stay(self):
        for content in b"PK\3\4 an artifact", b"{}", b'{"zc_tuning": 1':
            self.file.write_bytes(content)
            self.refuse(["--tune: .*tune.json.* is no tuning file, or damaged",
                         "another FILE"], "--tune", self.file)
            self.assertEqual(self.file.read_bytes(), content)
        self.refuse(["--tune: .*is not a regular file"], "--tune", self.folder)

    def test_what_cannot_be_written_is_said(self):
        self.tune_first()
        out, err = self.go(1, "--tune", self.data / "tune.json",
                           tune=False)
        self.assertIn("were measured", out)
        self.assertIn("--tune: what was measured is not kept", err)

    def test_a_sandbox_is_refused(self):
        self.fails(2, ["--tune", "does not go with --sandbox"], "run",
                   self.artifact, "--data", self.data, "--steps", 1,
                   "--tune", self.file, "--sandbox")


class Ranks(Base):
    """The first rank's file counts, and each call is measured once."""

    def launch(self, how, *options):
        """Two processes, each with a file by its number."""
        rank = {"tcp": "RANK", "mpi": "OMPI_COMM_WORLD_RANK"}[how]
        command = ["sh", "-c", f'exec "$@" --tune '
                   f'"{self.folder}/rank-${rank}.json"', "sh",
                   str(BIN / "zc"), "run", *map(str, options)]
        common = {"LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "2",
                  "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        ranks = [{**common, "RANK": str(i), "LOCAL_RANK": str(i)}
                 for i in range(2)]
        if how == "mpi":
            command = ["mpirun", "-n", "2", *command]
            ranks = [{"OMPI_ALLOW_RUN_AS_ROOT": "1",
                      "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                      "OMPI_MCA_rmaps_base_oversubscribe": "1"}]
        started = [subprocess.Popen(command, env={**os.environ, **each},
                                    stdout=subprocess.PIPE, text=True,
                                    stderr=subprocess.STDOUT)
                   for each in ranks]
        for each in started:
            said, _ = each.communicate(timeout=TIMEOUT)
            self.assertEqual(each.returncode, 0, said)

    def test_stages_measure_one_after_the_other(self):
        self.tune_first()
        self.file.unlink()
        artifact = self.compile_for("--mesh", "pp=2")
        out, _ = self.go(1, "--local-ranks", 2, artifact=artifact)
        count = len(self.ways())
        self.assertIn(f"of {count} calls with several ways {count} were", out)
        out, _ = self.go(1, "--local-ranks", 2, artifact=artifact)
        self.assertRegex(out, f"ways 0 were measured in .*, {count} before")

    def test_processes_follow_the_first_ones_file(self):
        """Each process has a file of its own, that of rank 1 another choice:
        all compute by rank 0's, and the run is that of threads."""
        artifact = self.compile_for("--mesh", "dp=2", "--cpu-threads", 1)
        ranks = ("--local-ranks", 2, "--checkpoint")
        out, _ = self.go(1, *ranks[:2], artifact=artifact)
        if "--tune: of" not in out:
            self.skipTest("this processor has one way of each product")
        for rank, way in ((1, "tiles"), (0, "library")):
            self.choose(way)
            shutil.copy(self.file, self.folder / f"rank-{rank}.json")
        self.go(4, *ranks, self.folder / "threads", artifact=artifact)
        whole = load_tensors(latest_step(self.folder / "threads"))
        for how in ("tcp", "mpi") if shutil.which("mpirun") else ("tcp",):
            folder = self.folder / how
            self.launch(how, artifact, "--data", self.data, "--steps",
                        4, "--no-shuffle", "--checkpoint", folder)
            self.assertEqual(set(self.kept(how).values()), {"library"})
            found = load_tensors(latest_step(folder))
            for name, value in whole.items():
                self.assertEqual(value.tobytes(), found[name].tobytes(), name)


if __name__ == "__main__":
    unittest.main()
