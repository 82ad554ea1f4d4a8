//===- OpKinds.td - the kinds of ops that come in several -----------------===//
#ifndef ZC_DIALECTS_TRAIN_OPKINDS_TD
#define ZC_DIALECTS_TRAIN_OPKINDS_TD

include "mlir/IR/EnumAttr.td"

def Train_ReduceKind : I32Enum<"ReduceKind", "a kind of reduction", [
    I32EnumCase<"Sum", 0, "sum">,
    I32EnumCase<"Max", 1, "max">,
    I32EnumCase<"Min", 2, "min">,
    I32EnumCase<"Prod", 3, "prod">,
    I32EnumCase<"SumSquare", 4, "sum_square">]> {
  let cppNamespace = "::zc::train";
}

def Train_ScatterKind : I32Enum<"ScatterKind", "a kind of scatter", [
    I32EnumCase<"Max", 0, "max">,
    I32EnumCase<"Min", 1, "min">,
    I32EnumCase<"Prod", 2, "prod">,
    I32EnumCase<"Last", 3, "last">,
    I32EnumCase<"Alike", 4, "alike">,
    I32EnumCase<"Sum", 5, "sum">]> {
  let cppNamespace = "::zc::train";
}

def Train_Predicate : I32Enum<"Predicate", "a predicate", [
    I32EnumCase<"Eq", 0, "eq">,
    I32EnumCase<"Ne", 1, "ne">,
    I32EnumCase<"Lt", 2, "lt">,
    I32EnumCase<"Le", 3, "le">,
    I32EnumCase<"Gt", 4, "gt">,
    I32EnumCase<"Ge", 5, "ge">]> {
  let cppNamespace = "::zc::train";
}

// Attention over tokens that ranks divide gets keys from one of these.
def Train_KeySource : I32Enum<"KeySource", "a source of keys", [
    I32EnumCase<"Ring", 0, "ring">,
    I32EnumCase<"RingZigzag", 1, "ring=zigzag">,
    I32EnumCase<"Gather", 2, "gather">,
    I32EnumCase<"GatherZigzag", 3, "gather=zigzag">,
    I32EnumCase<"Whole", 4, "whole">]> {
  let cppNamespace = "::zc::train";
}

#endif // ZC_DIALECTS_TRAIN_OPKINDS_TD
