//===- ConvolutionCall.cpp - train.conv and its gradients as a call -------===//
#include "compiler/Export/LibraryCalls.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace zc {

static plan::StridedOperand makeFilter(Value buffer,
                                       const ProgramExport &program) {
  int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
  return makeOperand(buffer, llvm::to_vector(llvm::seq<int64_t>(0, rank)),
                     program);
}

static void setWindow(DictionaryAttr config, plan::ConvolutionCall &call) {
  auto list = [&](StringRef name) {
    return config.getAs<DenseI64ArrayAttr>(name).asArrayRef();
  };
  for (int64_t stride : list("strides"))
    call.add_strides(stride);
  for (int64_t dilation : list("dilations"))
    call.add_dilations(dilation);
  for (int64_t pad : list("pads_low"))
    call.add_pads_low(pad);
  for (int64_t pad : list("pads_high"))
    call.add_pads_high(pad);
  call.set_groups(config.getAs<IntegerAttr>("groups").getInt());
}

void exportConvolution(sched::LibraryCallOp op, const ProgramExport &program,
                       plan::ConvolutionCall &call) {
  DictionaryAttr config = op.getConfig();
  Value source = op.getInputs()[0], filter = op.getInputs()[1];
  Value destination = op.getOutputs()[0];
  call.set_kind(plan::FORWARD);
  if (op.getOp() == "train.conv_input_grad") {
    call.set_kind(plan::BACKWARD_INPUT);
    std::swap(source, destination); // from the result's gradient
  } else if (op.getOp() == "train.conv_filter_grad") {
    call.set_kind(plan::BACKWARD_FILTER);
    std::swap(filter, destination);
  }
  bool channelsLast = config.contains("channels_last");
  *call.mutable_source() = makeImage(source, channelsLast, program);
  *call.mutable_filter() = makeFilter(filter, program);
  *call.mutable_destination() = makeImage(destination, channelsLast, program);
  setWindow(config, call);
  setWorkspace(op, program, call);
}

} // namespace zc
