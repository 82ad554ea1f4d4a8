//===- PoolingCall.cpp - train.max_pool, average_pool as calls ------------===//
#include "compiler/Export/LibraryCalls.h"

using namespace mlir;

namespace zc {

void exportPooling(sched::LibraryCallOp op, const ProgramExport &program,
                   plan::PoolingCall &call) {
  DictionaryAttr config = op.getConfig();
  bool channelsLast = config.contains("channels_last");
  bool isGradient = op.getOp() == "train.average_pool_grad";
  call.set_kind(isGradient                           ? plan::AVERAGE_GRADIENT
                : op.getOp() == "train.average_pool" ? plan::AVERAGE
                                                     : plan::MAXIMUM);
  Value given = op.getInputs()[0], made = op.getOutputs()[0];
  *call.mutable_image() =
      makeImage(isGradient ? made : given, channelsLast, program);
  *call.mutable_pooled() =
      makeImage(isGradient ? given : made, channelsLast, program);
  auto list = [&](StringRef name) {
    return config.getAs<DenseI64ArrayAttr>(name).asArrayRef();
  };
  for (int64_t size : list("window"))
    call.add_window(size);
  for (int64_t stride : list("strides"))
    call.add_strides(stride);
  for (int64_t pad : list("pads_low"))
    call.add_pads_low(pad);
  for (int64_t pad : list("pads_high"))
    call.add_pads_high(pad);
  call.set_count_include_pad(config.contains("count_include_pad"));
}

} // namespace zc
