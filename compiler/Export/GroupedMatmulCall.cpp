//===- GroupedMatmulCall.cpp - train.grouped_matmul and its gradient ------===//
#include "compiler/Export/LibraryCalls.h"

using namespace mlir;

namespace zc {

void exportGroupedMatmul(sched::LibraryCallOp op, const ProgramExport &program,
                         plan::GroupedMatmulCall &call) {
  call.set_gradient(op.getOp() == "train.grouped_matmul_grad");
  call.set_transposed(op.getConfig().contains("transpose_weights"));
  ValueRange inputs = op.getInputs();
  call.set_a(program.getIndex(inputs[0]));
  call.set_b(program.getIndex(inputs[1]));
  call.set_groups(program.getIndex(inputs[2]));
  call.set_ids(program.getIndex(inputs[3]));
  call.set_c(program.getIndex(op.getOutputs()[0]));
  call.set_workspace(program.getIndex(op.getWorkspace()));
}

} // namespace zc
