//===- CollectiveExport.cpp - sched.collective as a message ---------------===//
#include "compiler/Export/CollectiveShape.h"
#include "compiler/Export/ProgramExport.h"

#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace zc {

static plan::TrafficKind getTraffic(Traffic traffic) {
  switch (traffic) {
  case Traffic::Gradients:
    return plan::TRAFFIC_GRADIENTS;
  case Traffic::Parameters:
    return plan::TRAFFIC_PARAMETERS;
  case Traffic::Activations:
    return plan::TRAFFIC_ACTIVATIONS;
  case Traffic::Statistics:
    return plan::TRAFFIC_STATISTICS;
  case Traffic::Scalars:
    return plan::TRAFFIC_SCALARS;
  }
  llvm_unreachable("traffic is verified");
}

void ProgramExport::addCollective(sched::CollectiveOp op,
                                  plan::Instruction &instruction) {
  const CollectiveShape shape =
      getCollectiveShape(op, op.getKind(), op.getAxes(),
                         cast<ShapedType>(op.getSource().getType()),
                         cast<ShapedType>(op.getDestination().getType()));
  plan::CollectiveCall &call = *instruction.mutable_collective();
  call.set_kind(shape.kind);
  call.set_algorithm(shape.algorithm);
  call.set_traffic(getTraffic(op.getTraffic()));
  for (auto axis : op.getAxes().getAsRange<StringAttr>())
    call.add_axes(axis.str());
  if (auto holders = op.getHolders())
    for (int64_t holder : *holders)
      call.add_holders(uint32_t(holder));
  call.set_source(getIndex(op.getSource()));
  call.set_destination(getIndex(op.getDestination()));
  call.set_root(static_cast<uint32_t>(shape.root));
  if (shape.kind == plan::SEND_RECEIVE)
    call.set_shift(shape.shift);
  CollectiveCost cost = costOf(shape);
  call.set_sent_bytes(cost.sentBytes);
  call.set_steps(cost.steps);
  if (op.getWorkspace()) {
    call.set_workspace(getIndex(op.getWorkspace()));
    call.set_has_workspace(true);
  }
}

} // namespace zc
