//===- VectorKind.cpp - which parameters share a ZeRO unit ----------------===//
#include "passes/Sharding/VectorKind.h"

#include "dialects/Train/ProgramBuilder.h"
#include "mlir/IR/Builders.h"
#include "passes/Autodiff/ParameterGroup.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

Attribute getVectorKind(StateOp state, const dist::ShareRule &shares) {
  Builder builder(state.getContext());
  StateOp copy = findCopy(state);
  // Roles that hold one parameter divide it in one way: it shares no vector
  // with what only some of them hold.
  Attribute holders = state.getHoldersAttr();
  Attribute group = state.getGroupAttr();
  return builder.getArrayAttr(
      {TypeAttr::get(state.getTensorType().getElementType()),
       TypeAttr::get((copy ? copy : state).getTensorType().getElementType()),
       builder.getBoolAttr(state.getDecay()),
       group ? group : builder.getUnitAttr(),
       builder.getBoolAttr(state.hasInitialValue()), shares.axes,
       holders ? holders : builder.getUnitAttr()});
}

} // namespace zc
