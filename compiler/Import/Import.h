// From an ONNX file to the `onnx` dialect: read, checked, inlined, every dim
// bound, shapes inferred, shape arithmetic folded.
#ifndef ZC_COMPILER_IMPORT_IMPORT_H
#define ZC_COMPILER_IMPORT_IMPORT_H

#include "compiler/Import/BatchSize.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zc {

/// One output is imported, and what it needs; the others are left out.
struct OnlyOutput {
  std::string name;   // empty: the first
  std::string reason; // why the others cannot be imported
};

/// An output that needs no computing: it has no elements.
struct EmptyOutput {
  std::string name;
  int32_t dataType; // ONNX's
  std::vector<int64_t> dims;
};

struct ModelImportOptions {
  std::string path;
  /// Sizes of symbolic dims.
  std::map<std::string, int64_t> dims;
  /// Samples (`--batch`), and where they are; 0: as the file says.
  int64_t batch = 0;
  std::map<std::string, int64_t> batchDims;
  /// Of the shapes that the exporter has written as numbers; importModel finds
  /// it.
  BatchChange batchChange;
  /// Files with the values of inputs that become constants.
  std::map<std::string, std::string> constantInputs;
  /// Numbers that inputs of one element have.
  std::map<std::string, double> inputValues;
  /// The most rounds of a loop whose number depends on values; 0: such a loop
  /// is refused.
  int64_t maxTrips = 0;
  /// Whether passes/Import has a lowering; without it all operators count as
  /// supported. One that has none is replaced by ONNX's own definition of it in
  /// other operators, where there is one.
  std::function<bool(llvm::StringRef domain, llvm::StringRef op,
                     int64_t sinceVersion)>
      isSupported;
  /// Whether steps take the statistics of their batch, and draw dropout:
  /// PyTorch's files of modules in evaluation mode are warned of.
  bool takesBatchStatistics = false, drawsDropout = false;
  /// Whether an initializer of this name may be trained although the file does
  /// not say so (`--train`); its value is then never folded.
  std::function<bool(llvm::StringRef name)> mayBeTrained;
  /// Whether the weight of this name, which the file stores as integers, is
  /// trained as what they stand for; null: none is.
  std::function<bool(llvm::StringRef name)> trainsIntegers;
  /// Whether no gradient flows behind the node or value of this name
  /// (`--stop-gradient`).
  std::function<bool(llvm::StringRef name)> stopsGradient;
  /// Told of each output without elements, which is left out.
  std::function<void(EmptyOutput)> takesEmpty;
  /// A value of the graph that is an output, too; empty: none.
  std::string innerOutput;
  /// Whether the loss takes scores (`--loss softmax-cross-entropy`), of this
  /// output or value, or of the first; none: it does not.
  std::optional<std::string> scores;
  /// None: all outputs are imported.
  std::optional<OnlyOutput> onlyOutput;
  /// Initializers whose external file does not exist get neither value nor
  /// source; else they are an error.
  bool absentData = false;
};

/// The sizes of the model's symbolic dims in arrays of the given shapes, by
/// input name; samples, dim 0, in batches of at most `maxBatch`. What no array
/// tells, or a model that cannot be read, is left out.
std::map<std::string, int64_t>
readDims(const std::string &path,
         const std::map<std::string, std::vector<int64_t>> &shapes,
         int64_t maxBatch);

/// A module with one onnx.graph @main, or failure with everything that is wrong
/// with the model reported as diagnostics.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(mlir::MLIRContext *context, ModelImportOptions options);

} // namespace zc

#endif
