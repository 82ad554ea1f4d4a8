#include "kernels/Cpu/TileConvolution.h"
#include "kernels/Calls/Division/PointwiseProduct.h"
#include "kernels/Cpu/ConvolutionTiles.h"
#include "kernels/Cpu/ConvolutionWays.h"
#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/Parallel.h"

#include <algorithm>

namespace zc::kernels {
namespace {

ConvolutionImages describeImages(const ConvolutionSpec &spec) {
  ConvolutionImages images = {};
  images.backward = spec.kind == ConvolutionKind::BackwardInput;
  images.readChannels = spec.filter.dims[images.backward ? 0 : 1];
  images.resultChannels = spec.filter.dims[images.backward ? 1 : 0];
  setGeometry(spec, images);
  return images;
}

/// Tasks of some rows of the result: enough pixels that a panel of the filter
/// is worth fetching.
class TileConvolution final : public Primitive {
public:
  explicit TileConvolution(const ConvolutionSpec &spec)
      : images(describeImages(spec)), set(widestInstructionSet()),
        function(ZC_OF_INSTRUCTION_SET(set, convolutionTilesFunction())) {
    constexpr int64_t kPixels = 128;
    const int64_t *size =
        images.backward ? images.sourceSize : images.destinationSize;
    rows = spec.source.dims[0] * size[0];
    taskRows = std::max<int64_t>(1, kPixels / std::max<int64_t>(1, size[1]));
  }

  bool execute(void *const *pointers, void *workspace,
               std::string *) noexcept override {
    images.read = static_cast<const float *>(pointers[images.backward ? 2 : 0]);
    images.result = static_cast<float *>(pointers[images.backward ? 0 : 2]);
    filter = static_cast<const float *>(pointers[1]);
    sorted = static_cast<float *>(workspace);
    onTeam<&TileConvolution::sortFilter>(taps());
    onTeam<&TileConvolution::multiply>((rows + taskRows - 1) / taskRows);
    return true;
  }

  std::string implementation() const override {
    return std::string("tiles:") + nameOf(set);
  }
  uint64_t workspaceBytes() const override {
    return 4 * taps() * images.readChannels * images.resultChannels;
  }

private:
  int64_t taps() const { return images.kernelSize[0] * images.kernelSize[1]; }

  /// Calls the function with every task's number.
  template <void (TileConvolution::*Function)(int64_t) const>
  void onTeam(int64_t tasks) {
    parallelForEach(tasks, teamSize(),
                    [this](int64_t task) { (this->*Function)(task); });
  }

  void multiply(int64_t task) const {
    function({images, sorted, task * taskRows,
              std::min((task + 1) * taskRows, rows)});
  }

  /// [filters, channels, taps] of one tap as [read channels, result channels].
  void sortFilter(int64_t tap) const {
    int64_t channels =
        images.backward ? images.resultChannels : images.readChannels;
    int64_t readStep = images.backward ? channels * taps() : taps();
    int64_t resultStep = images.backward ? taps() : channels * taps();
    float *to = sorted + tap * images.readChannels * images.resultChannels;
    for (int64_t i = 0; i < images.readChannels; ++i)
      for (int64_t j = 0; j < images.resultChannels; ++j)
        *to++ = filter[i * readStep + j * resultStep + tap];
  }

  ConvolutionImages images;
  int64_t rows, taskRows;
  const float *filter = nullptr;
  float *sorted = nullptr;
  InstructionSet set;
  ConvolutionTilesFunction function;
};

} // namespace

static bool isTiled(const ConvolutionSpec &spec) {
  for (const StridedTensor *tensor :
       {&spec.source, &spec.filter, &spec.destination})
    if (tensor->type != ElementType::F32 || tensor->dims.size() != 4)
      return false;
  return spec.groups == 1 && isDenseChannelsLast(spec.source) &&
         isDenseChannelsLast(spec.destination) && isDense(spec.filter);
}

bool mayTileConvolution(const ConvolutionSpec &spec) {
  if (spec.kind == ConvolutionKind::BackwardFilter || !isTiled(spec))
    return false;
  int result = spec.kind == ConvolutionKind::Forward ? 0 : 1;
  return spec.filter.dims[result] % 16 == 0;
}

std::unique_ptr<Primitive> createTileConvolution(const ConvolutionSpec &spec,
                                                 uint64_t workspaceBytes) {
  if (!mayTileConvolution(spec))
    return nullptr;
  auto kernel = std::make_unique<TileConvolution>(spec);
  if (kernel->workspaceBytes() > workspaceBytes)
    return nullptr;
  return kernel;
}

} // namespace zc::kernels
