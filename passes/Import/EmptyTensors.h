// Values without elements, which no kernel ever sees.
#ifndef ZC_PASSES_IMPORT_EMPTYTENSORS_H
#define ZC_PASSES_IMPORT_EMPTYTENSORS_H

#include "mlir/IR/Block.h"

namespace zc {

/// Folds them away: a reduction of nothing is its identity, a concatenation
/// leaves them out, a product over nothing is zero, a scatter of nothing
/// changes nothing; what has none is a constant without data. Ops that have no
/// such meaning stay.
void foldEmptyTensors(mlir::Block &body);

/// Whether a type is a tensor's without elements.
bool isEmptyTensor(mlir::Type type);

} // namespace zc

#endif // ZC_PASSES_IMPORT_EMPTYTENSORS_H
