//===- PoolingCall.cpp - train.max_pool as a call -------------------------===//
#include "compiler/Export/LibraryCalls.h"

using namespace mlir;

namespace zc {

void exportPooling(sched::LibraryCallOp op, const ProgramExport &program,
                   plan::PoolingCall &call) {
  DictionaryAttr config = op.getConfig();
  bool channelsLast = config.contains("channels_last");
  *call.mutable_source() = makeImage(op.getInputs()[0], channelsLast, program);
  *call.mutable_destination() =
      makeImage(op.getOutputs()[0], channelsLast, program);
  auto list = [&](StringRef name) {
    return config.getAs<DenseI64ArrayAttr>(name).asArrayRef();
  };
  for (int64_t size : list("window"))
    call.add_window(size);
  for (int64_t stride : list("strides"))
    call.add_strides(stride);
  for (int64_t pad : list("pads_low")) // as the high ones
    call.add_pads(pad);
}

} // namespace zc
