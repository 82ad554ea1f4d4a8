//===- OpCases.h - an example or more of every op of train ------*- C++ -*-===//
#ifndef ZC_TEST_UNIT_DIALECTS_TRAIN_OPCASES_H
#define ZC_TEST_UNIT_DIALECTS_TRAIN_OPCASES_H

#include "compiler/Interpreter/Interpreter.h"
#include "mlir/IR/BuiltinOps.h"

#include <random>
#include <string>
#include <vector>

namespace zc::test {

/// From where an operand's elements are drawn, evenly; both ends belong to it.
struct Range {
  double low = -1, high = 1;
};

/// One op on operands %0, %1, ..., in its textual form.
struct OpCase {
  std::string text;
  /// Ranges of operands; others are drawn from the default range.
  std::vector<Range> ranges = {};

  std::string opName() const { return text.substr(0, text.find(' ')); }
};

const std::vector<OpCase> &opCases();

/// For GoogleTest: prints the op in failures and names the test after it.
inline void PrintTo(const OpCase &opCase, std::ostream *os) {
  *os << opCase.text;
}
std::string caseName(size_t index);

/// A case as IR: @f takes the operands and returns the results.
class CaseProgram {
public:
  explicit CaseProgram(const OpCase &opCase);

  mlir::func::FuncOp func();
  mlir::Operation *op();
  /// Random operands, the same for the same seed.
  std::vector<interpreter::Tensor> inputs(unsigned seed) const;

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

private:
  const OpCase &opCase;
};

/// A random tensor of `type`.
interpreter::Tensor randomTensor(mlir::Type type, Range range,
                                 std::mt19937 &random);

bool isFloatTensor(mlir::Type type);

} // namespace zc::test

#endif // ZC_TEST_UNIT_DIALECTS_TRAIN_OPCASES_H
