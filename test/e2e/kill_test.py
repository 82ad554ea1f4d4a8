#!/usr/bin/env python3
"""kill -9 at any moment leaves a checkpoint that a run can go on from."""
import random
import time
import unittest

from zctest import Fixture, ZcTest, load_tensors, read_log, start

KILLS = 50


class Kill(ZcTest):

    def test_any_moment(self):
        fixture = Fixture("mlp")
        artifact, log = self.compile(fixture), self.folder / "log.jsonl"
        self.train(artifact, fixture.data, 400, "--log", log)
        expected = [line["loss"] for line in read_log(log)]
        checkpoint = self.folder / "ckpt"
        self.train(artifact, fixture.data, 1, "--checkpoint", checkpoint)
        moments = random.Random(0)
        done, reached = 1, set()
        for _ in range(KILLS):
            process = start("run", artifact, "--data", fixture.data, "--steps",
                            400, "--checkpoint", checkpoint, "--save-every", 1,
                            "--keep", 2, "--resume", "--log", log)
            time.sleep(moments.uniform(0, 0.12))
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
