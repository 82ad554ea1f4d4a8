// One task's rows of a convolution. Columns of the filter come in panels that
// stay in a second-level cache while all rows of the task meet them.
//
// Compiled per instruction set into the namespace ZC_ISA: no inline function
// from elsewhere may be used but those of constants.
#include "kernels/Cpu/ConvolutionTiles.h"
#include "kernels/Cpu/TileProduct.h"

namespace zc::kernels::ZC_ISA {
namespace {

constexpr int64_t kPanel = 64;

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/// Rounded up, of a that may be negative.
inline int64_t ceilDivide(int64_t a, int64_t b) {
  return a > 0 ? (a + b - 1) / b : -(-a / b);
}

/// The pixels that one tap adds to one row of the result: `count` of them, from
/// pixel `source` of the source's row and pixel `destination` of the
/// destination's row on. Rows are counted over all images.
struct Run {
  int64_t sourceRow, destinationRow, source, destination, count;
};

/// The destination's row that a tap takes the source's row to, or -1. Both are
/// of one image.
inline int64_t destinationRowOf(const ConvolutionImages &images, int64_t row,
                                int64_t tapRow) {
  int64_t at = row + images.pad[0] - tapRow * images.dilation[0];
  if (at < 0 || at % images.stride[0] != 0)
    return -1;
  int64_t found = at / images.stride[0];
  return found < images.destinationSize[0] ? found : -1;
}

/// The source's row that a tap takes to the destination's row, or -1.
inline int64_t sourceRowOf(const ConvolutionImages &images, int64_t row,
                           int64_t tapRow) {
  int64_t at =
      row * images.stride[0] + tapRow * images.dilation[0] - images.pad[0];
  return at >= 0 && at < images.sourceSize[0] ? at : -1;
}

/// The pixels of a row whose tap lies inside the image.
inline void findPixels(const ConvolutionImages &images, int64_t tapColumn,
                       Run &run) {
  int64_t shift = tapColumn * images.dilation[1] - images.pad[1];
  int64_t stride = images.stride[1];
  int64_t begin = most(0, ceilDivide(-shift, stride));
  int64_t end = least(images.destinationSize[1],
                      ceilDivide(images.sourceSize[1] - shift, stride));
  run.destination = begin;
  run.source = begin * stride + shift;
  run.count = end - begin;
}

/// False where the tap adds nothing to the row.
bool findRun(const ConvolutionImages &images, int64_t resultRow, int64_t tap,
             Run &run) {
  const int64_t *size =
      images.backward ? images.sourceSize : images.destinationSize;
  const int64_t *other =
      images.backward ? images.destinationSize : images.sourceSize;
  int64_t image = resultRow / size[0], row = resultRow % size[0];
  int64_t tapRow = tap / images.kernelSize[1];
  int64_t found = images.backward ? destinationRowOf(images, row, tapRow)
                                  : sourceRowOf(images, row, tapRow);
  if (found < 0)
    return false;
  found += image * other[0];
  run.sourceRow = images.backward ? resultRow : found;
  run.destinationRow = images.backward ? found : resultRow;
  findPixels(images, tap % images.kernelSize[1], run);
  return run.count > 0;
}

/// result += read * filter, for some columns of the tap's filter.
void addRun(const ConvolutionTilesTask &task, const Run &run,
            const float *filter, int64_t first, int64_t columns) {
  const ConvolutionImages &images = task.images;
  int64_t source = run.sourceRow * images.sourceSize[1] + run.source;
  int64_t destination =
      run.destinationRow * images.destinationSize[1] + run.destination;
  int64_t step = images.stride[1]; // pixels of the source
  int64_t read = images.backward ? destination : source;
  int64_t result = images.backward ? source : destination;
  Factor rows = {images.read + read * images.readChannels,
                 images.readChannels * (images.backward ? 1 : step), 1};
  multiply(run.count, columns, images.readChannels, rows, filter + first,
           images.resultChannels,
           images.result + result * images.resultChannels + first,
           images.resultChannels * (images.backward ? step : 1), true);
}

void clearRows(const ConvolutionTilesTask &task) {
  const ConvolutionImages &images = task.images;
  int64_t width =
      (images.backward ? images.sourceSize : images.destinationSize)[1];
  int64_t row = width * images.resultChannels;
  for (float *at = images.result + task.begin * row,
             *end = images.result + task.end * row;
       at < end; at += kLanes)
    store(at, Vector{});
}

void multiplyTask(const ConvolutionTilesTask &task) {
  const ConvolutionImages &images = task.images;
  int64_t taps = images.kernelSize[0] * images.kernelSize[1];
  int64_t tapFloats = images.readChannels * images.resultChannels;
  clearRows(task);
  for (int64_t first = 0; first < images.resultChannels; first += kPanel) {
    int64_t columns = least(kPanel, images.resultChannels - first);
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t row = task.begin; row < task.end; ++row)
        if (Run run; findRun(images, row, tap, run))
          addRun(task, run, task.filter + tap * tapFloats, first, columns);
  }
}

} // namespace

ConvolutionTilesFunction convolutionTilesFunction() { return multiplyTask; }

} // namespace zc::kernels::ZC_ISA
