//===- AttentionCall.cpp - train.attention and its gradient as a call -----===//
#include "compiler/Export/LibraryCalls.h"

using namespace mlir;

namespace zc {

void exportAttention(sched::LibraryCallOp op, const ProgramExport &program,
                     plan::AttentionCall &call) {
  DictionaryAttr config = op.getConfig();
  call.set_backward(op.getOp() == "train.attention_grad");
  call.set_scale(config.getAs<FloatAttr>("scale").getValueAsDouble());
  call.set_causal(config.contains("causal"));
  size_t operands = call.backward() ? 6 : 3;
  if (op.getInputs().size() > operands)
    call.set_mask(program.getIndex(op.getInputs().back()));
  for (Value buffer : op.getInputs().take_front(operands))
    call.add_buffers(program.getIndex(buffer));
  for (Value buffer : op.getOutputs())
    call.add_buffers(program.getIndex(buffer));
  call.set_workspace(program.getIndex(op.getWorkspace()));
}

} // namespace zc
