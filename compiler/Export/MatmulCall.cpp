//===- MatmulCall.cpp - matmul, matmul_add as library calls ---------------===//
#include "compiler/Export/LibraryCalls.h"

#include "dialects/Train/Epilogue.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringSwitch.h"

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

static plan::MatmulActivation activationOf(DictionaryAttr epilogue) {
  auto name = epilogue.getAs<StringAttr>(train::kActivationKey);
  return llvm::StringSwitch<plan::MatmulActivation>(name ? name.getValue()
                                                         : StringRef())
      .Case("relu", plan::RELU)
      .Case("gelu", plan::GELU)
      .Case("gelu_grad", plan::GELU_GRADIENT)
      .Case("relu_grad", plan::RELU_GRADIENT)
      .Default(plan::LINEAR);
}

static void exportEpilogue(sched::LibraryCallOp op, DictionaryAttr epilogue,
                           const ProgramExport &program,
                           plan::MatmulEpilogue &call) {
  call.set_activation(activationOf(epilogue));
  auto inputs = op.getInputs().drop_front(2);
  auto outputs = op.getOutputs().drop_front();
  auto take = [&](auto &values) {
    uint32_t index = program.getIndex(values.front());
    values = values.drop_front();
    return index;
  };
  if (epilogue.contains(train::kAddendKey))
    call.set_addend(take(inputs));
  if (epilogue.contains(train::kBiasKey))
    call.set_bias(take(inputs));
  bool gradient = call.activation() == plan::GELU_GRADIENT ||
                  call.activation() == plan::RELU_GRADIENT;
  if (epilogue.contains(train::kAuxiliaryKey))
    call.set_auxiliary(gradient ? take(inputs) : take(outputs));
  auto sums = epilogue.getAs<StringAttr>(train::kSumsKey);
  if (!sums)
    return;
  if (sums.getValue() == "columns")
    call.set_column_sums(take(outputs));
  else if (sums.getValue() == "lhs")
    call.set_lhs_sums(take(outputs));
  else
    call.set_rhs_sums(take(outputs));
}

void exportMatmul(sched::LibraryCallOp op, const ProgramExport &program,
                  plan::MatmulCall &call) {
  DictionaryAttr config = op.getConfig();
  // An accumulator is overwritten with the sum.
  bool accumulates = !op.getShared().empty();
  unsigned first = accumulates ? 1 : 0;
  call.set_accumulate(accumulates);
  *call.mutable_a() = makeMatrix(op.getInputs()[first],
                                 config.contains("transpose_lhs"), program);
  *call.mutable_b() = makeMatrix(op.getInputs()[first + 1],
                                 config.contains("transpose_rhs"), program);
  *call.mutable_c() =
      makeMatrix(op.getOutputs()[0], /*transposed=*/false, program);
  if (auto epilogue = config.getAs<DictionaryAttr>(train::kEpilogueAttr))
    exportEpilogue(op, epilogue, program, *call.mutable_epilogue());
  setWorkspace(op, program, call);
}

} // namespace zc
