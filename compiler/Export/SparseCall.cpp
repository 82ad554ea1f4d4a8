//===- SparseCall.cpp - train.sparse_encode and _decode as calls ----------===//
#include "compiler/Export/LibraryCalls.h"

using namespace mlir;

namespace zc {

void exportSparse(sched::LibraryCallOp op, const ProgramExport &program,
                  plan::SparseCall &call) {
  call.set_decode(op.getOp() == "train.sparse_decode");
  ValueRange dense = call.decode() ? op.getOutputs() : op.getInputs();
  ValueRange parts = call.decode() ? op.getInputs() : op.getOutputs();
  call.set_dense(program.getIndex(dense[0]));
  call.set_bits(program.getIndex(parts[0]));
  call.set_offsets(program.getIndex(parts[1]));
  call.set_values(program.getIndex(parts[2]));
}

} // namespace zc
