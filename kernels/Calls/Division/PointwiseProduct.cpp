#include "kernels/Calls/Division/PointwiseProduct.h"

namespace zc::kernels {
namespace {

/// Whether `dims` of the tensor, the fastest first, lie densely in memory.
bool isDenseInOrder(const StridedTensor &tensor,
                    const std::vector<size_t> &dims) {
  int64_t stride = 1;
  for (size_t dim : dims) {
    if (tensor.dims[dim] > 1 && tensor.strides[dim] != stride)
      return false;
    stride *= tensor.dims[dim];
  }
  return true;
}

StridedTensor matrix(int64_t rows, int64_t columns, int64_t rowStride,
                     int64_t columnStride) {
  return {ElementType::F32, {rows, columns}, {rowStride, columnStride}};
}

} // namespace

bool isDenseChannelsLast(const StridedTensor &image) {
  std::vector<size_t> order = {1};
  for (size_t dim = image.dims.size() - 1; dim > 1; --dim)
    order.push_back(dim);
  order.push_back(0);
  return isDenseInOrder(image, order);
}

bool isDense(const StridedTensor &tensor) {
  std::vector<size_t> order;
  for (size_t dim = tensor.dims.size(); dim-- > 0;)
    order.push_back(dim);
  return isDenseInOrder(tensor, order);
}

std::optional<MatmulSpec> pointwiseProduct(const ConvolutionSpec &spec) {
  // Fewer channels fill no vectors.
  constexpr int64_t kMinChannels = 16;
  int64_t filters = spec.filter.dims[0], channels = spec.filter.dims[1];
  if (spec.kind == ConvolutionKind::BackwardFilter || spec.groups != 1 ||
      filters < kMinChannels || channels < kMinChannels ||
      !isDenseChannelsLast(spec.source) ||
      !isDenseChannelsLast(spec.destination) || !isDense(spec.filter))
    return std::nullopt;
  for (const StridedTensor *tensor :
       {&spec.source, &spec.filter, &spec.destination})
    if (tensor->type != ElementType::F32)
      return std::nullopt;
  int64_t pixels = spec.source.dims[0];
  for (size_t i = 0; i < spec.strides.size(); ++i) {
    if (spec.filter.dims[i + 2] != 1 || spec.strides[i] != 1 ||
        spec.padsLow[i] != 0 || spec.padsHigh[i] != 0)
      return std::nullopt;
    pixels *= spec.source.dims[i + 2];
  }
  StridedTensor source = matrix(pixels, channels, channels, 1);
  StridedTensor destination = matrix(pixels, filters, filters, 1);
  if (spec.kind == ConvolutionKind::Forward)
    return MatmulSpec{source, matrix(channels, filters, 1, channels),
                      destination, false};
  return MatmulSpec{destination, matrix(filters, channels, channels, 1), source,
                    false};
}

} // namespace zc::kernels
