#!/usr/bin/env python3
"""Commands of the deploy page for places that are not here: torchrun's command
with the variables that torchrun sets for a process, and the container's command
in folders that stand for its own."""
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from zctest import BIN, FIXTURES, TIMEOUT, ZcTest, free_port

PAGE = FIXTURES.parents[1] / "tools" / "guide" / "deploy.md"
PACKAGES = FIXTURES.parents[1] / "tools" / "package.d"

# A stand-in for torchrun: one process a node, and its variables.
TORCHRUN = """#!/bin/bash
while [ $# -gt 0 ]; do
  case $1 in
    --nnodes) WORLD_SIZE=$2; shift ;;
    --nproc-per-node) [ "$2" = 1 ]; shift ;;
    --node-rank) RANK=$2; shift ;;
    --master-addr) MASTER_ADDR=$2; shift ;;
    --master-port) MASTER_PORT=$2; shift ;;
    --no-python) shift; break ;;
    *) echo "torchrun has no $1" >&2; exit 2 ;;
  esac
  shift
done
export RANK WORLD_SIZE MASTER_ADDR MASTER_PORT TORCHELASTIC_USE_AGENT_STORE=True
exec "$@"
"""


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(),
                      re.MULTILINE | re.DOTALL)


class Deploy(ZcTest):

    def setUp(self):
        super().setUp()
        for name, source in (("model.onnx", "model.onnx"),
                             ("train.npz", "train.npz")):
            shutil.copy(FIXTURES / "digits" / source, self.folder / name)
        self.zc("compile", self.folder / "model.onnx", "--loss",
                "softmax-cross-entropy", "--dim", "batch=64", "--mesh", "dp=2",
                "--cpu-threads", 1, "-o", self.folder / "portable.zca")

    def environment(self, **more):
        return {**os.environ, **more,
                "PATH": f"{self.folder}:{BIN.resolve()}:{os.environ['PATH']}"}

    def test_torchrun(self):
        script, = [block for block in blocks("sh") if "torchrun" in block]
        torchrun = self.folder / "torchrun"
        torchrun.write_text(TORCHRUN)
        torchrun.chmod(0o755)
        script = script.replace("29500", str(free_port()))
        nodes = [subprocess.Popen(
            ["bash", "-euc", script], cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environment(NODE=str(node), FIRST="127.0.0.1"))
            for node in range(2)]
        for node in nodes:
            out, errors = node.communicate(timeout=TIMEOUT)
            self.assertEqual(node.returncode, 0, out + errors)
        self.assertTrue(list((self.folder / "ckpt").glob("step-4*")))

    def test_container(self):
        with_deb, with_wheel = blocks("Dockerfile")
        lines = dict(re.findall(r"^(ENTRYPOINT|CMD|STOPSIGNAL) (.*)$", with_deb,
                                re.MULTILINE))
        # The content of the image and its volumes.
        for name, source in (("model", "portable.zca"), ("data", "train.npz")):
            (self.folder / name).mkdir()
            shutil.copy(self.folder / source, self.folder / name)
        (self.folder / "model" / "portable.zca").rename(
            self.folder / "model" / "step.zca")
        command = [re.sub(r"^/(model|data|ckpt)\b", rf"{self.folder}/\1", word)
                   for word in json.loads(lines["ENTRYPOINT"])
                   + json.loads(lines["CMD"])]
        for _ in range(2):  # the container is started again
            done = subprocess.run(command, text=True, capture_output=True,
                                  timeout=TIMEOUT, env=self.environment())
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nothing to do", done.stdout)
        self.assertEqual(lines["STOPSIGNAL"], "SIGTERM")
        self.assertIn("COPY portable.zca", with_wheel)

    def test_packages_have_the_names_that_images_copy(self):
        copied = re.findall(r"^COPY (zc\S+)", "".join(blocks("Dockerfile")),
                            re.MULTILINE)
        self.assertEqual(len(copied), 2)
        sys.path.insert(0, str(PACKAGES))
        import deb  # pylint: disable=import-outside-toplevel,import-error
        import wheel  # pylint: disable=import-outside-toplevel,import-error
        architecture = deb.PACKAGES["zc-runtime"][0]
        made = [f"zc-runtime_0.1.0_{architecture}.deb",
                f"zc_runtime-0.1.0-{wheel.TAG}.whl"]
        for pattern, name in zip(copied, made):
            self.assertTrue(fnmatch.fnmatch(name, pattern), (name, pattern))


if __name__ == "__main__":
    unittest.main()
