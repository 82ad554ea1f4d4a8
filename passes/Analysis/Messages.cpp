//===- Messages.cpp - values that cross from one role to another ----------===//
#include "passes/Analysis/Messages.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

MessageEnd MessageEnd::from(DictionaryAttr attribute) {
  auto chunk = attribute.getAs<IntegerAttr>("chunk");
  return {attribute.getAs<IntegerAttr>("id").getInt(),
          attribute.getAs<IntegerAttr>("peer").getInt(),
          attribute.contains("answered"), attribute.contains("gradient"),
          chunk ? chunk.getInt() : 0};
}

DictionaryAttr MessageEnd::toAttr(MLIRContext *context) const {
  Builder builder(context);
  NamedAttrList list;
  list.set("id", builder.getI64IntegerAttr(id));
  list.set("peer", builder.getI64IntegerAttr(peer));
  if (hasGradient)
    list.set("answered", builder.getUnitAttr());
  if (isGradient)
    list.set("gradient", builder.getUnitAttr());
  if (chunk > 0)
    list.set("chunk", builder.getI64IntegerAttr(chunk));
  return list.getDictionary(context);
}

std::optional<MessageEnd> getReceived(func::FuncOp program, unsigned argument) {
  auto end = program.getArgAttrOfType<DictionaryAttr>(argument, kReceiveAttr);
  return end ? std::optional(MessageEnd::from(end)) : std::nullopt;
}

std::optional<MessageEnd> getSent(func::FuncOp program, unsigned result) {
  auto end = program.getResultAttrOfType<DictionaryAttr>(result, kSendAttr);
  return end ? std::optional(MessageEnd::from(end)) : std::nullopt;
}

} // namespace zc
