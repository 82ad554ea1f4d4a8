// A stand-in for cuBLASLt: products of float32, bfloat16, float16 and 8-bit
// floats on the fake's memory, in the library's own terms, so that what zc
// tells the library is put to the test.
#include "test/unit/runtime/Device/Cuda/FakeArray.h"
#include "test/unit/runtime/Device/Cuda/FakeDriver.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cublasLt.h>
#include <string>
#include <vector>

namespace {

using zc::test::Array;
using zc::test::arrayOf;
using zc::test::isAligned;
using zc::test::isFloat8;
using zc::test::Type;

struct Layout {
  Type type;
  uint64_t rows, columns;
  int64_t leading, batchStride = 0;
  int32_t batch = 1;

  uint64_t getRows(bool transposed) const {
    return transposed ? columns : rows;
  }
  uint64_t getColumns(bool transposed) const { return getRows(!transposed); }
};
/// Limits for algorithms: the workspace, and the addresses' alignment.
struct Preference {
  uint64_t workspaceBytes = 0;
  uint32_t left = 256, right = 256, addend = 256, result = 256;
};
struct Operation {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t left = CUBLAS_OP_N, right = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *auxiliary = nullptr;
  int64_t auxiliaryLeading = 0;
  const float *leftScale = nullptr, *rightScale = nullptr;
  cublasLtMatmulMatrixScale_t leftMode =
      CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  cublasLtMatmulMatrixScale_t rightMode =
      CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;

  /// The scale of element k of a row (of the left matrix) or column of the sum:
  /// vectors' scales lie row by row for each 128 elements along the sum, those
  /// of squares along the sum, a multiple of 4 of them.
  static double scaleAt(const float *scales, cublasLtMatmulMatrixScale_t mode,
                        uint64_t row, uint64_t rows, uint64_t k,
                        uint64_t terms) {
    if (!scales)
      return 1;
    if (mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F)
      return scales[k / 128 * rows + row];
    if (mode == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F)
      return scales[row / 128 * ((terms + 511) / 512 * 4) + k / 128];
    return *scales;
  }
  bool has(int part) const { return epilogue & part; }
  bool keeps() const { return has(128); } // or reads what was kept
  bool ofRelu() const { return has(CUBLASLT_EPILOGUE_RELU | 8); }
  bool sums() const {
    return has(16) || epilogue == CUBLASLT_EPILOGUE_BGRADA ||
           epilogue == CUBLASLT_EPILOGUE_BGRADB;
  }
};

/// The library's GELU: the tanh form.
double gelu(double x) {
  return 0.5 * x *
         (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
double geluSlope(double x) {
  double t = std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
  double inner = 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner;
}

const Layout &layoutOf(cublasLtMatrixLayout_t layout) {
  return *reinterpret_cast<const Layout *>(layout);
}

double at(const Array &matrix, const Layout &layout, bool transposed,
          int32_t batch, uint64_t row, uint64_t column) {
  if (transposed)
    std::swap(row, column);
  return matrix.get(batch * layout.batchStride + int64_t(row) +
                    int64_t(column) * layout.leading);
}

struct Product {
  Operation operation;
  Layout left, right, result;
  float alpha, beta;
  Array a, b, addend, c;

  /// A bit of a ReLU's mask, whose columns are `auxiliaryLeading` bits apart.
  bool getBit(int64_t place) const {
    return static_cast<const uint8_t *>(operation.auxiliary)[place / 8] >>
               (place % 8) &
           1;
  }
  void setBit(int64_t place, bool value) const {
    uint8_t &byte = static_cast<uint8_t *>(operation.auxiliary)[place / 8];
    byte = uint8_t((byte & ~(1 << place % 8)) | value << place % 8);
  }

  /// The element of D at a place, from the product's; leaves in `kept` what the
  /// epilogue keeps. NVIDIA's ReLU of NaN is 0.
  double finish(double x, uint64_t m, uint64_t n) const {
    int64_t kept = int64_t(m) + int64_t(n) * operation.auxiliaryLeading;
    Array auxiliary = arrayOf(result.type, operation.auxiliary);
    if (operation.has(8)) // DRELU
      return getBit(kept) ? x : 0;
    if (operation.has(64)) // DGELU
      return x * geluSlope(auxiliary.get(kept));
    if (operation.has(CUBLASLT_EPILOGUE_BIAS))
      x += arrayOf(result.type, operation.bias).get(int64_t(m));
    if (operation.keeps() && operation.ofRelu())
      setBit(kept, x >= 0); // so does the library
    else if (operation.keeps())
      auxiliary.set(kept, x);
    if (operation.has(CUBLASLT_EPILOGUE_GELU))
      return gelu(x);
    return !operation.has(CUBLASLT_EPILOGUE_RELU) || x > 0 ? x : 0;
  }

  /// Sums of D's rows, of the left matrix's rows, of the right one's columns.
  void addUp(const std::vector<double> &rows) const {
    bool ta = operation.left == CUBLAS_OP_T,
         tb = operation.right == CUBLAS_OP_T;
    uint64_t terms = ta ? left.rows : left.columns;
    bool ofLeft = operation.epilogue == CUBLASLT_EPILOGUE_BGRADA;
    bool ofRight = operation.epilogue == CUBLASLT_EPILOGUE_BGRADB;
    Array sums = arrayOf(result.type, operation.bias);
    for (uint64_t i = 0; i < (ofRight ? result.columns : result.rows); ++i) {
      double sum = ofLeft || ofRight ? 0 : rows[i];
      for (uint64_t k = 0; k < terms && (ofLeft || ofRight); ++k)
        sum += ofLeft ? at(a, left, ta, 0, i, k) : at(b, right, tb, 0, k, i);
      sums.set(int64_t(i), sum);
    }
  }

  void run() const {
    bool ta = operation.left == CUBLAS_OP_T,
         tb = operation.right == CUBLAS_OP_T;
    uint64_t terms = ta ? left.rows : left.columns;
    std::vector<double> rows(result.rows, 0);
    for (int32_t i = 0; i < result.batch; ++i)
      for (uint64_t m = 0; m < result.rows; ++m)
        for (uint64_t n = 0; n < result.columns; ++n) {
          double sum = 0;
          for (uint64_t k = 0; k < terms; ++k)
            sum += at(a, left, ta, i, m, k) * at(b, right, tb, i, k, n) *
                   operation.scaleAt(operation.leftScale, operation.leftMode, m,
                                     result.rows, k, terms) *
                   operation.scaleAt(operation.rightScale, operation.rightMode,
                                     n, result.columns, k, terms);
          int64_t place =
              i * result.batchStride + int64_t(m) + int64_t(n) * result.leading;
          double x = finish(
              alpha * sum + (beta == 0 ? 0 : beta * addend.get(place)), m, n);
          rows[m] += x;
          c.set(place, x);
        }
    if (operation.sums())
      addUp(rows);
  }
};

template <typename T>
cublasStatus_t readValue(T &place, const void *value, size_t bytes) {
  if (sizeof(place) != bytes)
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&place, value, sizeof(place));
  return CUBLAS_STATUS_SUCCESS;
}

/// Scales of blocks are of both factors, one at most of squares, at multiples
/// of 16 bytes.
bool hasSoundScales(const Operation &operation, const Layout &result) {
  const auto whole = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  const auto squares = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  if (!operation.leftScale || !operation.rightScale)
    return false;
  if (operation.leftMode == whole || operation.rightMode == whole)
    return operation.leftMode == operation.rightMode;
  return (operation.leftMode != squares || operation.rightMode != squares) &&
         isAligned(operation.leftScale, 16) &&
         isAligned(operation.rightScale, 16) && result.rows % 4 == 0 &&
         result.columns % 4 == 0;
}

/// Factors of 8-bit floats, as Hopper multiplies them: not both of E5M2, read
/// along the sum alone, rows of whole 16 bytes, each with its scale.
bool hasSoundFloat8(const Operation &operation, const Layout &left,
                    const Layout &right, const Layout &result) {
  return operation.scale == CUDA_R_32F &&
         operation.compute == CUBLAS_COMPUTE_32F && isFloat8(left.type) &&
         isFloat8(right.type) &&
         (left.type == Type::E4M3 || right.type == Type::E4M3) &&
         (result.type == Type::BF16 || result.type == Type::F32) &&
         operation.left == CUBLAS_OP_T && operation.right == CUBLAS_OP_N &&
         left.rows % 16 == 0 && left.leading % 16 == 0 &&
         right.leading % 16 == 0 && result.rows % 16 == 0 &&
         result.columns % 16 == 0 && hasSoundScales(operation, result);
}

/// Types that go together: factors of one, their sum or float32.
bool hasSoundTypes(const Operation &operation, const Layout &left,
                   const Layout &right, const Layout &result) {
  if (isFloat8(left.type))
    return hasSoundFloat8(operation, left, right, result);
  bool fast = operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  return operation.scale == CUDA_R_32F && left.type == right.type &&
         (result.type == left.type || result.type == Type::F32) &&
         (operation.compute == CUBLAS_COMPUTE_32F ||
          (fast && left.type == Type::F32));
}

/// Sizes that go together. The library has a grid's third dim for batches.
bool hasSoundSizes(const Operation &operation, const Layout &left,
                   const Layout &right, const Layout &result) {
  bool ta = operation.left == CUBLAS_OP_T, tb = operation.right == CUBLAS_OP_T;
  return left.getRows(ta) == result.rows &&
         right.getColumns(tb) == result.columns &&
         left.getColumns(ta) == right.getRows(tb) &&
         left.batch == result.batch && right.batch == result.batch &&
         result.batch >= 1 && result.batch <= 65535 &&
         (result.batch == 1 || result.batchStride >= int64_t(result.rows));
}

/// Whether an epilogue's operands are as the documentation requires, and the
/// library has its sums: of rows of a matrix that it reads as it is, of columns
/// of one that it reads transposed.
bool hasSoundEpilogue(const Operation &operation, const Layout &result) {
  auto isPlace = [](void *address) {
    return address && isAligned(address, 16);
  };
  bool vector = operation.has(CUBLASLT_EPILOGUE_BIAS) || operation.sums();
  if (vector != bool(operation.bias) || (vector && !isPlace(operation.bias)))
    return false;
  if ((operation.epilogue == CUBLASLT_EPILOGUE_BGRADA &&
       operation.left != CUBLAS_OP_N) ||
      (operation.epilogue == CUBLASLT_EPILOGUE_BGRADB &&
       operation.right != CUBLAS_OP_T))
    return false;
  bool plain = operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  if (!operation.keeps())
    return !operation.auxiliary && (plain || result.batch == 1);
  int64_t step = operation.ofRelu() ? 128 : 8; // bits, or elements
  return isPlace(operation.auxiliary) &&
         operation.auxiliaryLeading % step == 0 &&
         operation.auxiliaryLeading >= int64_t(result.rows);
}

} // namespace

//===----------------------------------------------------------------------===//
// cuBLASLt
//===----------------------------------------------------------------------===//

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int *>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
const char *cublasLtGetStatusString(cublasStatus_t) { return "fake status"; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *descriptor,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *descriptor =
      reinterpret_cast<cublasLtMatmulDesc_t>(new Operation{compute, scale});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
  delete reinterpret_cast<Operation *>(descriptor);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  auto &operation = *reinterpret_cast<Operation *>(descriptor);
  auto read = [&](auto &place) { return readValue(place, value, bytes); };
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return read(operation.left);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return read(operation.right);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return read(operation.epilogue);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return read(operation.bias);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
    return read(operation.auxiliary);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
    return read(operation.auxiliaryLeading);
  case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
    return read(operation.leftScale);
  case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
    return read(operation.rightScale);
  case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
    return read(operation.leftMode);
  case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
    return read(operation.rightMode);
  default:
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  bool known = type == CUDA_R_16BF || type == CUDA_R_16F ||
               type == CUDA_R_32F || type == CUDA_R_8F_E4M3 ||
               type == CUDA_R_8F_E5M2;
  if (leading < int64_t(rows) || rows == 0 || columns == 0 || !known)
    return CUBLAS_STATUS_INVALID_VALUE;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{type == CUDA_R_16BF      ? Type::BF16
                 : type == CUDA_R_16F     ? Type::F16
                 : type == CUDA_R_8F_E4M3 ? Type::E4M3
                 : type == CUDA_R_8F_E5M2 ? Type::E5M2
                                          : Type::F32,
                 rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Layout *>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t descriptor,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes) {
  auto &layout = *reinterpret_cast<Layout *>(descriptor);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
    return readValue(layout.batch, value, bytes);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
    return readValue(layout.batchStride, value, bytes);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference *>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t descriptor,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  auto &preference = *reinterpret_cast<Preference *>(descriptor);
  switch (attribute) {
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
    return readValue(preference.workspaceBytes, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    return readValue(preference.left, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    return readValue(preference.right, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    return readValue(preference.addend, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
    return readValue(preference.result, value, bytes);
  default:
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

/// Two algorithms that are one, which takes all that it is given for granted.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t descriptor,
    cublasLtMatrixLayout_t left, cublasLtMatrixLayout_t right,
    cublasLtMatrixLayout_t addend, cublasLtMatrixLayout_t result,
    cublasLtMatmulPreference_t preference, int requested,
    cublasLtMatmulHeuristicResult_t *found, int *count) {
  *count = 0;
  auto &operation = *reinterpret_cast<Operation *>(descriptor);
  const Layout &a = layoutOf(left), &b = layoutOf(right), &c = layoutOf(addend),
               &d = layoutOf(result);
  if (!hasSoundTypes(operation, a, b, d) ||
      !hasSoundSizes(operation, a, b, d) || !hasSoundEpilogue(operation, d) ||
      c.type != d.type || c.rows != d.rows || c.columns != d.columns ||
      c.batch != d.batch)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  static_assert(sizeof(Preference) <= sizeof(found[0].algo.data));
  found[0] = {};
  found[0].state = CUBLAS_STATUS_SUCCESS;
  const auto &wish = *reinterpret_cast<Preference *>(preference);
  std::memcpy(found[0].algo.data, &wish, sizeof(wish));
  found[0].workspaceSize = wish.workspaceBytes;
  *count = std::min(requested, 2);
  std::fill_n(found + 1, *count - 1, found[0]);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                              const void *alpha, const void *a,
                              cublasLtMatrixLayout_t left, const void *b,
                              cublasLtMatrixLayout_t right, const void *beta,
                              const void *addend, cublasLtMatrixLayout_t,
                              void *c, cublasLtMatrixLayout_t result,
                              const cublasLtMatmulAlgo_t *algorithm,
                              void *workspace, size_t workspaceBytes,
                              cudaStream_t stream) {
  Preference promised;
  std::memcpy(&promised, algorithm->data, sizeof(promised));
  if (!isAligned(a, promised.left) || !isAligned(b, promised.right) ||
      !isAligned(addend, promised.addend) || !isAligned(c, promised.result) ||
      workspaceBytes < promised.workspaceBytes || !isAligned(workspace, 256))
    return CUBLAS_STATUS_INVALID_VALUE;
  Product product = {*reinterpret_cast<Operation *>(operation),
                     layoutOf(left),
                     layoutOf(right),
                     layoutOf(result),
                     *static_cast<const float *>(alpha),
                     *static_cast<const float *>(beta),
                     arrayOf(layoutOf(left).type, a),
                     arrayOf(layoutOf(right).type, b),
                     arrayOf(layoutOf(result).type, addend),
                     arrayOf(layoutOf(result).type, c)};
  std::string call = "cublasLtMatmul";
  if (isFloat8(product.left.type))
    call += " fp8";
  if (product.operation.epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    call += " epilogue " + std::to_string(int(product.operation.epilogue));
  size_t used = std::min<size_t>(workspaceBytes, 1 << 20);
  zc::test::enqueueFake(stream, call.c_str(), [=] {
    if (workspace)
      std::memset(workspace, 0xff, used); // not a number
    product.run();
  });
  return CUBLAS_STATUS_SUCCESS;
}

} // extern "C"
