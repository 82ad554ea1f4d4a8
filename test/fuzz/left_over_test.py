#!/usr/bin/env python3
"""A killed zc-fuzz leaves its folder in memory; the next one removes it."""
import os
import pathlib
import subprocess
import time
import unittest

PROGRAM = pathlib.Path(os.environ["ZC_BIN_DIR"]) / "zc-fuzz"


def folders_of(process):
    return [path for place in ("/dev/shm", "/tmp")
            for path in pathlib.Path(place).glob(f"zc-fuzz-{process.pid}.*")]


class LeftOver(unittest.TestCase):

    def begin(self, seconds):
        process = subprocess.Popen([PROGRAM, "npy", "--seconds", str(seconds)],
                                   stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        end = time.monotonic() + 60
        while not folders_of(process):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        return process

    def test_killed(self):
        other = self.begin(100)  # which goes on
        killed = self.begin(100)
        left = folders_of(killed)
        killed.kill()
        killed.wait()
        self.assertTrue(left[0].exists())
        subprocess.run([PROGRAM, "npy", "--runs", "1"], check=True,
                       stdout=subprocess.DEVNULL)
        self.assertFalse(left[0].exists())
        self.assertTrue(folders_of(other))


if __name__ == "__main__":
    unittest.main()
