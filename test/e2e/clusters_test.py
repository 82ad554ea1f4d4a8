#!/usr/bin/env python3
"""The table of tools/clusters/README.md has the keys that zc reads, and no
others."""
import collections
import copy
import json
import pathlib
import re
import unittest

from zctest import ZcTest

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
    "host": {"bytes_per_s": 1}, "collectives": {}}


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
        """Which keys zc knows of an object: it says so of another one."""
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
                elif isinstance(value, list):
                    yield from objects(value[0], inner + "[]")
        found = {each for each in objects(FULL, "")
                 if not each.startswith("shares[].device")}
        self.assertEqual(found, set(documented()))


if __name__ == "__main__":
    unittest.main()
