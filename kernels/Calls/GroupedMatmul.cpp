#include "kernels/Calls/GroupedMatmul.h"

#include "kernels/Calls/Division/GroupedBlocks.h"
#include "kernels/Calls/Division/GroupedTiles.h"
#include "kernels/Calls/Scratch.h"

#include <algorithm>

namespace zc::kernels {
namespace {

using Dims = std::vector<int64_t>;

bool isGradient(const LibraryCall &call) {
  return call.op == "grouped_matmul_grad";
}

int64_t countRows(const Dims &dims) {
  return dims.size() == 3 ? dims[0] * dims[1] : dims[0];
}

/// Whether these are rows as `a` has them.
bool areRows(const Dims &dims, const Dims &a) {
  return dims.size() == a.size() &&
         std::equal(dims.begin(), dims.end() - 1, a.begin());
}

bool areIntegers(const CallTensor &tensor, const Dims &dims) {
  return (tensor.type == ElementType::I32 || tensor.type == ElementType::I64) &&
         tensor.dims == dims;
}

/// Whether the matrices fit rows of `inner` elements.
bool productFits(const LibraryCall &call) {
  const Dims &a = call.inputs[0].dims, &b = call.inputs[1].dims,
             &c = call.outputs[0].dims;
  const bool transposed = call.has("transpose_weights");
  const int64_t inner = a.back(), experts = call.inputs[3].dims[0];
  if (isGradient(call))
    return areRows(b, a) && !transposed && c == Dims{experts, inner, b.back()};
  const int64_t columns = c.back();
  return areRows(c, a) && b == (transposed ? Dims{experts, columns, inner}
                                           : Dims{experts, inner, columns});
}

bool isSound(const LibraryCall &call) {
  const Dims &a = call.inputs[0].dims, &ids = call.inputs[3].dims;
  for (const CallTensor &each :
       {call.inputs[0], call.inputs[1], call.outputs[0]})
    if (each.dims.size() != 2 && each.dims.size() != 3)
      return false;
  // Rows are counted in 32 bits.
  return ids.size() == 1 && countRows(a) <= INT32_MAX &&
         areIntegers(call.inputs[2], Dims(a.begin(), a.end() - 1)) &&
         areIntegers(call.inputs[3], ids) && productFits(call);
}

} // namespace

std::string GroupedMatmulCall::check(const LibraryCall &call) {
  if (std::string error = checkCounts(call, 4, 1); !error.empty())
    return error;
  const CallTensor &a = call.inputs[0], &b = call.inputs[1],
                   &c = call.outputs[0];
  if (!isSound(call))
    return "its product of " + printDims(a.dims) + " and " + printDims(b.dims) +
           " of experts " + printDims(call.inputs[3].dims) + ", " +
           printDims(c.dims) + ", does not fit";
  if (!isMatrixType(a.type) || b.type != a.type ||
      (c.type != a.type && c.type != ElementType::F32))
    return "its operands have different or unsuitable types";
  return call.hasWorkspace ? "" : "it has no workspace";
}

GroupedMatmulSpec GroupedMatmulCall::specOf(const LibraryCall &call) {
  const CallTensor &a = call.inputs[0], &c = call.outputs[0];
  GroupedMatmulSpec spec;
  spec.gradient = isGradient(call);
  spec.transposed = call.has("transpose_weights");
  spec.rows = countRows(a.dims);
  spec.inner = a.dims.back();
  spec.columns = c.dims.back();
  spec.experts = call.inputs[3].dims[0];
  spec.type = a.type;
  spec.resultType = c.type;
  spec.groupType = call.inputs[2].type;
  spec.idType = call.inputs[3].type;
  return spec;
}

GroupedMatmulLaunch GroupedMatmulCall::launch(const LibraryCall &call,
                                              const CallAddresses &addresses) {
  const auto &in = addresses.inputs;
  return {specOf(call),
          in[0],
          in[1],
          addresses.outputs[0],
          in[2],
          in[3],
          addresses.workspace,
          addresses.workspaceBytes};
}

CallWork GroupedMatmulCall::workOf(const LibraryCall &call) {
  return {"matmul", call.inputs[0].type, std::nullopt};
}

uint64_t GroupedMatmulCall::cpuWorkspace(const GroupedMatmulSpec &spec,
                                         int threads) {
  uint64_t most = 0;
  for (int64_t size : groupedTileSizes(spec.rows))
    for (bool accumulate : {false, true})
      most = std::max(most,
                      MatmulCall::cpuWorkspace(
                          groupedTileProduct(spec, size, accumulate), threads));
  const uint64_t library = groupedInnerBytes(spec) + groupedColumnBytes(spec) +
                           roundUpBytes(most, 64);
  return tilesGroupedMatmul(spec, ProcessorKind::IntelWide)
             ? std::max(library, tiledGroupedWorkspace(spec, threads))
             : library;
}

} // namespace zc::kernels
