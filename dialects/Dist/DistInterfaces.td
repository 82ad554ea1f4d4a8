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
    InterfaceMethod<"The kind of data sent, gradients, ...; none if none is.",
      "std::optional<::zc::Traffic>", "getWhatIsSent", (ins), [{}], [{
      auto traffic = $_op->template getAttrOfType<::mlir::StringAttr>("traffic");
      return traffic ? ::zc::symbolizeTraffic(traffic.getValue()) : std::nullopt;
    }]>,
    InterfaceMethod<"The number in its group of the rank that is its root.",
      "int64_t", "getRootNumber", (ins), [{}], [{
      auto root = $_op->template getAttrOfType<::mlir::IntegerAttr>("root");
      return root ? root.getInt() : 0;
    }]>,
    InterfaceMethod<"How many ranks further round the group what is sent goes.",
      "int64_t", "getDistance", (ins), [{}], [{
      auto shift = $_op->template getAttrOfType<::mlir::IntegerAttr>("shift");
      return shift ? shift.getInt() : 1;
    }]>,
    InterfaceMethod<[{
      The sharding of the result for an operand sharded as `before`; null, with a
      reason in `error`, if it takes no such operand.
    }], "::zc::dist::ShardingAttr", "applyTo",
      (ins "::zc::dist::ShardingAttr":$before, "std::string &":$error),
      [{}], [{
      error = "it works on the ranks' parts; it belongs behind --zc-localize";
      return {};
    }]>,
    InterfaceMethod<[{
      The sharding that it needs of an operand that is now sharded as `before`, if
      it stands among ops whose shardings are still to be chosen. Null: it is only
      inserted once all are.
    }], "::zc::dist::ShardingAttr", "getOperandSharding",
      (ins "::zc::dist::ShardingAttr":$before), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
      Builds what one rank does with its part: ops that move its own elements, and
      collectives along dim 0. `ranks` is the size of the group, `coordinate` the
      rank's number in it (a scalar i64, made on demand). Null: whole tensors
      have no such op.
    }], "::mlir::Value", "buildLocal",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$part,
           "::mlir::RankedTensorType":$resultPart, "int64_t":$ranks,
           "::llvm::function_ref<::mlir::Value()>":$coordinate), [{}], [{
      return {};
    }]>,
    InterfaceMethod<"Whether the result may be written over the operand.",
      "bool", "mayWorkInPlace", (ins), [{}], [{ return false; }]>
  ];
}

#endif // ZC_DIALECTS_DIST_DISTINTERFACES_TD
