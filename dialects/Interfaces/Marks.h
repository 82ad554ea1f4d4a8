//===- Marks.h - a dialect's discardable attributes -------------*- C++ -*-===//
//
// A mark is a fact that one pass leaves for another on an op of any kind, or on
// an argument or result of a program. Each dialect lists its own with their
// types; its verifier refuses all others.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_INTERFACES_MARKS_H
#define ZC_DIALECTS_INTERFACES_MARKS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <map>

namespace zc {

struct Mark {
  bool (*isValue)(mlir::Attribute value);
  const char *expected; // what a value is, for messages
};

/// By their names: "train.state".
using Marks = std::map<llvm::StringRef, Mark>;

/// Any attribute of a class.
template <typename... Attributes> constexpr Mark markOf(const char *expected) {
  return {[](mlir::Attribute value) { return llvm::isa<Attributes...>(value); },
          expected};
}

inline constexpr Mark kUnitMark = markOf<mlir::UnitAttr>("no value");
inline constexpr Mark kStringMark = markOf<mlir::StringAttr>("a string");
inline constexpr Mark kSymbolMark = markOf<mlir::FlatSymbolRefAttr>("a symbol");
inline constexpr Mark kListMark = markOf<mlir::ArrayAttr>("a list");
inline constexpr Mark kDictionaryMark =
    markOf<mlir::DictionaryAttr>("a dictionary");
inline constexpr Mark kTypeMark = markOf<mlir::TypeAttr>("a type");
inline constexpr Mark kIntegersMark =
    markOf<mlir::DenseI64ArrayAttr>("an array<i64>");
inline constexpr Mark kIntegerMark = {
    [](mlir::Attribute value) {
      auto integer = llvm::dyn_cast<mlir::IntegerAttr>(value);
      return integer && integer.getType().isSignlessInteger(64);
    },
    "an i64"};

/// Fails with a diagnostic on `op` where the dialect has no such mark, or not
/// of such a value.
inline llvm::LogicalResult verifyMark(const Marks &marks, mlir::Operation *op,
                                      mlir::NamedAttribute mark) {
  auto found = marks.find(mark.getName().getValue());
  if (found == marks.end())
    return op->emitError() << "has " << mark.getName()
                           << ", which is no attribute of its dialect";
  if (found->second.isValue(mark.getValue()))
    return llvm::success();
  return op->emitError() << "has " << mark.getName() << " = " << mark.getValue()
                         << "; expected " << found->second.expected;
}

} // namespace zc

#endif // ZC_DIALECTS_INTERFACES_MARKS_H
