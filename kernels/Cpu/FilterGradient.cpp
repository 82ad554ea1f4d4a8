#include "kernels/Cpu/FilterGradient.h"
#include "kernels/Cpu/ConvolutionWays.h"
#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/OneDnn.h"
#include "kernels/Cpu/Parallel.h"

#include <algorithm>

namespace zc::kernels {
namespace {

FilterGradientImages describeImages(const ConvolutionSpec &spec) {
  FilterGradientImages images = {};
  images.filters = spec.filter.dims[0];
  images.channels = spec.filter.dims[1];
  setGeometry(spec, images);
  return images;
}

class FilterGradient final : public Primitive {
public:
  FilterGradient(const ConvolutionSpec &spec, InstructionSet set, int threads)
      : images(describeImages(spec)), shape(shapeFilterGradient(spec)),
        split(splitFilterGradient(shape, threads)), set(set),
        functions(ZC_OF_INSTRUCTION_SET(set, filterGradientFunctions())) {}

  bool execute(void *const *pointers, void *workspace,
               std::string *) noexcept override {
    auto *scratch = static_cast<float *>(workspace);
    auto *gradient = static_cast<float *>(pointers[1]);
    images.source = static_cast<const float *>(pointers[0]);
    images.destination = static_cast<const float *>(pointers[2]);
    bool direct = filterGradientIsDirect(shape, split);
    float *parts =
        direct ? gradient
               : scratch + split.tasks() * filterGradientTaskFloats(shape);
    onTeam([&](int64_t task) { multiply(task, scratch, parts); });
    if (!direct)
      onTeam([&](int64_t task) { sum(task, parts, gradient); });
    return true;
  }

  std::string implementation() const override {
    return std::string("tiles:") + nameOf(set);
  }
  uint64_t workspaceBytes() const override {
    return 4 * filterGradientFloats(shape, split);
  }

private:
  /// Calls `work` with every task's number, each on a thread of its own.
  template <typename Work> void onTeam(const Work &work) const {
    parallelForEach(split.tasks(), static_cast<int>(split.tasks()), work);
  }

  void multiply(int64_t number, float *scratch, float *parts) const {
    int64_t row = number % split.rowParts, rest = number / split.rowParts;
    int64_t panel = rest % split.panelParts, deep = rest / split.panelParts;
    int64_t tiles = (shape.rows + kFilterTile - 1) / kFilterTile;
    int64_t panels = shape.taps * shape.panelsPerTap;
    int64_t blocks = (shape.depth + kFilterDepth - 1) / kFilterDepth;
    auto end = [](int64_t all, int64_t unit, int64_t limit) {
      return std::min(all * unit, limit);
    };
    FilterGradientTask task = {};
    task.images = images;
    task.shape = shape;
    task.rowBegin = tiles * row / split.rowParts * kFilterTile;
    task.rowEnd =
        end(tiles * (row + 1) / split.rowParts, kFilterTile, shape.rows);
    task.panelBegin = panels * panel / split.panelParts;
    task.panelEnd = panels * (panel + 1) / split.panelParts;
    task.depthBegin = blocks * deep / split.depthParts * kFilterDepth;
    task.depthEnd =
        end(blocks * (deep + 1) / split.depthParts, kFilterDepth, shape.depth);
    task.result = parts + deep * shape.rows * shape.columns;
    task.resultRow = shape.columns;
    task.scratch = scratch + number * filterGradientTaskFloats(shape);
    functions.multiply(task);
  }

  /// Whole groups of sixteen filters.
  void sum(int64_t number, const float *parts, float *gradient) const {
    int64_t groups = images.filters / 16;
    functions.sum({parts, split.depthParts, shape,
                   16 * (groups * number / split.tasks()),
                   16 * (groups * (number + 1) / split.tasks()), gradient});
  }

  FilterGradientImages images;
  FilterGradientShape shape;
  FilterGradientSplit split;
  InstructionSet set;
  FilterGradientFunctions functions;
};

} // namespace

std::unique_ptr<Primitive> createFilterGradient(const ConvolutionSpec &spec,
                                                uint64_t workspaceBytes,
                                                bool ifQuicker) {
  InstructionSet set = widestInstructionSet();
  bool isOpen = isTiledFilterGradient(spec);
  if (onednn::computesByVectors())
    isOpen = set != InstructionSet::Baseline &&
             (ifQuicker ? filterGradientByTiles(spec) : isOpen);
  // Fewer threads may need less.
  for (int threads = isOpen ? teamSize() : 0; threads > 0; --threads) {
    auto kernel = std::make_unique<FilterGradient>(spec, set, threads);
    if (kernel->workspaceBytes() <= workspaceBytes)
      return kernel;
  }
  return nullptr;
}

} // namespace zc::kernels
