// The roles of operands in their operators, as the rule of parameters asks.
#ifndef ZC_COMPILER_IMPORT_OPERATORROLES_H
#define ZC_COMPILER_IMPORT_OPERATORROLES_H

#include "llvm/ADT/StringRef.h"

namespace zc {

/// An operator of zc's own, in the standard domain: its operand, behind which
/// no gradient flows.
inline constexpr llvm::StringLiteral kStopGradient = "StopGradient";

/// Marks an onnx.initializer of floats that the file stores as integers.
inline constexpr llvm::StringLiteral kStoredAsIntegers = "stored_as_integers";

/// Whether operand `index` of the operator is a weight, bias, scale, table or
/// recurrent operand.
bool isParameterOperand(llvm::StringRef op, unsigned index);

/// The state in which a recurrent operator begins: [.., samples, features].
bool isInitialState(llvm::StringRef op, unsigned index);

/// The slope of an activation.
bool isSlopeOperand(llvm::StringRef op, unsigned index);

/// The running mean or variance of a batch normalisation.
bool isStatisticOperand(llvm::StringRef op, unsigned index);

/// Whether a sum with the operator's result is a bias: the operator has a
/// weight, and exporters write its bias beside it.
bool hasBiasBehind(llvm::StringRef op);

/// Operators that leave the elements what they are.
bool keepsParameter(llvm::StringRef op);

/// QuantizeLinear and DequantizeLinear: floats to whole numbers and back.
bool isQuantisation(llvm::StringRef op);

/// Operators whose results have a zero gradient everywhere.
bool isStep(llvm::StringRef op);

/// Operands that only say how, not what.
bool isSetting(llvm::StringRef op, unsigned index);

} // namespace zc

#endif
