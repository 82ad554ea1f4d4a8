//===- MaskParts.h - what the factors of a mask are -------------*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_MASKPARTS_H
#define ZC_PASSES_IMPORT_MASKPARTS_H

#include "passes/Import/Routing.h"

namespace zc {
namespace train {
class ConvertOp;
}

/// The number that a constant is everywhere.
std::optional<double> matchNumber(mlir::Value value);

/// The operand that a part repeats or reshapes, with its dims; or nothing.
std::optional<MaskPart> seeThrough(const MaskPart &part);

/// Whether a conversion leaves whole numbers as they are.
bool keepsNumbers(train::ConvertOp convert);

/// The factors of a part, each seen through to where it is computed.
void collectFactors(const MaskPart &part,
                    llvm::SmallVectorImpl<MaskPart> &factors);

/// Where `value` is computed, whatever shows, repeats or converts it.
mlir::Value stripViews(mlir::Value value);

/// x == 0, 1, ... along the last dim, which is `dim`: x, of the other dims.
std::optional<MaskPart> matchOneHot(const MaskPart &part, MaskDim dim);

/// The tensor that `value` has moved by `step` elements along `dim`, with zeros
/// in front; or null.
mlir::Value matchShift(mlir::Value value, int64_t dim, int64_t step);

/// x of its running sum along `dim` of `size` elements, or null.
mlir::Value matchRunningSum(mlir::Value value, int64_t dim, int64_t size);

/// Whether integers are places along a dim of `size` elements, as ArgMax and
/// TopK find them: none is another number.
bool isPlaceAmong(mlir::Value value, int64_t size);

/// Whether no element can be below 0.
bool isNeverNegative(mlir::Value value);

} // namespace zc

#endif // ZC_PASSES_IMPORT_MASKPARTS_H
