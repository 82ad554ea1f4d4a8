//===- NamedEnum.td - attributes that are one of several names ------------===//
#ifndef ZC_DIALECTS_INTERFACES_NAMEDENUM_TD
#define ZC_DIALECTS_INTERFACES_NAMEDENUM_TD

include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/EnumAttr.td"

// A string in the text of IR, an enumeration in C++. The verifier lists the
// names where it finds another one. `summary` of the enumeration says what it
// names.
class NamedEnumAttr<EnumInfo enum> : StringBasedAttr<
    CPred<"::llvm::isa<::mlir::StringAttr>($_self) && " #
          enum.cppNamespace # "::" # enum.stringToSymbolFnName #
          "(::llvm::cast<::mlir::StringAttr>($_self).getValue()).has_value()">,
    enum.summary # ", which is " #
    !interleave(!foreach(each, enum.enumerants, each.str), ", ")> {
  let returnType = enum.cppNamespace # "::" # enum.className;
  let convertFromStorage = "*" # enum.cppNamespace # "::" #
                           enum.stringToSymbolFnName # "($_self.getValue())";
  let constBuilderCall = "$_builder.getStringAttr(" # enum.cppNamespace #
                         "::" # enum.symbolToStringFnName # "($0))";
}

#endif // ZC_DIALECTS_INTERFACES_NAMEDENUM_TD
