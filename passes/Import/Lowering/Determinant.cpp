//===- Determinant.cpp - Det ----------------------------------------------===//
#include "passes/Import/Lowering/LoweringRegistry.h"
#include "passes/Import/Lowering/NodeContext.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace zc;

// Laplace's expansion of n rows takes n 2^(n-1) products.
static constexpr int64_t kMostRows = 8;

/// The element at one place of each matrix.
static Value elementAt(TensorBuilder &build, Value x, int64_t row,
                       int64_t column) {
  int64_t rank = rankOf(x);
  Value element = build.slice(x, rank - 2, row, 1);
  return build.reshape(build.slice(element, rank - 1, column, 1),
                       shapeOf(x).drop_back(2));
}

// From the last row to the first: the determinants of the rows from there on,
// for every set of as many columns.
static Value expandRows(TensorBuilder &build, Value x, int64_t size) {
  unsigned sets = 1u << size;
  SmallVector<Value> minors(sets);
  for (int64_t row = size - 1; row >= 0; --row)
    for (unsigned set = 0; set < sets; ++set) {
      if (llvm::popcount(set) != size - row)
        continue;
      Value sum;
      bool negative = false;
      for (int64_t column = 0; column < size; ++column) {
        if (!(set >> column & 1))
          continue;
        Value term = elementAt(build, x, row, column);
        if (Value minor = minors[set & ~(1u << column)])
          term = build.mul(term, minor);
        sum = !sum       ? term
              : negative ? build.sub(sum, term)
                         : build.add(sum, term);
        negative = !negative;
      }
      minors[set] = sum;
    }
  return minors[sets - 1];
}

static LogicalResult lowerDet(NodeContext &context) {
  if (failed(context.requireFloat(0)))
    return failure();
  Value x = context.operand(0);
  int64_t size = rankOf(x) < 2 ? 0 : shapeOf(x).back();
  if (size < 1 || shapeOf(x)[rankOf(x) - 2] != size || size > kMostRows)
    return context.emitError() << "expected square matrices of at most "
                               << kMostRows << " rows, found " << x.getType();
  return context.set(expandRows(context.build, x, size));
}

void zc::registerDeterminant(LoweringRegistry &registry) {
  registry.add("Det", 11, 22, lowerDet);
}
