#include "kernels/Calls/Sparse.h"

namespace zc::kernels {
namespace {

bool isDecoding(const LibraryCall &call) { return call.op == "sparse_decode"; }

const CallTensor &denseOf(const LibraryCall &call) {
  return isDecoding(call) ? call.outputs[0] : call.inputs[0];
}

/// Bits, offsets and values.
const std::vector<CallTensor> &partsOf(const LibraryCall &call) {
  return isDecoding(call) ? call.inputs : call.outputs;
}

bool isVector(const CallTensor &tensor, ElementType type) {
  return tensor.type == type && tensor.dims.size() == 1;
}

bool partsFit(const CallTensor &dense, const std::vector<CallTensor> &parts) {
  const int64_t elements = dense.numElements();
  const int64_t blocks = (elements + kSparseBlock - 1) / kSparseBlock;
  return isMatrixType(dense.type) && isVector(parts[0], ElementType::I8) &&
         isVector(parts[1], ElementType::I64) &&
         isVector(parts[2], dense.type) &&
         parts[0].dims[0] == (elements + 7) / 8 &&
         parts[1].dims[0] == blocks + 1;
}

} // namespace

std::string SparseCall::check(const LibraryCall &call) {
  const bool decode = isDecoding(call);
  if (std::string error = checkCounts(call, decode ? 3 : 1, decode ? 1 : 3);
      !error.empty())
    return error;
  const CallTensor &dense = denseOf(call);
  return partsFit(dense, partsOf(call))
             ? ""
             : "its sparse " + print(dense) + " has parts that do not fit";
}

SparseSpec SparseCall::specOf(const LibraryCall &call) {
  const CallTensor &dense = denseOf(call);
  SparseSpec spec;
  spec.decode = isDecoding(call);
  spec.type = dense.type;
  spec.elements = dense.numElements();
  spec.capacity = partsOf(call)[2].dims[0];
  return spec;
}

SparseLaunch SparseCall::launch(const LibraryCall &call,
                                const CallAddresses &addresses) {
  const auto &dense = isDecoding(call) ? addresses.outputs : addresses.inputs;
  const auto &parts = isDecoding(call) ? addresses.inputs : addresses.outputs;
  return {specOf(call), dense[0], parts[0], parts[1], parts[2]};
}

} // namespace zc::kernels
