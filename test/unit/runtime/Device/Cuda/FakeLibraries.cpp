// Stand-ins for cuBLASLt and cuDNN: products and convolutions of float32,
// bfloat16 and float16 on the fake's memory, in the library's own terms, so
// that what zc tells the libraries is put to the test.
#include "test/unit/runtime/Device/Cuda/FakeDnnTensor.h"
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
using zc::test::Type;

struct Layout {
  Type type;
  uint64_t rows, columns;
  int64_t leading, batchStride = 0;
  int32_t batch = 1;
};
struct Operation {
  cublasOperation_t left = CUBLAS_OP_N, right = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *auxiliary = nullptr;
  int64_t auxiliaryLeading = 0;

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
      setBit(kept, x > 0);
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
            sum += at(a, left, ta, i, m, k) * at(b, right, tb, i, k, n);
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
                                        cublasComputeType_t, cudaDataType_t) {
  *descriptor = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation);
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
  auto read = [&](auto &place) {
    std::memcpy(&place, value, sizeof(place));
    return sizeof(place) == bytes ? CUBLAS_STATUS_SUCCESS
                                  : CUBLAS_STATUS_INVALID_VALUE;
  };
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
  default:
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  if (leading < int64_t(rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{type == CUDA_R_16BF  ? Type::BF16
                 : type == CUDA_R_16F ? Type::F16
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
                                 const void *value, size_t) {
  auto &layout = *reinterpret_cast<Layout *>(descriptor);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
    layout.batch = *static_cast<const int32_t *>(value);
  else
    layout.batchStride = *static_cast<const int64_t *>(value);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                     cublasLtMatmulPreferenceAttributes_t,
                                     const void *, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
/// What the documentation asks of an epilogue's operands.
bool isSound(const Operation &operation, const Layout &result) {
  auto aligned = [](void *address) {
    return address && reinterpret_cast<uintptr_t>(address) % 16 == 0;
  };
  bool vector = operation.has(CUBLASLT_EPILOGUE_BIAS) || operation.sums();
  if (vector != bool(operation.bias) || (vector && !aligned(operation.bias)))
    return false;
  bool plain = operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  if (!operation.keeps())
    return !operation.auxiliary && (plain || result.batch == 1);
  int64_t step = operation.ofRelu() ? 128 : 8; // bits, or elements
  return aligned(operation.auxiliary) &&
         operation.auxiliaryLeading % step == 0 &&
         operation.auxiliaryLeading >= int64_t(result.rows);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t result, cublasLtMatmulPreference_t, int,
    cublasLtMatmulHeuristicResult_t *found, int *count) {
  *count = 0;
  if (!isSound(*reinterpret_cast<Operation *>(operation), layoutOf(result)))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  found[0] = {};
  found[0].state = CUBLAS_STATUS_SUCCESS;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                              const void *alpha, const void *a,
                              cublasLtMatrixLayout_t left, const void *b,
                              cublasLtMatrixLayout_t right, const void *beta,
                              const void *addend, cublasLtMatrixLayout_t,
                              void *c, cublasLtMatrixLayout_t result,
                              const cublasLtMatmulAlgo_t *, void *, size_t,
                              cudaStream_t stream) {
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
  if (product.operation.epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    call += " epilogue " + std::to_string(int(product.operation.epilogue));
  zc::test::enqueueFake(stream, call.c_str(), [=] { product.run(); });
  return CUBLAS_STATUS_SUCCESS;
}

} // extern "C"

//===----------------------------------------------------------------------===//
// cuDNN
//===----------------------------------------------------------------------===//

namespace {

using zc::test::object;
using zc::test::Tensor;
using zc::test::typeOf;

struct Window {
  std::vector<int> pads, strides, dilations;
  int groups = 1;
};

enum class Kind { Forward, BackwardInput, BackwardFilter };

/// Two or three spatial dims; missing ones have size 1.
struct Convolution {
  Kind kind;
  Tensor x, w, y;
  Window window;
  Array source, filter, destination;

  /// Visits every product: places of source, filter and destination.
  template <typename F> void forEach(F visit) const {
    size_t spatial = x.dims.size() - 2;
    std::vector<int64_t> at(y.dims.size() + 1 + spatial, 0);
    std::vector<int64_t> sizes(y.dims.begin(), y.dims.end());
    sizes.insert(sizes.end(), w.dims.begin() + 1, w.dims.end());
    int64_t total = 1;
    for (int64_t size : sizes)
      total *= size;
    for (int64_t linear = 0; linear < total; ++linear) {
      int64_t rest = linear;
      for (size_t i = sizes.size(); i > 0; --i) {
        at[i - 1] = rest % sizes[i - 1];
        rest /= sizes[i - 1];
      }
      std::vector<int64_t> in = {at[0], 0}, f = {at[1], at[2 + spatial]};
      int64_t group = at[1] / (w.dims[0] / window.groups);
      in[1] = group * w.dims[1] + at[2 + spatial];
      bool inside = true;
      for (size_t i = 0; i < spatial; ++i) {
        int64_t tap = at[3 + spatial + i];
        int64_t pixel = at[2 + i] * window.strides[i] - window.pads[i] +
                        tap * window.dilations[i];
        inside = inside && pixel >= 0 && pixel < x.dims[2 + i];
        in.push_back(pixel);
        f.push_back(tap);
      }
      if (inside)
        visit(x.place(in), w.place(f),
              y.place({at.begin(), at.begin() + int64_t(2 + spatial)}));
    }
  }

  void run() const {
    const Tensor &target = kind == Kind::Forward         ? y
                           : kind == Kind::BackwardInput ? x
                                                         : w;
    const Array &memory = kind == Kind::Forward         ? destination
                          : kind == Kind::BackwardInput ? source
                                                        : filter;
    size_t count = 1;
    for (int dim : target.dims)
      count *= size_t(dim);
    std::vector<double> sums(count, 0);
    forEach([&](int64_t in, int64_t f, int64_t out) {
      if (kind == Kind::Forward)
        sums[size_t(out)] += source.get(in) * filter.get(f);
      else if (kind == Kind::BackwardInput)
        sums[size_t(in)] += destination.get(out) * filter.get(f);
      else
        sums[size_t(f)] += source.get(in) * destination.get(out);
    });
    for (size_t i = 0; i < count; ++i)
      memory.set(int64_t(i), sums[i]);
  }
};

cudaStream_t &currentStream() {
  static thread_local cudaStream_t stream = nullptr;
  return stream;
}

cudnnStatus_t enqueue(Kind kind, cudnnTensorDescriptor_t x, const void *source,
                      cudnnFilterDescriptor_t w, const void *filter,
                      cudnnTensorDescriptor_t y, const void *destination,
                      cudnnConvolutionDescriptor_t window) {
  Convolution convolution = {kind,
                             object<Tensor>(x),
                             object<Tensor>(w),
                             object<Tensor>(y),
                             object<Window>(window),
                             arrayOf(object<Tensor>(x).type, source),
                             arrayOf(object<Tensor>(w).type, filter),
                             arrayOf(object<Tensor>(y).type, destination)};
  zc::test::enqueueFake(currentStream(), "cudnnConvolution",
                        [=] { convolution.run(); });
  return CUDNN_STATUS_SUCCESS;
}

template <typename Performance>
cudnnStatus_t oneAlgorithm(int *count, Performance *found) {
  found[0] = {};
  found[0].status = CUDNN_STATUS_SUCCESS;
  *count = 1;
  return CUDNN_STATUS_SUCCESS;
}

} // namespace

void *zc::test::dnnStream() { return currentStream(); }

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(new int);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete reinterpret_cast<int *>(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t stream) {
  currentStream() = stream;
  return CUDNN_STATUS_SUCCESS;
}
size_t cudnnGetVersion() {
  const char *version = std::getenv("ZC_FAKE_CUDNN_VERSION");
  return version ? size_t(std::atoi(version)) : CUDNN_VERSION;
}
void cudnnGetLastErrorString(char *message, size_t size) {
  std::snprintf(message, size, "the fake's reason");
}
const char *cudnnGetErrorString(cudnnStatus_t) { return "fake status"; }

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensor) {
  *tensor = reinterpret_cast<cudnnTensorDescriptor_t>(new Tensor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) {
  delete &object<Tensor>(tensor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor,
                                         cudnnDataType_t type, int rank,
                                         const int *dims, const int *strides) {
  object<Tensor>(tensor) = {
      {dims, dims + rank}, {strides, strides + rank}, typeOf(type)};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filter) {
  *filter = reinterpret_cast<cudnnFilterDescriptor_t>(new Tensor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) {
  delete &object<Tensor>(filter);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter,
                                         cudnnDataType_t type,
                                         cudnnTensorFormat_t, int rank,
                                         const int dims[]) {
  Tensor &tensor = object<Tensor>(filter);
  tensor = {
      {dims, dims + rank}, std::vector<int>(size_t(rank), 1), typeOf(type)};
  for (int i = rank - 2; i >= 0; --i)
    tensor.strides[size_t(i)] = tensor.strides[size_t(i) + 1] * dims[i + 1];
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t
cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *convolution) {
  *convolution = reinterpret_cast<cudnnConvolutionDescriptor_t>(new Window);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t
cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution) {
  delete &object<Window>(convolution);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t
cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convolution,
                                int rank, const int *pads, const int *strides,
                                const int *dilations, cudnnConvolutionMode_t,
                                cudnnDataType_t) {
  object<Window>(convolution) = {{pads, pads + rank},
                                 {strides, strides + rank},
                                 {dilations, dilations + rank},
                                 1};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t
cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution,
                              int groups) {
  object<Window>(convolution).groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t,
                                          cudnnMathType_t) {
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
    cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t, int, int *count,
    cudnnConvolutionFwdAlgoPerf_t *found) {
  return oneAlgorithm(count, found);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t,
    cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t, int, int *count,
    cudnnConvolutionBwdDataAlgoPerf_t *found) {
  return oneAlgorithm(count, found);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t,
    cudnnConvolutionDescriptor_t, cudnnFilterDescriptor_t, int, int *count,
    cudnnConvolutionBwdFilterAlgoPerf_t *found) {
  return oneAlgorithm(count, found);
}

cudnnStatus_t
cudnnConvolutionForward(cudnnHandle_t, const void *, cudnnTensorDescriptor_t x,
                        const void *source, cudnnFilterDescriptor_t w,
                        const void *filter, cudnnConvolutionDescriptor_t window,
                        cudnnConvolutionFwdAlgo_t, void *, size_t, const void *,
                        cudnnTensorDescriptor_t y, void *destination) {
  return enqueue(Kind::Forward, x, source, w, filter, y, destination, window);
}
cudnnStatus_t cudnnConvolutionBackwardData(
    cudnnHandle_t, const void *, cudnnFilterDescriptor_t w, const void *filter,
    cudnnTensorDescriptor_t y, const void *destination,
    cudnnConvolutionDescriptor_t window, cudnnConvolutionBwdDataAlgo_t, void *,
    size_t, const void *, cudnnTensorDescriptor_t x, void *source) {
  return enqueue(Kind::BackwardInput, x, source, w, filter, y, destination,
                 window);
}
cudnnStatus_t cudnnConvolutionBackwardFilter(
    cudnnHandle_t, const void *, cudnnTensorDescriptor_t x, const void *source,
    cudnnTensorDescriptor_t y, const void *destination,
    cudnnConvolutionDescriptor_t window, cudnnConvolutionBwdFilterAlgo_t,
    void *, size_t, const void *, cudnnFilterDescriptor_t w, void *filter) {
  return enqueue(Kind::BackwardFilter, x, source, w, filter, y, destination,
                 window);
}

} // extern "C"
