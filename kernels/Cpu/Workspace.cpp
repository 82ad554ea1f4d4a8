// The formulas bound what oneDNN 2.6 asked for in scans of some 40,000 random
// shapes, 1 to 64 threads, with AVX-512 and with AVX2; test/unit/kernels keeps
// a table of the telling ones. The rare shapes above a bound (the library then
// wants a private copy of a whole operand per thread) are left out on purpose:
// planning for them would cost every program what only they need.
#include "kernels/Cpu/Workspace.h"
#include "kernels/Cpu/AttentionHead.h"
#include "kernels/Cpu/FilterGradient.h"
#include "kernels/Cpu/MatmulBlocks.h"
#include "kernels/Cpu/PointwiseProduct.h"

#include <algorithm>

namespace zc::kernels {
namespace {

constexpr uint64_t kKiB = 1024;

uint64_t roundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

uint64_t saturatingProduct(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX / 8 : product;
}

/// The properties of a convolution that its workspace bound depends on.
struct Shape {
  uint64_t groups, channels, filters; // channels and filters of one group
  uint64_t taps = 1, sourcePixels = 1, destinationPixels = 1;
  bool strided = false, dilated = false, channelsLast = true, depthwise = false;
};

Shape summarize(const ConvolutionSpec &spec) {
  Shape shape;
  shape.groups = spec.groups;
  shape.channels = spec.filter.dims[1];
  shape.filters = spec.filter.dims[0] / spec.groups;
  for (size_t i = 2; i < spec.filter.dims.size(); ++i) {
    shape.taps *= spec.filter.dims[i];
    shape.sourcePixels *= spec.source.dims[i];
    shape.destinationPixels *= spec.destination.dims[i];
    shape.strided |= spec.strides[i - 2] > 1;
    shape.dilated |= spec.dilations[i - 2] > 1 && spec.filter.dims[i] > 1;
  }
  auto isChannelsLast = [](const StridedTensor &tensor) {
    return tensor.dims[1] == 1 || tensor.strides[1] == 1;
  };
  shape.channelsLast =
      isChannelsLast(spec.source) && isChannelsLast(spec.destination);
  shape.depthwise = shape.groups > 1 && shape.channels == 1 &&
                    shape.filters == 1 && spec.filter.dims.size() == 4;
  return shape;
}

/// The filter in the library's blocked layout.
uint64_t filterCopyBytes(const Shape &shape) {
  if (shape.depthwise && !shape.dilated && shape.taps > 1 && shape.taps <= 9)
    return 4 * shape.taps * roundUp(shape.groups, 16);
  uint64_t filters = roundUp(shape.filters, shape.filters > 64 ? 64 : 16);
  uint64_t channels = roundUp(shape.channels, 16);
  channels += roundUp(channels / 32, 16);
  return 4 * shape.taps * shape.groups * filters * channels;
}

/// Whether the library's kernels for AVX2 do not take a convolution whose
/// channels are last: it then multiplies unfolded patches. They take channels
/// and filters of groups by eights; without groups, only gradients of images in
/// steps need it.
bool isUnfoldedOnAvx2(const Shape &shape, ConvolutionKind kind) {
  if (!shape.channelsLast || shape.taps == 1 || shape.depthwise)
    return false;
  bool odd = shape.channels % 8 != 0;
  if (shape.groups > 1)
    return odd || shape.filters % 8 != 0;
  return odd && shape.strided && kind == ConvolutionKind::BackwardInput;
}

} // namespace

uint64_t matmulWorkspaceBound(const MatmulSpec &spec, int threads) {
  // A thread packs blocks of a and b and keeps a block of c in float32; the
  // block sizes are limited by the caches, and by the matrices when these are
  // small.
  constexpr uint64_t perThreadLimit = 2304 * kKiB;
  size_t last = spec.c.dims.size() - 1;
  uint64_t m = roundUp(spec.c.dims[last - 1], 64);
  uint64_t n = roundUp(spec.c.dims[last], 64);
  uint64_t k = roundUp(spec.a.dims[last], 64);
  uint64_t packed = 0;
  for (auto [rows, columns] : {std::pair(m, k), {k, n}, {m, n}})
    packed =
        std::min(perThreadLimit, packed + saturatingProduct(4 * rows, columns));
  uint64_t library = std::max(1, threads) * (packed + 8 * kKiB);
  return mayTileMatmul(spec)
             ? std::max(library, tiledMatmulWorkspace(spec, threads))
             : library;
}

/// Enough for every number of threads up to `threads`.
static uint64_t filterGradientBytes(const ConvolutionSpec &spec, int threads) {
  FilterGradientShape shape = shapeFilterGradient(spec);
  int64_t floats = 0;
  for (int64_t team = 1; team <= std::max(1, threads); ++team)
    floats = std::max(
        floats, filterGradientFloats(shape, splitFilterGradient(shape, team)));
  return 4 * floats;
}

uint64_t convolutionWorkspaceBound(const ConvolutionSpec &spec, int threads) {
  if (std::optional<MatmulSpec> matmul = pointwiseProduct(spec))
    return matmulWorkspaceBound(*matmul, threads);
  uint64_t byTiles = filterGradientByTiles(spec)
                         ? roundUp(filterGradientBytes(spec, threads), 64)
                         : 0;
  Shape shape = summarize(spec);
  uint64_t team = std::max(1, threads);
  uint64_t filter = filterCopyBytes(shape);
  bool forward = spec.kind == ConvolutionKind::Forward;
  bool backwardFilter = spec.kind == ConvolutionKind::BackwardFilter;

  uint64_t perThread = 20 * kKiB;
  if (backwardFilter)
    perThread += filter; // partial sums
  uint64_t channels = roundUp(shape.channels * shape.groups, 16);
  bool byMatmul = !shape.channelsLast ||
                  (shape.dilated && (shape.strided || backwardFilter));
  if (shape.channelsLast && shape.taps == 1 && shape.strided)
    // A strided 1x1 convolution is made dense first.
    perThread +=
        4 * channels *
        (spec.kind == ConvolutionKind::BackwardInput ? shape.sourcePixels
                                                     : shape.destinationPixels);
  else if (byMatmul && (!forward || !shape.channelsLast))
    // Unfolded source patches of one image.
    perThread += (forward ? 4 : 8) * shape.channels *
                 saturatingProduct(shape.taps, shape.destinationPixels);
  uint64_t shared = filter + 4 * kKiB;
  if (isUnfoldedOnAvx2(shape, spec.kind))
    (backwardFilter ? perThread : shared) +=
        4 * shape.channels *
        saturatingProduct(shape.taps, shape.destinationPixels);
  return std::max(byTiles,
                  roundUp(saturatingProduct(team, perThread) + shared, 64));
}

uint64_t attentionWorkspaceBound(const AttentionSpec &spec, int threads) {
  int64_t floats = attentionScratchFloats(spec.queries, spec.keys, spec.width,
                                          spec.backward);
  if (spec.type == ElementType::BF16) // with AMX or without
    floats = std::max(narrowScratchFloats(spec.keys, spec.width, spec.backward),
                      widenedScratchFloats(spec.queries, spec.keys, spec.width,
                                           spec.masked || spec.bounded,
                                           spec.backward));
  uint64_t perThread = roundUp(4 * floats, 64);
  int64_t team =
      std::min<int64_t>(std::max(1, threads), spec.batch * spec.heads);
  return saturatingProduct(team, perThread);
}

} // namespace zc::kernels
