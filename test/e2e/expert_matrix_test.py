#!/usr/bin/env python3
"""A part of tools/expert-matrix: every axis, ZeRO stage and kind of room, each
with some of the others."""
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHOSEN = "|".join([
    "mixtral all (dp=2,ep=2-zero[03]|ep=4-zero1|ep=2,tp=2-zero2)",
    "mixtral even (dp=2,ep=4-zero0|pp=2,dp=2,ep=2-zero1|dp=2,ep=2,tp=2-zero3)",
    "gpt_oss (all|double) (ep=2-zero0|pp=2,ep=2,tp=2-zero3|pp=2,ep=4-zero1)",
    "qwen (all|even) (dp=2,ep=2-zero1|ep=4-zero3)"])


class Matrix(unittest.TestCase):
    def test_meshes(self):
        done = subprocess.run(
            [sys.executable, ROOT / "tools/expert-matrix", "--bin",
             os.environ["ZC_BIN_DIR"], "--steps", "4", "--only",
             f"^({CHOSEN})$"], text=True, capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"^17 meshes as one rank")


if __name__ == "__main__":
    unittest.main()
