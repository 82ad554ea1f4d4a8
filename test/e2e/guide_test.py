#!/usr/bin/env python3
"""Every command of the user's guide, page by page, on small files: what is
written there must run as it stands. Its blocks of Python need PyTorch, which
the set-up does not install: they are read as Python everywhere, and run where
ZC_TORCH_PYTHON names an interpreter that has torch and onnxscript."""
import ast
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
                   r"^```(?P<language>sh|python)\n(?P<script>.*?)^```$",
                   re.MULTILINE | re.DOTALL)
README = GUIDE.parents[1] / "README.md"
TORCH = os.environ.get("ZC_TORCH_PYTHON")
# Names that a page's Python takes for given, besides the first page's own.
BEFORE = {
    "README": "images, classes = np.random.rand(8, 1, 8, 8), np.arange(8)\n",
    "python": "loader = [(torch.rand(64, 1, 8, 8), "
              "torch.randint(0, 10, (64,)))]\n"}
# A reader's next lines.
AFTER = {
    "recipes": """
import subprocess
model.head = Lora(model.head)
torch.onnx.export(model, (x,), "lora.onnx", dynamo=True, optimize=False, input_names=["x"], output_names=["logits"])
subprocess.run(["zc", "compile", "lora.onnx", "--loss", "softmax-cross-entropy", "--batch", "32", "--train", "lora_"],
               check=True)
subprocess.run(["zc", "run", "lora.zca", "--data", "train.npz", "--steps", "2"], check=True)
"""}
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


def blocks(page, language):
    """The pieces of a page in that language, but for those not to be run."""
    return [block["script"] for block in BLOCK.finditer(page.read_text())
            if not block["reason"] and block["language"] == language]


class GuideTest(ZcTest):

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

    def run_script(self, script, page, command=("bash", "-euc")):
        python = pathlib.Path(sys.executable).parent
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder),
                       "PYTHONPATH": str(GUIDE.parent / "python"),
                       "ZC_LIBRARY": str(BIN.parent / "lib" / "libzc.so.1"),
                       "PATH": f"{BIN.resolve()}:{python}:{os.environ['PATH']}"}
        done = subprocess.run(
            [*command, script], cwd=self.folder, text=True,
            env=environment, timeout=TIMEOUT, capture_output=True)
        self.assertEqual(done.returncode, 0,
                         f"{page.name}:\n{script}{done.stderr}")

    def run_page(self, page):
        for script in blocks(page, "sh"):
            self.run_script(script, page)


class Guide(GuideTest):

    def test_readme(self):
        """Each of its pieces by itself, on a model as its exporter leaves it:
        of a fixed batch."""
        model = onnx.load(self.folder / "model.onnx")
        for value in [*model.graph.input, *model.graph.output]:
            value.type.tensor_type.shape.dim[0].dim_value = 64
        onnx.save(model, self.folder / "model.onnx")
        scripts = blocks(README, "sh")
        self.assertEqual(len(scripts), 2)
        for script in scripts:
            self.run_script(script, README)
            shutil.rmtree(self.folder / "ckpt")
            (self.folder / "step.zca").unlink()


class Python(GuideTest):

    def test_blocks_are_python(self):
        for page in (*PAGES, README):
            for script in blocks(page, "python"):
                with self.subTest(page=page.name):
                    ast.parse(script)

    def run_page_with_python(self, page):
        """In the order of the page, whose commands make what Python reads."""
        first, = blocks(GUIDE / "first-model.md", "python")
        before = first + BEFORE.get(page.stem, "")
        self.run_script(before, page, (TORCH, "-c"))
        for block in BLOCK.finditer(page.read_text()):
            if block["language"] == "python":
                script = before + block["script"] + AFTER.get(page.stem, "")
                self.run_script(script, page, (TORCH, "-c"))
            elif page != README and not block["reason"]:
                self.run_script(block["script"], page)


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
        if blocks(page, "sh"):
            def test(self, page=page):
                self.run_page(page)
            setattr(Guide, f"test_{page.stem.replace('-', '_')}", test)
    for page in (*PAGES, README):
        if blocks(page, "python"):
            @unittest.skipUnless(TORCH, "ZC_TORCH_PYTHON names no Python that "
                                        "has PyTorch")
            def test(self, page=page):
                self.run_page_with_python(page)
            name = page.stem.lower().replace("-", "_")
            setattr(Python, f"test_{name}", test)


add_tests()

if __name__ == "__main__":
    unittest.main()
