"""How lit runs zc's tests: .mlir for dialects and passes, .onnxtext for import
(readable ONNX with its RUN and CHECK lines as comments), .test for programs."""
import os

import lit.formats

config.name = "zc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".onnxtext", ".test"]
config.excludes = ["fixtures", "unit", "lint", "e2e", "lit.cfg.py"]
config.test_source_root = os.path.join(config.zc_source_root, "test")
config.test_exec_root = os.path.join(config.zc_binary_root, "test")

ours = os.path.join(config.zc_binary_root, "bin")
for tool in ("zc-interpret", "zc-run", "zc-opt", "zc"):
    config.substitutions.append(
        (r"(?<![\w/.-])%s(?![\w.-])" % tool, os.path.join(ours, tool)))
for tool in ("FileCheck", "not", "count"):
    config.substitutions.append(
        (r"(?<![\w/.-])%s(?![\w.-])" % tool,
         os.path.join(config.llvm_tools_dir, tool)))
config.substitutions.append(("%python", config.python))
config.substitutions.append(
    ("%fixtures", os.path.join(config.test_source_root, "fixtures")))

if os.geteuid() == 0:
    config.available_features.add("root")
