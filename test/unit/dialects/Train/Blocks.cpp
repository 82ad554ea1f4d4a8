//===- Blocks.cpp - parts of tensors, and tensors of parts ----------------===//
#include "test/unit/dialects/Train/Blocks.h"

#include "gtest/gtest.h"

#include <cmath>
#include <numeric>

using zc::interpreter::Tensor;

namespace zc::test {

constexpr double kTolerance = 1e-12;

static int64_t product(llvm::ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

template <typename T>
static std::vector<T> sliceRows(const std::vector<T> &elements, int64_t size,
                                int64_t inner, int64_t begin, int64_t end) {
  std::vector<T> result;
  for (size_t row = 0; row < elements.size(); row += size * inner)
    result.insert(result.end(), elements.begin() + row + begin * inner,
                  elements.begin() + row + end * inner);
  return result;
}

Tensor slice(const Tensor &tensor, size_t dim, int64_t begin, int64_t end) {
  llvm::ArrayRef<int64_t> shape = tensor.shape;
  int64_t inner = product(shape.drop_front(dim + 1));
  Tensor result{tensor.kind, tensor.shape, {}, {}};
  result.shape[dim] = end - begin;
  result.floats = sliceRows(tensor.floats, shape[dim], inner, begin, end);
  result.integers = sliceRows(tensor.integers, shape[dim], inner, begin, end);
  return result;
}

template <typename T>
static std::vector<T> joinRows(const std::vector<T> &a, const std::vector<T> &b,
                               int64_t rowA, int64_t rowB) {
  std::vector<T> result;
  for (size_t i = 0, j = 0; i < a.size(); i += rowA, j += rowB) {
    result.insert(result.end(), a.begin() + i, a.begin() + i + rowA);
    result.insert(result.end(), b.begin() + j, b.begin() + j + rowB);
  }
  return result;
}

Tensor concatenate(const Tensor &a, const Tensor &b, size_t dim) {
  int64_t rowA = product(llvm::ArrayRef<int64_t>(a.shape).drop_front(dim));
  int64_t rowB = product(llvm::ArrayRef<int64_t>(b.shape).drop_front(dim));
  Tensor result{a.kind, a.shape, {}, {}};
  result.shape[dim] += b.shape[dim];
  result.floats = joinRows(a.floats, b.floats, rowA, rowB);
  result.integers = joinRows(a.integers, b.integers, rowA, rowB);
  return result;
}

Tensor add(const Tensor &a, const Tensor &b) {
  return zipWith(a, b, [](auto x, auto y) { return x + y; });
}

void expectClose(const Tensor &actual, const Tensor &expected) {
  ASSERT_EQ(actual.shape, expected.shape);
  ASSERT_EQ(actual.kind, expected.kind);
  EXPECT_EQ(actual.integers, expected.integers);
  for (size_t i = 0; i < expected.floats.size(); ++i) {
    double scale = std::max(1.0, std::abs(expected.floats[i]));
    EXPECT_NEAR(actual.floats[i], expected.floats[i], kTolerance * scale)
        << "element " << i;
  }
}

} // namespace zc::test
