// Where the samples are in a model's inputs and outputs.
#ifndef ZC_COMPILER_IMPORT_BATCHDIMS_H
#define ZC_COMPILER_IMPORT_BATCHDIMS_H

#include "dialects/Onnx/OnnxDialect.h"
#include <map>
#include <string>

namespace zc {

struct BatchOptions {
  /// Per input a dim, or -1 for "none": what --batch-dim says.
  std::map<std::string, int64_t> dims;
  /// With a loss of the model's own the first input, else the first output (or
  /// the one called `logits`), says how many samples there are; the first input
  /// too where that output is a single number, unless a loss is to be of it.
  bool fromFirstInput = false;
  bool lossOfOutput = false;
  std::string logits;
};

/// Sets `batch_dims` and `output_batch_dims` of `graph`. Fails, listing the
/// inputs, when no input has a batch dim or their sizes differ.
mlir::LogicalResult setBatchDims(onnx::GraphOp graph,
                                 const BatchOptions &options);

} // namespace zc

#endif
