#include "kernels/Calls/Attention.h"

#include "kernels/Calls/Division/AttentionScratch.h"
#include "kernels/Calls/Scratch.h"

#include <algorithm>
#include <cstddef>

namespace zc::kernels {
namespace {

/// Where a launch has its mask, and where the log of sums.
constexpr size_t kMask = 9, kLogOfSums = 4;

bool isGradient(const LibraryCall &call) { return call.op == "attention_grad"; }

/// Inputs before the mask.
size_t operandsOf(const LibraryCall &call) { return isGradient(call) ? 6 : 3; }

const CallTensor *maskOf(const LibraryCall &call) {
  return call.inputs.size() > operandsOf(call) ? &call.inputs.back() : nullptr;
}

/// The buffers of a launch without the mask.
template <typename Item>
std::vector<Item> partsOf(const LibraryCall &call,
                          const std::vector<Item> &inputs,
                          const std::vector<Item> &outputs) {
  std::vector<Item> parts(inputs.begin(),
                          inputs.begin() + std::ptrdiff_t(operandsOf(call)));
  parts.insert(parts.end(), outputs.begin(), outputs.end());
  return parts;
}

std::string checkCount(const LibraryCall &call) {
  const size_t operands = operandsOf(call), results = call.outputs.size(),
               mostResults = isGradient(call) ? 3 : 2;
  if (call.inputs.size() >= operands && call.inputs.size() <= operands + 1 &&
      results >= 1 && results <= mostResults)
    return "";
  return "its attention has " + std::to_string(call.inputs.size()) +
         " inputs and " + std::to_string(results) + " results";
}

bool partsFit(const std::vector<CallTensor> &parts) {
  const std::vector<int64_t> &q = parts[0].dims, &k = parts[1].dims;
  if (q.size() != 4 || k.size() != 4)
    return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool ofKeys = i == 1 || i == 2 || i == 7 || i == 8;
    const std::vector<int64_t> dims =
        i == kLogOfSums
            ? std::vector<int64_t>{q[0], q[2], q[1]}
            : std::vector<int64_t>{q[0], ofKeys ? k[1] : q[1], q[2], q[3]};
    const ElementType type = i == kLogOfSums ? ElementType::F32 : parts[0].type;
    if (parts[i].dims != dims || parts[i].type != type)
      return false;
  }
  return true;
}

/// Whether a mask is added to the scores, or holds the last key of each query.
bool maskFits(const LibraryCall &call, const CallTensor &mask) {
  const std::vector<int64_t> &q = call.inputs[0].dims, &k = call.inputs[1].dims;
  const bool saysLastKeys =
      mask.type == ElementType::I64 && !call.has("causal");
  if (saysLastKeys)
    return mask.dims == std::vector<int64_t>{1, 1, q[1], 1};
  const int64_t full[] = {q[0], q[2], q[1], k[1]};
  bool fits = mask.dims.size() == 4 && mask.type == call.inputs[0].type;
  for (size_t i = 0; fits && i < 4; ++i)
    fits = mask.dims[i] == full[i] || (i < 3 && mask.dims[i] == 1);
  return fits;
}

} // namespace

std::string AttentionCall::check(const LibraryCall &call) {
  if (std::string error = checkCount(call); !error.empty())
    return error;
  const ElementType type = call.inputs[0].type;
  if (!isMatrixType(type))
    return std::string("its attention is of ") + nameOfType(type);
  if (!call.has("scale"))
    return "its attention has no scale";
  const std::string shapes = "its attention of " +
                             printDims(call.inputs[0].dims) + " over " +
                             printDims(call.inputs[1].dims);
  if (!partsFit(partsOf(call, call.inputs, call.outputs)))
    return shapes + " has buffers that do not fit";
  const CallTensor *mask = maskOf(call);
  if (mask && !maskFits(call, *mask))
    return shapes + " has a mask " + printDims(mask->dims);
  return call.hasWorkspace ? "" : "it has no workspace";
}

AttentionSpec AttentionCall::specOf(const LibraryCall &call) {
  const std::vector<int64_t> &q = call.inputs[0].dims, &k = call.inputs[1].dims;
  AttentionSpec spec;
  spec.backward = isGradient(call);
  spec.batch = q[0];
  spec.queries = q[1];
  spec.keys = k[1];
  spec.heads = q[2];
  spec.width = q[3];
  spec.scale = call.number("scale");
  spec.causal = call.has("causal");
  spec.type = call.inputs[0].type;
  if (const CallTensor *mask = maskOf(call)) {
    spec.bounded = mask->type == ElementType::I64;
    spec.masked = !spec.bounded;
    int64_t stride = mask->dims[3];
    for (size_t dim = 3; dim > 0; --dim) {
      spec.maskStrides[dim - 1] = mask->dims[dim - 1] == 1 ? 0 : stride;
      stride *= mask->dims[dim - 1];
    }
  }
  return spec;
}

AttentionLaunch AttentionCall::launch(const LibraryCall &call,
                                      const CallAddresses &addresses) {
  AttentionLaunch launch = {};
  launch.spec = specOf(call);
  launch.buffers = partsOf(call, addresses.inputs, addresses.outputs);
  launch.buffers.resize(kMask + 1, nullptr);
  if (maskOf(call))
    launch.buffers[kMask] = addresses.inputs.back();
  launch.workspace = addresses.workspace;
  launch.workspaceBytes = addresses.workspaceBytes;
  return launch;
}

CallWork AttentionCall::workOf(const LibraryCall &call) {
  const AttentionSpec spec = specOf(call);
  return {isGradient(call) ? "attention_backward" : "attention",
          spec.type,
          std::nullopt,
          {spec.queries, spec.keys, spec.width, spec.causal ? 2 : 1}};
}

uint64_t AttentionCall::cpuWorkspace(const AttentionSpec &spec, int threads) {
  int64_t floats = attentionScratchFloats(spec.queries, spec.keys, spec.width,
                                          spec.backward);
  if (spec.type == ElementType::BF16) // with AMX or without
    floats = std::max(narrowScratchFloats(spec.keys, spec.width, spec.backward),
                      widenedScratchFloats(spec.queries, spec.keys, spec.width,
                                           spec.masked, spec.backward));
  uint64_t perThread = roundUpBytes(4 * floats, 64);
  int64_t team =
      std::min<int64_t>(std::max(1, threads), spec.batch * spec.heads);
  return saturatingProduct(team, perThread);
}

/// The gradient of q is added up in float32, twice at most, beside a number a
/// query; the rest is the library's own, for tens of thousands of tiles.
uint64_t AttentionCall::cudaWorkspace(const AttentionSpec &spec) {
  uint64_t queries = uint64_t(spec.batch * spec.heads * spec.queries);
  uint64_t sums =
      spec.backward ? 4 * queries * (2 * uint64_t(spec.width) + 1) : 0;
  return alignedForCuda(sums + kCudaScratch);
}

} // namespace zc::kernels
