#!/usr/bin/env python3
"""Every command of the user's guide, page by page, on small files: what is
written there must run as it stands."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import numpy as np
import onnx

from zctest import BIN, FIXTURES, TIMEOUT, ZcTest

GUIDE = FIXTURES.parents[1] / "tools" / "guide"
PAGES = sorted(path for path in GUIDE.glob("*.md"))
BLOCK = re.compile(r"(?:<!-- not run: (?P<reason>[^>]+) -->\n)?"
                   r"^```sh\n(?P<script>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


class Guide(ZcTest):

    def setUp(self):
        super().setUp()
        for name, source in (("model.onnx", "digits/model.onnx"),
                             ("train.npz", "digits/train.npz"),
                             ("held.npz", "digits/heldout.npz"),
                             ("gpt.onnx", "gpt/model.onnx"),
                             ("experts.onnx", "moe/topk.onnx"),
                             ("experts.npz", "moe/data.npz")):
            shutil.copy(FIXTURES / source, self.folder / name)
        tokens = np.random.default_rng(0).integers(0, 96, 2000)
        tokens.astype(np.uint16).tofile(self.folder / "tokens_1.bin")

    def run_script(self, script, page):
        python = pathlib.Path(sys.executable).parent
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder),
                       "PYTHONPATH": str(GUIDE.parent / "python"),
                       "ZC_LIBRARY": str(BIN.parent / "lib" / "libzc.so.1"),
                       "PATH": f"{BIN.resolve()}:{python}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["bash", "-euc", script], cwd=self.folder, text=True,
            env=environment, timeout=TIMEOUT, capture_output=True)
        self.assertEqual(done.returncode, 0,
                         f"{page.name}:\n{script}{done.stderr}")

    def run_page(self, page):
        for block in BLOCK.finditer(page.read_text()):
            if not block["reason"]:
                self.run_script(block["script"], page)

    def test_readme(self):
        """Each of its pieces by itself, on a model as its exporter leaves it:
        of a fixed batch."""
        model = onnx.load(self.folder / "model.onnx")
        for value in [*model.graph.input, *model.graph.output]:
            value.type.tensor_type.shape.dim[0].dim_value = 64
        onnx.save(model, self.folder / "model.onnx")
        readme = GUIDE.parents[1] / "README.md"
        scripts = [block["script"] for block in
                   BLOCK.finditer(readme.read_text())]
        self.assertEqual(len(scripts), 2)
        for script in scripts:
            self.run_script(script, readme)
            shutil.rmtree(self.folder / "ckpt")
            (self.folder / "step.zca").unlink()


class Links(unittest.TestCase):

    def test_lead_somewhere(self):
        root = GUIDE.parents[1]
        for page in [*PAGES, *root.glob("README.md"),
                     *root.glob("[a-z]*/README.md")]:
            text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
            for link in LINK.findall(text):
                self.assertTrue((page.parent / link).exists(),
                                f"{page}: {link}")

    def test_the_index_has_all_pages(self):
        listed = set(LINK.findall((GUIDE / "README.md").read_text()))
        self.assertEqual(listed, {path.name for path in PAGES} - {"README.md"})


def add_tests():
    for page in PAGES:
        if "```sh" in page.read_text():
            def test(self, page=page):
                self.run_page(page)
            setattr(Guide, f"test_{page.stem.replace('-', '_')}", test)


add_tests()

if __name__ == "__main__":
    unittest.main()
