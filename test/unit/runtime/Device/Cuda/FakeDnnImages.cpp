#include "test/unit/runtime/Device/Cuda/FakeDnnImages.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace zc::test {

bool Windows::fit(const std::vector<int64_t> &x,
                  const std::vector<int64_t> &y) const {
  size_t spatial = strides.size();
  if (x.size() != spatial + 2 || y.size() != spatial + 2 || spatial < 2 ||
      spatial > 3 || x[0] != y[0])
    return false;
  for (size_t i = 0; i < spatial; ++i) {
    int64_t extent = (sizes[i] - 1) * dilations[i] + 1;
    int64_t reach = x[i + 2] + padsLow[i] + padsHigh[i] - extent;
    if (reach < 0 || reach / strides[i] + 1 != y[i + 2])
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

/// Filters of [K, C/groups, spatial]: the sizes say how many groups.
bool Convolution::isSound() const {
  const std::vector<int64_t> &x = source.dims, &w = filter.dims,
                             &y = destination.dims;
  return windows.fit(x, y) && w.size() == x.size() && w[0] == y[1] &&
         x[1] % w[1] == 0 && w[0] % (x[1] / w[1]) == 0 &&
         source.array.type == filter.array.type &&
         source.array.type == destination.array.type;
}

/// Visits every product: places of source, filter and destination.
template <typename F> void Convolution::forEach(F visit) const {
  size_t spatial = windows.strides.size();
  int64_t groups = source.dims[1] / filter.dims[1];
  Image all = destination; // and the taps of each of its elements
  all.dims.insert(all.dims.end(), filter.dims.begin() + 1, filter.dims.end());
  int64_t total = all.numElements();
  for (int64_t linear = 0; linear < total; ++linear) {
    std::vector<int64_t> at = all.indexOf(linear);
    int64_t channel = at[2 + spatial];
    int64_t group = at[1] / (filter.dims[0] / groups);
    std::vector<int64_t> in = {at[0], group * filter.dims[1] + channel},
                         f = {at[1], channel};
    bool inside = true;
    for (size_t i = 0; i < spatial; ++i) {
      int64_t tap = at[3 + spatial + i];
      int64_t pixel = at[2 + i] * windows.strides[i] - windows.padsLow[i] +
                      tap * windows.dilations[i];
      inside = inside && pixel >= 0 && pixel < source.dims[2 + i];
      in.push_back(pixel);
      f.push_back(tap);
    }
    if (inside)
      visit(source.place(in), filter.place(f),
            destination.place({at.begin(), at.begin() + int64_t(2 + spatial)}));
  }
}

void Convolution::run() const {
  bool forward = op == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
  bool toSource =
      op == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
  const Image &target = forward ? destination : toSource ? source : filter;
  std::vector<double> sums(size_t(target.numElements()), 0);
  forEach([&](int64_t in, int64_t f, int64_t out) {
    if (forward)
      sums[size_t(out)] += source.array.get(in) * filter.array.get(f);
    else if (toSource)
      sums[size_t(in)] += destination.array.get(out) * filter.array.get(f);
    else
      sums[size_t(f)] += source.array.get(in) * destination.array.get(out);
  });
  for (size_t i = 0; i < sums.size(); ++i)
    target.array.set(int64_t(i),
                     beta == 0 ? sums[i]
                               : sums[i] + beta * target.array.get(int64_t(i)));
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

bool Pooling::isSound() const {
  bool isMaximum = mode == CUDNN_RESAMPLE_MAXPOOL;
  return (isMaximum || mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING ||
          mode == CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING) &&
         !(isMaximum && isGradient) && windows.fit(image.dims, pooled.dims) &&
         image.dims[1] == pooled.dims[1] &&
         image.array.type == pooled.array.type;
}

std::vector<int64_t>
Pooling::elementsAt(const std::vector<int64_t> &place) const {
  std::vector<int64_t> elements;
  Image window = {windows.sizes, {}, {}};
  for (int64_t linear = 0; linear < window.numElements(); ++linear) {
    std::vector<int64_t> index = place, tap = window.indexOf(linear);
    bool inside = true;
    for (size_t i = 0; i < tap.size(); ++i) {
      int64_t pixel =
          place[i + 2] * windows.strides[i] - windows.padsLow[i] + tap[i];
      inside = inside && pixel >= 0 && pixel < image.dims[i + 2];
      index[i + 2] = pixel;
    }
    if (inside)
      elements.push_back(image.place(index));
  }
  return elements;
}

double Pooling::divisor(size_t elements) const {
  if (mode == CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING)
    return double(elements);
  Image window = {windows.sizes, {}, {}};
  return double(window.numElements());
}

double Pooling::largest(const std::vector<int64_t> &elements) const {
  double result = -std::numeric_limits<double>::infinity();
  for (int64_t element : elements) {
    double value = image.array.get(element);
    if (std::isnan(value))
      return value;
    result = std::max(result, value);
  }
  return result;
}

void Pooling::runGradient() const {
  std::vector<double> sums(size_t(image.numElements()), 0);
  for (int64_t linear = 0; linear < pooled.numElements(); ++linear) {
    std::vector<int64_t> place = pooled.indexOf(linear);
    std::vector<int64_t> elements = elementsAt(place);
    double share =
        pooled.array.get(pooled.place(place)) / divisor(elements.size());
    for (int64_t element : elements)
      sums[size_t(element)] += share;
  }
  for (size_t i = 0; i < sums.size(); ++i)
    image.array.set(int64_t(i), sums[i]);
}

void Pooling::run() const {
  if (isGradient)
    return runGradient();
  for (int64_t linear = 0; linear < pooled.numElements(); ++linear) {
    std::vector<int64_t> place = pooled.indexOf(linear);
    std::vector<int64_t> elements = elementsAt(place);
    double sum = 0;
    for (int64_t element : elements)
      sum += image.array.get(element);
    pooled.array.set(pooled.place(place), mode == CUDNN_RESAMPLE_MAXPOOL
                                              ? largest(elements)
                                              : sum / divisor(elements.size()));
  }
}

} // namespace zc::test
