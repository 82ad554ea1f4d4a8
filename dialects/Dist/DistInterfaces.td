//===- DistInterfaces.td - what every collective answers ------------------===//
#ifndef ZC_DIALECTS_DIST_DISTINTERFACES_TD
#define ZC_DIALECTS_DIST_DISTINTERFACES_TD

include "mlir/IR/OpBase.td"

def Dist_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::zc::dist";
  let description = [{
    One operand, one result, among the ranks that differ only in their
    coordinates along the axes.
  }];
  let methods = [
    InterfaceMethod<"The axes' names; the group's ranks are numbered row-major.",
      "::mlir::ArrayAttr", "getAxes">,
    InterfaceMethod<"What is sent, gradients, ...; empty where nothing is.",
      "::llvm::StringRef", "getWhatIsSent", (ins), [{}], [{
      auto traffic = $_op->template getAttrOfType<::mlir::StringAttr>("traffic");
      return traffic ? traffic.getValue() : ::llvm::StringRef();
    }]>,
    InterfaceMethod<[{
      What it makes of a whole tensor's sharding; null, with a reason in `error`,
      where it is not for such an operand.
    }], "::zc::dist::ShardingAttr", "applyTo",
      (ins "::zc::dist::ShardingAttr":$before, "std::string &":$error)>,
    InterfaceMethod<[{
      Builds what one rank does with its part: ops that move its own elements, and
      collectives along dim 0. `ranks` is the size of the group, `coordinate` the
      rank's number in it (a scalar i64, made on demand).
    }], "::mlir::Value", "buildLocal",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$part,
           "::mlir::RankedTensorType":$resultPart, "int64_t":$ranks,
           "::llvm::function_ref<::mlir::Value()>":$coordinate)>,
    InterfaceMethod<"Whether the result may be written over the operand.",
      "bool", "mayWorkInPlace", (ins), [{}], [{ return false; }]>
  ];
}

#endif // ZC_DIALECTS_DIST_DISTINTERFACES_TD
