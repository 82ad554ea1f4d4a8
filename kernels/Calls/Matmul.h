// Products of matrices.
#ifndef ZC_KERNELS_CALLS_MATMUL_H
#define ZC_KERNELS_CALLS_MATMUL_H

#include "kernels/Calls/Call.h"

namespace zc::kernels {

/// Elements along the sum, of 8-bit floats, that have a scale of their own.
inline constexpr int64_t kScaleBlock = 128;

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

/// Scales of 8-bit floats are of the whole factor; its elements along K,
/// 128 each, [K / 128, rows of a or columns of b]; or squares of 128 x 128,
/// [rows of a or columns of b / 128, K / 128 up to a multiple of 4]. One factor
/// at most has squares, and both have blocks or none (cuBLAS 12.9 on sm_90).
enum class MatmulScale : uint8_t { Whole, Vectors, Squares };

/// c = a * b, or c += a * b. a [batch..., M, K], b [batch..., K, N],
/// c [batch..., M, N]; a transpose is a pair of swapped strides. Factors of U8
/// are 8-bit floats of type E4M3, those of I8 E5M2: each has a scale, a and b
/// are matrices, and only GPUs' libraries multiply them.
struct MatmulSpec {
  StridedTensor a, b, c;
  bool accumulate = false;
  MatmulEpilogue epilogue = {};
  MatmulPrecision precision = MatmulPrecision::Highest; // of CPUs
  MatmulScale aScale = MatmulScale::Whole, bScale = MatmulScale::Whole;
};

/// For people; factors that are 8-bit integers are 8-bit floats (MatmulSpec).
const char *nameOfFactor(ElementType type);

/// `addend`, `bias`, `auxiliary`, `sums`: as the spec's epilogue says, or null.
struct MatmulLaunch {
  MatmulSpec spec;
  void *a, *b, *c;
  void *workspace;
  uint64_t workspaceBytes;
  void *addend, *bias, *auxiliary, *sums;
  void *aScale, *bScale; // float32, of 8-bit factors; or null
};

/// [accumulator,] lhs, rhs[, lhs scale, rhs scale][, addend][, bias][,
/// auxiliary] to the product[, auxiliary][, sums]; scales are of 8-bit factors;
/// an accumulator is the memory of the product. The auxiliary tensor is read by
/// gradients, else written.
struct MatmulCall : CallRoom {
  using Spec = MatmulSpec;
  using Launch = MatmulLaunch;
  static constexpr const char *kName = "matmul";
  static constexpr std::string_view kOps[] = {"matmul", "matmul_add",
                                              "scaled_matmul"};
  static constexpr std::string_view kAttributes[] = {
      "transpose_lhs",
      "transpose_rhs",
      "packed_scales",
      "train.epilogue.activation",
      "train.epilogue.addend",
      "train.epilogue.bias",
      "train.epilogue.auxiliary",
      "train.epilogue.sums"};
  static CallWork workOf(const LibraryCall &call);

  static std::string check(const LibraryCall &call);
  static Spec specOf(const LibraryCall &call);
  static Launch launch(const LibraryCall &call, const CallAddresses &addresses);
  static uint64_t cpuWorkspace(const Spec &spec, int threads);
  static uint64_t cudaWorkspace(const Spec &spec);
};

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_MATMUL_H
