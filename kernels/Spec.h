// Specs of library kernels, in plain values: the compiler bounds a kernel's
// workspace from its spec, the runtime creates the kernel from the same one.
#ifndef ZC_KERNELS_SPEC_H
#define ZC_KERNELS_SPEC_H

#include <cstdint>
#include <vector>

namespace zc::kernels {

enum class ElementType : uint8_t {
  F32,
  F64,
  F16,
  BF16,
  Bool,
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
};

/// Bytes of one element.
inline int64_t elementBytes(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::I64:
  case ElementType::U64:
    return 8;
  case ElementType::F32:
  case ElementType::I32:
  case ElementType::U32:
    return 4;
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::I16:
  case ElementType::U16:
    return 2;
  case ElementType::Bool:
  case ElementType::I8:
  case ElementType::U8:
    return 1;
  }
  return 0;
}

/// A tensor seen through strides, which count elements as dims do.
struct StridedTensor {
  ElementType type = ElementType::F32;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
};

enum class MatmulActivation : uint8_t {
  Linear,
  Relu,
  Gelu,         // its tanh form
  GeluGradient, // of that at an auxiliary tensor, times the product
  ReluGradient, // the product where a bit of an auxiliary tensor is set, else 0
};

/// Sums computed on the way: of the columns of c, the rows of a, the columns of
/// b.
enum class MatmulSums : uint8_t { None, ResultColumns, LhsRows, RhsColumns };

/// An epilogue of a product of two matrices: c = activation(a b + addend +
/// bias). Only GPUs' libraries compute any of it.
struct MatmulEpilogue {
  MatmulActivation activation = MatmulActivation::Linear;
  MatmulSums sums = MatmulSums::None;
  bool addend = false, bias = false;
  /// Gelu: what it is of is written; GeluGradient: that is read. Relu: a bit
  /// for every element from 0 on is written; ReluGradient: those are read.
  bool auxiliary = false;

  bool isEmpty() const {
    return activation == MatmulActivation::Linear && sums == MatmulSums::None &&
           !addend && !bias && !auxiliary;
  }
};

/// How float32 factors are multiplied. Bf16x3 and Bf16x6 split each into two or
/// three bfloat16 numbers and add up the largest 3 or 6 products in float32:
/// off by at most 2^-15 or 2^-22 of the sum of the products' magnitudes (G.
/// Henry, P. Tang, A. Heinecke, "Leveraging the bfloat16 artificial
/// intelligence datatype for higher-precision computations", ARITH 2019). A
/// processor without AMX, and any product that is no plain one of two matrices,
/// takes Highest.
enum class MatmulPrecision : uint8_t { Highest, Bf16x3, Bf16x6 };

/// c = a * b, or c += a * b. a [batch..., M, K], b [batch..., K, N],
/// c [batch..., M, N]; a transpose is a pair of swapped strides.
struct MatmulSpec {
  StridedTensor a, b, c;
  bool accumulate = false;
  MatmulEpilogue epilogue = {};
  MatmulPrecision precision = MatmulPrecision::Highest; // of CPUs
};

enum class ConvolutionKind : uint8_t {
  Forward,        // destination = conv(source, filter)
  BackwardInput,  // source = gradient of source
  BackwardFilter, // filter = gradient of filter
};

/// source [N, C, spatial...], destination [N, K, spatial...], filter
/// [K, C/groups, spatial...], in this logical order whatever the strides.
/// A dilation of 1 is dense.
struct ConvolutionSpec {
  ConvolutionKind kind = ConvolutionKind::Forward;
  StridedTensor source, filter, destination;
  std::vector<int64_t> strides, dilations, padsLow, padsHigh;
  int64_t groups = 1;
};

enum class PoolingKind : uint8_t {
  Maximum,         // pooled = the largest element of each window
  Average,         // pooled = the average of each window
  AverageGradient, // image = the gradient of Average's image, pooled is given
};

/// The windows of an image: [N, C, spatial...] both, in this logical order
/// whatever the strides. No window lies in the padding alone, which counts with
/// `countIncludePad` in what an average divides by.
struct PoolingSpec {
  PoolingKind kind = PoolingKind::Maximum;
  StridedTensor image, pooled;
  std::vector<int64_t> window, strides, padsLow, padsHigh;
  bool countIncludePad = false;
};

/// Batch normalisation with the batch's own moments, and what follows it: y =
/// relu(scale (x - mean) inverse + bias + addend), inverse = 1 / sqrt(variance
/// + epsilon), or the gradients of that without an addend. Images [N, C,
/// spatial...] in this logical order, channels side by side in memory; scale,
/// bias, moments and their gradients are C numbers of float32.
struct NormSpec {
  bool backward = false;
  StridedTensor image; // each of them
  double epsilon = 0;  // forward
  bool addend = false; // forward: an image, or else 0
};

/// Softmax(scale q k^T) v per batch entry and head, or its gradients, on dense
/// tensors of one type, float32 on CPUs: q and the result are [batch, queries,
/// heads, width], k and v [batch, keys, heads, width]. `causal`: query i
/// attends keys 0 to i.
struct AttentionSpec {
  bool backward = false;
  int64_t batch = 1, queries = 1, keys = 1, heads = 1, width = 1;
  double scale = 1;
  bool causal = false;
  /// A mask [.., keys] that is added to the scaled scores: whether there is
  /// one, and how many elements apart its parts of samples, heads and queries
  /// are.
  bool masked = false;
  int64_t maskStrides[3] = {0, 0, 0};
  /// Instead of a mask: whether it is said, for all samples and heads
  /// [queries], which key is the last that each query attends, as I64.
  bool bounded = false;
  ElementType type = ElementType::F32;
};

/// Rows [rows, inner] by the matrix of their group, b [experts, inner, columns]
/// or, `transposed`, [experts, columns, inner]: c [rows, columns], zeros where
/// no id is a row's group. Or, as `gradient`, c [experts, inner, columns], of
/// each expert the sum of a's rows^T times b's, which are [rows, inner] and
/// [rows, columns]. groups [rows] and ids [experts] are I32 or I64; ids differ.
struct GroupedMatmulSpec {
  bool gradient = false, transposed = false;
  int64_t rows = 1, inner = 1, columns = 1, experts = 1;
  ElementType type = ElementType::F32, resultType = ElementType::F32;
  ElementType groupType = ElementType::I64, idType = ElementType::I64;
};

/// Elements of a sparse tensor whose values lie together.
constexpr int64_t kSparseBlock = 4096;

/// A dense tensor of `elements`, of 2 or 4 bytes each, of which at most
/// `capacity` are not +0, as their bits [elements / 8 rounded up], where each
/// block's values begin (I64, one for each block and then how many there are),
/// and the values [capacity].
struct SparseSpec {
  bool decode = false;
  ElementType type = ElementType::F32;
  int64_t elements = 1, capacity = 1;
};

} // namespace zc::kernels

#endif // ZC_KERNELS_SPEC_H
