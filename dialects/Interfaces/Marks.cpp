//===- Marks.cpp - a dialect's discardable attributes ---------------------===//
#include "dialects/Interfaces/Marks.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace zc {

Carrier carrierOf(Operation *op) {
  if (isa<ModuleOp>(op))
    return kOnModule;
  if (isa<FunctionOpInterface>(op))
    return kOnFunction;
  // These dialects are above this library: it knows their ops by name.
  StringRef name = op->getName().getStringRef();
  if (name == "train.state")
    return kOnState;
  if (name == "train.fused")
    return kOnRegion;
  return name.starts_with("sched.") ? kOnBuffer : kOnOp;
}

static StringRef nameOf(Carrier carrier) {
  switch (carrier) {
  case kOnModule:
    return "a module";
  case kOnFunction:
    return "a function";
  case kOnArgument:
    return "an argument";
  case kOnResult:
    return "a result";
  case kOnState:
    return "a state";
  case kOnBuffer:
    return "a buffer or instruction";
  case kOnRegion:
    return "a fused op";
  case kOnOp:
    return "a tensor op";
  }
  llvm_unreachable("all carriers have names");
}

static LogicalResult refuseCarrier(Operation *op, NamedAttribute mark,
                                   Carrier carrier, unsigned allowed) {
  SmallVector<StringRef> names;
  for (unsigned bit = kOnModule; bit <= kOnOp; bit *= 2)
    if (allowed & bit)
      names.push_back(nameOf(Carrier(bit)));
  return op->emitError() << "has " << mark.getName() << " on "
                         << nameOf(carrier) << "; expected it on "
                         << llvm::join(names, " or ");
}

LogicalResult verifyMark(const Marks &marks, Operation *op, NamedAttribute mark,
                         Carrier carrier) {
  auto found = marks.find(mark.getName().getValue());
  if (found == marks.end())
    return op->emitError() << "has " << mark.getName()
                           << ", which is no attribute of its dialect";
  const Mark &known = found->second;
  if (!(known.carriers & carrier))
    return refuseCarrier(op, mark, carrier, known.carriers);
  if (known.isValue(mark.getValue()))
    return success();
  return op->emitError() << "has " << mark.getName() << " = " << mark.getValue()
                         << "; expected " << known.expected;
}

} // namespace zc
