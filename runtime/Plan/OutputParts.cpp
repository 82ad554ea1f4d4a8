#include "runtime/Plan/OutputParts.h"
#include "runtime/Plan/Types.h"

#include <cstring>

namespace zc {

OutputParts::OutputParts(const plan::Output &output,
                         const plan::TensorType &type, const Mesh &mesh,
                         int role)
    : axes(output.batch_axes()),
      theWholeDims(type.dims().begin(), type.dims().end()),
      isZigzag(output.zigzag()),
      sampleParts(mesh.groupSize(output.batch_axes())),
      inner(elementBytes(type.dtype())) {
  const int batchDim = output.batch_dim();
  for (int i = 0; i < output.sharding().dims_size(); ++i) {
    const AxisNames &divided = output.sharding().dims(i).axes();
    if (i == batchDim || divided.empty())
      continue;
    theTokenDim = i;
    tokenParts = mesh.groupSize(divided);
    axes.MergeFrom(divided);
  }
  theRanks = mesh.group(mesh.firstOf(role), axes);
  for (int i = 0; i < type.dims_size(); ++i) {
    const auto size = uint64_t(type.dims(i));
    if (i == theTokenDim)
      tokens = size;
    else if (i < batchDim)
      outer *= size;
    else if (i == batchDim)
      samples = size;
    else
      (i < theTokenDim ? middle : inner) *= size;
  }
  if (batchDim >= 0)
    theWholeDims[size_t(batchDim)] *= sampleParts;
  if (theTokenDim >= 0)
    theWholeDims[size_t(theTokenDim)] *= tokenParts;
}

std::vector<OutputParts::Run> OutputParts::runsOf(size_t index) const {
  const int64_t place = int64_t(index) % tokenParts, count = int64_t(tokens);
  if (!isZigzag)
    return {{place * count, count}};
  const int64_t half = count / 2;
  return {{place * half, half}, {(2 * tokenParts - 1 - place) * half, half}};
}

std::vector<int64_t> OutputParts::tokensOf(size_t index) const {
  std::vector<int64_t> numbers;
  for (const Run &run : runsOf(index))
    for (int64_t i = 0; i < run.count; ++i)
      numbers.push_back(run.first + i);
  return numbers;
}

void OutputParts::place(size_t index, const char *part, char *whole) const {
  const std::vector<Run> runs = runsOf(index);
  const uint64_t firstSample = index / uint64_t(tokenParts) * samples;
  const uint64_t allSamples = samples * uint64_t(sampleParts);
  const uint64_t row = tokens * uint64_t(tokenParts) * inner;
  for (uint64_t o = 0; o < outer; ++o)
    for (uint64_t s = 0; s < samples; ++s)
      for (uint64_t m = 0; m < middle; ++m) {
        char *to =
            whole + ((o * allSamples + firstSample + s) * middle + m) * row;
        for (const Run &run : runs) {
          const uint64_t bytes = uint64_t(run.count) * inner;
          std::memcpy(to + uint64_t(run.first) * inner, part, bytes);
          part += bytes;
        }
      }
}

} // namespace zc
