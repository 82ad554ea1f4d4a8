//===- Marks.h - a dialect's discardable attributes -------------*- C++ -*-===//
//
// A mark is a fact that one pass leaves for another where no property can hold
// it: on modules, functions, arguments and results, which are not ours; on ops
// of a dialect that does not know the mark's; or on any tensor op. Each dialect
// lists its own, with their types and carriers; its verifier refuses all
// others.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_DIALECTS_INTERFACES_MARKS_H
#define ZC_DIALECTS_INTERFACES_MARKS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <map>

namespace zc {

/// A mark may stand on one of these; several are or-ed.
enum Carrier : unsigned {
  kOnModule = 1,
  kOnFunction = 2,
  kOnArgument = 4, // of a function
  kOnResult = 8,   // of a function
  kOnState = 16,   // train.state
  kOnBuffer = 32,  // ops of the sched dialect
  kOnRegion = 64,  // train.fused
  kOnOp = 128      // all others
};

struct Mark {
  bool (*isValue)(mlir::Attribute value);
  const char *expected; // what a value is, for messages
  unsigned carriers = 0;

  constexpr Mark on(unsigned allowed) const {
    return {isValue, expected, allowed};
  }
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
inline constexpr Mark kFloatsMark =
    markOf<mlir::DenseF64ArrayAttr>("an array<f64>");
inline constexpr Mark kIntegerMark = {
    [](mlir::Attribute value) {
      auto integer = llvm::dyn_cast<mlir::IntegerAttr>(value);
      return integer && integer.getType().isSignlessInteger(64);
    },
    "an i64"};

/// The carrier of an attribute of `op` itself.
Carrier carrierOf(mlir::Operation *op);

/// Fails with a diagnostic on `op` where the dialect has no such mark, or not
/// of such a value, or not on this carrier.
llvm::LogicalResult verifyMark(const Marks &marks, mlir::Operation *op,
                               mlir::NamedAttribute mark, Carrier carrier);

} // namespace zc

#endif // ZC_DIALECTS_INTERFACES_MARKS_H
