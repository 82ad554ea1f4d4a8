#!/usr/bin/env python3
"""zc.Session(tune=FILE): the ways of `zc run --tune FILE`, which go on with a
checkpoint."""
import json
import unittest

from python_module import PythonTest, batches_of, repeat, zc
from zctest import Fixture, latest_step, load_tensors


class Tuning(PythonTest):

    def train_and_save(self, artifact, steps, folder, resume=None, tune=None):
        arrays = repeat(Fixture("mlp"), 6)
        with zc.Session(artifact, tune=tune) as session:
            if resume:
                session.resume(resume)
            batches = list(batches_of(arrays, session.batch))
            for batch in batches[session.steps_done:][:steps]:
                session.step(batch)
            session.save(folder)
        return latest_step(folder)

    def test_a_session_goes_on_as_it_began(self):
        artifact, file = self.compiled(), self.folder / "tune.json"
        with self.assertLogs("zc", "INFO") as logs:
            self.train_and_save(artifact, 1, self.folder / "first", tune=file)
        if not file.exists():
            self.skipTest("this processor has one way of each product")
        self.assertRegex("\n".join(logs.output), "--tune: of .* were measured")
        table = json.loads(file.read_text())
        for entry in table["ways"].values():
            entry["way"] = "library"
        file.write_text(json.dumps(table))
        whole = self.train_and_save(artifact, 6, self.folder / "whole",
                                    tune=file)
        part = self.train_and_save(artifact, 3, self.folder / "part", tune=file)
        end = self.train_and_save(artifact, 3, self.folder / "end", resume=part)
        kept = [json.loads((each / "train_state.json").read_text())["ways"]
                for each in (whole, end)]
        self.assertEqual(set(kept[0].values()), {"library"})
        self.assertEqual(kept[0], kept[1])
        found = load_tensors(end)
        for name, value in load_tensors(whole).items():
            self.assertEqual(value.tobytes(), found[name].tobytes(), name)

    def test_other_files_are_refused(self):
        file = self.folder / "tune.json"
        file.write_text("{}")
        with self.assertRaisesRegex(zc.InvalidArgumentError,
                                    "is no tuning file"):
            zc.Session(self.compiled(), tune=file)


if __name__ == "__main__":
    unittest.main()
