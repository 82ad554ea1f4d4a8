//===- Messages.cpp - values that cross from one role to another ----------===//
#include "passes/Analysis/Messages.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

MessageEnd MessageEnd::from(DictionaryAttr attribute) {
  auto numberOf = [&](StringRef key, int64_t otherwise) {
    auto number = attribute.getAs<IntegerAttr>(key);
    return number ? number.getInt() : otherwise;
  };
  return {numberOf("id", 0),
          numberOf("peer", 0),
          attribute.contains("answered"),
          attribute.contains("gradient"),
          numberOf("chunk", 0),
          numberOf("peers", 1),
          numberOf("step", 0)};
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
  if (peers > 1) {
    list.set("peers", builder.getI64IntegerAttr(peers));
    list.set("step", builder.getI64IntegerAttr(step));
  }
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
