#!/usr/bin/env python3
"""kill -9 at any moment leaves a checkpoint that a run can go on from."""
import random
import time
import unittest

from zctest import Fixture, ZcTest, load_tensors, read_log, start

KILLS, FIRST = 50, 6


class Kill(ZcTest):

    def test_any_moment(self):
        fixture = Fixture("mlp")
        artifact, log = self.compile(fixture), self.folder / "log.jsonl"
        self.train(artifact, fixture.data, 400, "--log", log)
        expected = [line["loss"] for line in read_log(log)]
        checkpoint = self.folder / "ckpt"
        # However slow the machine, some runs die early and some between steps.
        began = time.monotonic()
        self.train(artifact, fixture.data, FIRST, "--checkpoint", checkpoint,
                   "--save-every", 1)
        span = time.monotonic() - began
        moments = random.Random(0)
        done, reached = FIRST, set()
        for _ in range(KILLS):
            process = start("run", artifact, "--data", fixture.data, "--steps",
                            400, "--checkpoint", checkpoint, "--save-every", 1,
                            "--keep", 2, "--resume", "--log", log)
            time.sleep(moments.uniform(0, span))
            process.kill()
            process.communicate()
            steps = sorted(int(path.name.split("-")[1])
                           for path in checkpoint.glob("step-*"))
            self.assertGreaterEqual(steps[-1], done)
            done = steps[-1]
            reached.add(done)
            for kind in ("model", "optimizer"):
                self.assertTrue(load_tensors(checkpoint / f"step-{done}", kind))
        self.assertGreater(len(reached), 3, "kills between steps")
        if done < 400:
            self.train(artifact, fixture.data, 400, "--checkpoint", checkpoint,
                       "--resume", "--log", log)
            self.assertEqual(read_log(log)[-1]["loss"], expected[-1])


if __name__ == "__main__":
    unittest.main()
