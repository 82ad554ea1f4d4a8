//===- MatmulCall.cpp - matmul, matmul_add as library calls
//--------------------===//
#include "compiler/Export/LibraryCalls.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace zc {

static plan::StridedOperand makeMatrix(Value buffer, bool transposed,
                                       const ProgramExport &program) {
  int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (transposed)
    std::swap(permutation[rank - 2], permutation[rank - 1]);
  return makeOperand(buffer, permutation, program);
}

void exportMatmul(sched::LibraryCallOp op, const ProgramExport &program,
                  plan::MatmulCall &call) {
  DictionaryAttr config = op.getConfig();
  // What is added to lies where the sum goes.
  bool accumulates = !op.getShared().empty();
  unsigned first = accumulates ? 1 : 0;
  call.set_accumulate(accumulates);
  *call.mutable_a() = makeMatrix(op.getInputs()[first],
                                 config.contains("transpose_lhs"), program);
  *call.mutable_b() = makeMatrix(op.getInputs()[first + 1],
                                 config.contains("transpose_rhs"), program);
  *call.mutable_c() =
      makeMatrix(op.getOutputs()[0], /*transposed=*/false, program);
  setWorkspace(op, program, call);
}

} // namespace zc
