//===- StateKind.td - what a train.state is -------------------------------===//
#ifndef ZC_DIALECTS_TRAIN_STATEKIND_TD
#define ZC_DIALECTS_TRAIN_STATEKIND_TD

include "mlir/IR/EnumAttr.td"

def Train_StateKind : I32Enum<"StateKind", "a kind of state", [
    I32EnumCase<"Parameter", 0, "parameter">,
    I32EnumCase<"Copy", 1, "copy">,
    I32EnumCase<"Constant", 2, "constant">,
    I32EnumCase<"Statistic", 3, "statistic">,
    I32EnumCase<"Optimizer", 4, "optimizer">,
    I32EnumCase<"Scalar", 5, "scalar">,
    I32EnumCase<"Accumulator", 6, "accumulator">,
    I32EnumCase<"Gathered", 7, "gathered">,
    I32EnumCase<"Flight", 8, "flight">]> {
  let cppNamespace = "::zc::train";
}

#endif // ZC_DIALECTS_TRAIN_STATEKIND_TD
