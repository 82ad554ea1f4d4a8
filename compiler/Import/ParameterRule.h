// Decides which initializers are trained by the command line's contract.
#ifndef ZC_COMPILER_IMPORT_PARAMETERRULE_H
#define ZC_COMPILER_IMPORT_PARAMETERRULE_H

#include "dialects/Interfaces/NamePattern.h"
#include "dialects/Onnx/OnnxDialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace zc {

class ParameterRule {
public:
  /// Searched, not anchored; empty: not given. With `train` the parameters are
  /// what it matches, without it those of the default rule; `freeze` takes
  /// away.
  /// `trainScales`: those of quantisation are parameters, too.
  static llvm::Expected<ParameterRule> create(const std::string &freeze,
                                              const std::string &train,
                                              bool trainScales = false);

  /// Whether the user says that `name` is trained, or is not; nothing when
  /// neither.
  std::optional<bool> getChoice(llvm::StringRef name) const;

  /// Sets `trained` on every initializer of `graph`, whose sources lie in
  /// `folder`. Fails when --train names one that cannot be trained, when
  /// --freeze or --train matches no initializer, or a value cannot be read.
  mlir::LogicalResult apply(onnx::GraphOp graph,
                            const std::string &folder) const;

private:
  mlir::LogicalResult checkMatches(onnx::GraphOp graph) const;

  std::optional<NamePattern> freeze, train;
  bool trainScales = false;
};

/// Larger values are those of masks.
constexpr double kLargestParameter = 1e30;

/// The values from which a gradient comes back: floating-point values with a
/// path to the model's outputs over operators that have one.
llvm::SetVector<mlir::Value> findDifferentiable(onnx::GraphOp graph);

/// Whether all that uses it takes it as a setting: the scales of a Resize.
bool isSettingAlone(onnx::InitializerOp initializer);

/// Whether it is the scale of a QuantizeLinear or DequantizeLinear.
bool isQuantisationScale(onnx::InitializerOp initializer);

/// Whether it is the running mean or variance of a batch normalisation.
bool isStatistic(onnx::InitializerOp initializer);

} // namespace zc

#endif
