//===- Compare.h - whether two modules train alike --------------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_COMPARE_H
#define ZC_COMPILER_INTERPRETER_COMPARE_H

#include "compiler/Interpreter/Roles.h"

namespace zc::interpreter {

/// One tensor of which two modules make different things.
struct Difference {
  std::string name;
  /// The largest distance of two elements, as a share of the tensor's largest
  /// one; infinity where one module has no such tensor.
  double error;
};

/// How much of a difference may be rounding. The programs compute in double
/// precision, in which float32 constants for fractions such as 1 / 36 are exact
/// (Precision::Wide); but other constants that passes write are of float32, and
/// a deep model multiplies a last digit: where a tensor is further off than
/// `limit`, the undivided module is trained once more, from values changed by
/// up to float32's last digit. Up to `factor` times what that changes, but
/// never more than `most`, is taken for rounding; a network that multiplies it
/// further, up to `doubt`, is one of which a small mistake cannot be told. A
/// tensor that itself moves further still is noise, up to `noise`: two that
/// have nothing in common but their size are about as far from one another.
struct Tolerance {
  double limit = 1e-9;
  double factor = 8;
  double most = 1e-5;
  double doubt = 1e-3;
  double noise = 2;
};

/// Compares two modules' results from the same states and samples.
struct Comparison {
  int64_t tensors = 0; // that both make, without the noisy ones
  int64_t noisy = 0;   // that rounding moves further than could be compared
  double worst = 0;    // error, of those that are alike
  /// The error that rounding was found to explain; 0: was not needed.
  double rounding = 0;
  /// Elements that are NaN, and that are 0 in both, of all floats.
  int64_t notNumbers = 0, zeros = 0, elements = 0;
  /// Whether so many tensors are noise that the others show little.
  bool isMostlyNoise() const { return 4 * noisy > tensors + noisy; }
  /// States that the optimizer begins with, which no rounding explains.
  std::vector<Difference> atFirst;
  std::vector<Difference> beyond;     // of what may be rounding
  std::vector<Difference> doubtful;   // that may be rounding or a mistake
  std::optional<double> gradientNorm; // of the last step, where it is a metric
};

/// Whether the diagnostic of a comparison that could not be made says that
/// ranks or roles of the divided program disagree: they then differ from one
/// rank, too.
bool saysRanksDisagree(llvm::StringRef diagnostic);

/// Trains `other`, perhaps divided among ranks and roles, from the states and
/// samples with which `one`, which is neither, is trained, drawn from `seed`;
/// compares the states that they write and their metrics. A tensor that only
/// one of them accumulates over micro-batches is no difference. Fails, with a
/// diagnostic, where one of them cannot be run.
llvm::FailureOr<Comparison> compareSteps(Interpreter &interpreter,
                                         mlir::ModuleOp one,
                                         mlir::ModuleOp other, StepCount count,
                                         Tolerance tolerance, unsigned seed);

/// The same of one run of the program `name`, all of whose arguments are drawn,
/// as those of a step in the midst of a training are.
llvm::FailureOr<Comparison> compareProgram(Interpreter &interpreter,
                                           mlir::ModuleOp one,
                                           mlir::ModuleOp other,
                                           llvm::StringRef name,
                                           Tolerance tolerance, unsigned seed);

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_COMPARE_H
