//===- MarkedDialect.td - dialects that list their marks ------------------===//
#ifndef ZC_DIALECTS_INTERFACES_MARKEDDIALECT_TD
#define ZC_DIALECTS_INTERFACES_MARKEDDIALECT_TD

include "mlir/IR/OpBase.td"

// A dialect whose discardable attributes are checked (Marks.h): it defines
// getMarks() and has `marks` in its extraClassDeclaration.
class MarkedDialect : Dialect {
  code marks = [{
    static const ::zc::Marks &getMarks();
    ::llvm::LogicalResult
    verifyOperationAttribute(::mlir::Operation *op,
                             ::mlir::NamedAttribute mark) override {
      return ::zc::verifyMark(getMarks(), op, mark, ::zc::carrierOf(op));
    }
    ::llvm::LogicalResult
    verifyRegionArgAttribute(::mlir::Operation *op, unsigned, unsigned,
                             ::mlir::NamedAttribute mark) override {
      return ::zc::verifyMark(getMarks(), op, mark, ::zc::kOnArgument);
    }
    ::llvm::LogicalResult
    verifyRegionResultAttribute(::mlir::Operation *op, unsigned, unsigned,
                                ::mlir::NamedAttribute mark) override {
      return ::zc::verifyMark(getMarks(), op, mark, ::zc::kOnResult);
    }
  }];
}

#endif // ZC_DIALECTS_INTERFACES_MARKEDDIALECT_TD
