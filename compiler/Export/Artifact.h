//===- Artifact.h - from instructions to one file ---------------*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_ARTIFACT_H
#define ZC_COMPILER_EXPORT_ARTIFACT_H

#include "mlir/IR/BuiltinOps.h"
#include "runtime/Base/Status.h"
#include "runtime/Plan/Manifest.pb.h"
#include "runtime/Plan/Order/Schedules.h"

#include <string>
#include <vector>

namespace zc {

/// Machine code for one kind of processor: a shared object for CPUs; a cubin or
/// PTX for GPUs.
struct CodeInput {
  std::string arch;                  // "x86-64-v4"; names the entry
  std::vector<std::string> features; // that it needs, as LLVM spells them
  std::string bytes;
  std::string suffix = "so"; // of the entry: so, cubin or ptx
};

/// A tensor that the artifact carries for `zc export` although no program reads
/// it: bytes at hand, or a part of a file.
struct StoredTensor {
  std::string name;
  plan::TensorType type;
  std::string bytes; // used when `file` is empty
  std::string file;  // relative to the model's folder
  uint64_t offset = 0;
  uint64_t length = 0;
  bool transposed = false; // the file has the bytes of the transposed matrix
};

struct ExportInput {
  /// States, kernels with their grids, programs with all offsets. Where it has
  /// nested modules with `train.role`, each of them has those of one role.
  mlir::ModuleOp module;
  std::vector<CodeInput> code;
  std::vector<CodeInput> hostCode; // of kernels that the device's host computes
  /// The ONNX graph without data, for `zc export`.
  std::string model;
  /// The model's file name, and the folder that sources of states lie in.
  std::string modelName;
  std::string modelFolder = ".";
  /// Further entries of weights.safetensors; names must not be those of states.
  std::vector<StoredTensor> tensors;

  /// The manifest is for a plan alone: kernels are not lowered.
  bool plansOnly = false;

  /// Tensors that lie in files are referred to, not copied.
  bool weightsByReference = false;

  std::string zcVersion;
  std::string mode = "train";
  std::string device = "cpu";
  uint32_t threads = 1;
  std::string libraries = "all";           // as --libraries had it
  std::string matmulPrecision = "highest"; // or tf32, bf16x3, bf16x6
  int64_t batch = 0;
  int64_t accumulate = 1;        // micro-batches of a step
  int64_t freezeStep = 0;        // the last that ends with @apply; 0: all do
  std::string schedule = "1f1b"; // of a pipeline, its name
  const PipelineSchedule *pipeline = nullptr; // none: as the name says
  bool improvesOrders = false; // by what the stages cost, within the budget
  uint64_t memoryBudget = 0;   // in bytes; 0: none
  std::string loss;
  std::string optimizer;
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::string>
      frozen; // initializers that are computed with, as they are
};

/// Builds the content of manifest.pb.
Result<plan::Manifest> buildManifest(const ExportInput &input);

/// Writes the artifact; it appears whole or not at all.
Status writeArtifact(const ExportInput &input, const std::string &path);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_ARTIFACT_H
