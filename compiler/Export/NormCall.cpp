//===- NormCall.cpp - a batch norm and its ReLU as a call -----------------===//
#include "compiler/Export/LibraryCalls.h"

#include "dialects/Train/Epilogue.h"

using namespace mlir;

namespace zc {

// Operands and results in the order that --zc-match-norms gives them.
void exportNorm(sched::LibraryCallOp op, const ProgramExport &program,
                plan::NormCall &call) {
  DictionaryAttr config = op.getConfig();
  auto inputs = op.getInputs(), outputs = op.getOutputs();
  auto input = [&](unsigned i) { return program.getIndex(inputs[i]); };
  auto output = [&](unsigned i) { return program.getIndex(outputs[i]); };
  call.set_image(input(0));
  call.set_scale(input(1));
  call.set_bias(input(2));
  call.set_result(output(0));
  if (op.getOp() == "train.batch_norm_grad") {
    call.set_mean(input(3));
    call.set_inverse(input(4));
    call.mutable_gradient()->set_grad(input(5));
    call.mutable_gradient()->set_scale_grad(output(1));
    call.mutable_gradient()->set_bias_grad(output(2));
  } else {
    call.set_mean(output(1));
    call.set_inverse(output(2));
    call.set_epsilon(config.getAs<FloatAttr>("epsilon").getValueAsDouble());
    auto norm = config.getAs<DictionaryAttr>(train::kNormAttr);
    if (norm.contains(train::kAddendKey))
      call.set_addend(input(3));
  }
  call.set_workspace(program.getIndex(op.getWorkspace()));
}

} // namespace zc
