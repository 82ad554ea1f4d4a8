#include "runtime/Device/Cuda/Matmul.h"
#include "runtime/Device/Cuda/Advice.h"
#include "runtime/Device/Cuda/CudaCalls.h"
#include "runtime/Device/Cuda/Library.h"
#include "runtime/Device/Cuda/MatmulForm.h"
#include "runtime/Device/Cuda/Stopwatch.h"

#include <algorithm>
#include <cublasLt.h>
#include <map>
#include <sstream>

namespace zc::cuda {
namespace {

#define ZC_CUBLASLT_FUNCTIONS(F)                                               \
  F(cublasLtCreate)                                                            \
  F(cublasLtDestroy)                                                           \
  F(cublasLtGetStatusString)                                                   \
  F(cublasLtMatmulDescCreate)                                                  \
  F(cublasLtMatmulDescDestroy)                                                 \
  F(cublasLtMatmulDescSetAttribute)                                            \
  F(cublasLtMatrixLayoutCreate)                                                \
  F(cublasLtMatrixLayoutDestroy)                                               \
  F(cublasLtMatrixLayoutSetAttribute)                                          \
  F(cublasLtMatmulPreferenceCreate)                                            \
  F(cublasLtMatmulPreferenceDestroy)                                           \
  F(cublasLtMatmulPreferenceSetAttribute)                                      \
  F(cublasLtMatmulAlgoGetHeuristic)                                            \
  F(cublasLtMatmul)

struct Cublaslt {
#define F(name) decltype(&::name) name = nullptr;
  ZC_CUBLASLT_FUNCTIONS(F)
#undef F

  Status check(cublasStatus_t status, const char *call) const {
    if (status == CUBLAS_STATUS_SUCCESS)
      return Status();
    StatusCode code =
        status == CUBLAS_STATUS_NOT_SUPPORTED  ? StatusCode::Unsupported
        : status == CUBLAS_STATUS_ALLOC_FAILED ? StatusCode::ResourceExhausted
                                               : StatusCode::Internal;
    return makeError(code, call, ": ", cublasLtGetStatusString(status));
  }

  Status load() {
    const std::string name = "libcublasLt.so.13";
    ZC_ASSIGN_OR_RETURN(void *library, openLibrary(name));
    return findSymbols(library, name,
                       {
#define F(name) {#name, reinterpret_cast<void **>(&name)},
                           ZC_CUBLASLT_FUNCTIONS(F)
#undef F
                       });
  }
};

#define ZC_LT_CALL(lt, name, ...)                                              \
  ZC_RETURN_IF_ERROR((lt).check((lt).name(__VA_ARGS__), #name))

cudaDataType_t dataType(kernels::ElementType type) {
  switch (type) {
  case kernels::ElementType::BF16:
    return CUDA_R_16BF;
  case kernels::ElementType::F16:
    return CUDA_R_16F;
  case kernels::ElementType::U8:
    return CUDA_R_8F_E4M3;
  case kernels::ElementType::I8:
    return CUDA_R_8F_E5M2;
  default:
    return CUDA_R_32F;
  }
}

cublasComputeType_t computeType(kernels::ElementType type, bool tf32) {
  bool fast = type == kernels::ElementType::F32 && tf32;
  return fast ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/// The library's epilogue. Its matrices are column-major: our lhs is its B, our
/// rhs its A, our columns are its rows.
cublasLtEpilogue_t epilogueOf(const kernels::MatmulEpilogue &spec) {
  using kernels::MatmulActivation;
  using kernels::MatmulSums;
  switch (spec.activation) {
  case MatmulActivation::Relu:
    if (spec.auxiliary)
      return spec.bias ? CUBLASLT_EPILOGUE_RELU_AUX_BIAS
                       : CUBLASLT_EPILOGUE_RELU_AUX;
    return spec.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  case MatmulActivation::Gelu:
    if (spec.auxiliary)
      return spec.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS
                       : CUBLASLT_EPILOGUE_GELU_AUX;
    return spec.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  case MatmulActivation::GeluGradient:
    return spec.sums == MatmulSums::None ? CUBLASLT_EPILOGUE_DGELU
                                         : CUBLASLT_EPILOGUE_DGELU_BGRAD;
  case MatmulActivation::ReluGradient:
    return spec.sums == MatmulSums::None ? CUBLASLT_EPILOGUE_DRELU
                                         : CUBLASLT_EPILOGUE_DRELU_BGRAD;
  case MatmulActivation::Linear:
    break;
  }
  if (spec.sums == MatmulSums::LhsRows)
    return CUBLASLT_EPILOGUE_BGRADB;
  if (spec.sums == MatmulSums::RhsColumns)
    return CUBLASLT_EPILOGUE_BGRADA;
  return spec.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

/// The library's name of scales of 8-bit floats.
cublasLtMatmulMatrixScale_t scaleModeOf(kernels::MatmulScale scale) {
  switch (scale) {
  case kernels::MatmulScale::Vectors:
    return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
  case kernels::MatmulScale::Squares:
    return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  case kernels::MatmulScale::Whole:
    break;
  }
  return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
}

/// The library's descriptors of one product.
class Product {
public:
  Product(const Cublaslt &lt, bool tf32) : lt(lt), tf32(tf32) {}
  ~Product() {
    if (operation)
      lt.cublasLtMatmulDescDestroy(operation);
    for (cublasLtMatrixLayout_t layout : {left, right, result})
      if (layout)
        lt.cublasLtMatrixLayoutDestroy(layout);
  }
  Product(const Product &) = delete;

  Status create(const MatmulForm &form, const kernels::MatmulLaunch &launch) {
    const kernels::MatmulSpec &spec = launch.spec;
    ZC_LT_CALL(lt, cublasLtMatmulDescCreate, &operation,
               computeType(spec.a.type, tf32), CUDA_R_32F);
    ZC_RETURN_IF_ERROR(
        setTransposed(CUBLASLT_MATMUL_DESC_TRANSA, form.left.transposed));
    ZC_RETURN_IF_ERROR(
        setTransposed(CUBLASLT_MATMUL_DESC_TRANSB, form.right.transposed));
    ZC_RETURN_IF_ERROR(layout(left, form.left, spec.b.type, form.batch));
    ZC_RETURN_IF_ERROR(layout(right, form.right, spec.a.type, form.batch));
    ZC_RETURN_IF_ERROR(layout(result, form.result, spec.c.type, form.batch));
    if (launch.aScale)
      ZC_RETURN_IF_ERROR(addScales(launch));
    return spec.epilogue.isEmpty() ? Status() : addEpilogue(form, launch);
  }

  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t left = nullptr, right = nullptr, result = nullptr;

private:
  template <typename T>
  Status set(cublasLtMatmulDescAttributes_t which, const T &value) {
    ZC_LT_CALL(lt, cublasLtMatmulDescSetAttribute, operation, which, &value,
               sizeof(value));
    return Status();
  }

  Status setTransposed(cublasLtMatmulDescAttributes_t which, bool transposed) {
    return set(which, transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  }

  /// Our lhs is the library's B.
  Status addScales(const kernels::MatmulLaunch &launch) {
    const kernels::MatmulSpec &spec = launch.spec;
    ZC_RETURN_IF_ERROR(
        set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, launch.bScale));
    ZC_RETURN_IF_ERROR(
        set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, launch.aScale));
    if (spec.aScale == kernels::MatmulScale::Whole)
      return Status(); // what the library supposes
    ZC_RETURN_IF_ERROR(
        set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, scaleModeOf(spec.bScale)));
    return set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, scaleModeOf(spec.aScale));
  }

  /// Vectors and the auxiliary matrix have the result's type, which is what the
  /// library supposes.
  Status addEpilogue(const MatmulForm &form,
                     const kernels::MatmulLaunch &launch) {
    if (form.calls.size() != 1 || form.batch != 1)
      return makeError(StatusCode::Unsupported,
                       "a batch of products has an epilogue");
    const kernels::MatmulEpilogue &spec = launch.spec.epilogue;
    ZC_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogueOf(spec)));
    if (void *vector = launch.bias ? launch.bias : launch.sums)
      ZC_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector));
    if (!spec.auxiliary)
      return Status();
    ZC_RETURN_IF_ERROR(
        set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, launch.auxiliary));
    // In elements; those of a ReLU are bits.
    return set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, form.result.rows);
  }

  Status layout(cublasLtMatrixLayout_t &created, const ColumnMajor &matrix,
                kernels::ElementType type, int64_t batch) {
    ZC_LT_CALL(lt, cublasLtMatrixLayoutCreate, &created, dataType(type),
               uint64_t(matrix.rows), uint64_t(matrix.columns), matrix.leading);
    if (batch == 1)
      return Status();
    int32_t count = int32_t(batch);
    ZC_LT_CALL(lt, cublasLtMatrixLayoutSetAttribute, created,
               CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count));
    ZC_LT_CALL(lt, cublasLtMatrixLayoutSetAttribute, created,
               CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix.batchStride,
               sizeof(matrix.batchStride));
    return Status();
  }

  const Cublaslt &lt;
  bool tf32;
};

class MatmulExecutable final : public CudaExecutable {
public:
  MatmulExecutable(const Cublaslt &lt, cublasLtHandle_t handle,
                   const kernels::MatmulLaunch &launch, MatmulForm form,
                   bool tf32)
      : lt(lt), handle(handle), launch(launch), form(std::move(form)),
        product(lt, tf32) {}

  Status create() { return product.create(form, launch); }

  Status enqueue(CUstream stream) override {
    const float one = 1;
    const float beta = launch.spec.accumulate || launch.addend ? 1 : 0;
    for (const MatmulForm::Offsets &offsets : form.calls) {
      void *c = at(launch.c, launch.spec.c, offsets.result);
      ZC_LT_CALL(lt, cublasLtMatmul, handle, product.operation, &one,
                 at(launch.b, launch.spec.b, offsets.left), product.left,
                 at(launch.a, launch.spec.a, offsets.right), product.right,
                 &beta, launch.addend ? launch.addend : c, product.result, c,
                 product.result, &algorithm, launch.workspace,
                 launch.workspaceBytes, stream);
    }
    return Status();
  }

  /// The library's own ranking of algorithms that the workspace suffices for.
  Result<std::vector<cublasLtMatmulAlgo_t>> candidates() {
    constexpr int kCandidates = 8;
    cublasLtMatmulPreference_t preference = nullptr;
    ZC_LT_CALL(lt, cublasLtMatmulPreferenceCreate, &preference);
    cublasLtMatmulHeuristicResult_t found[kCandidates];
    int count = 0;
    Status status = describeMemory(preference);
    if (status.ok())
      status = lt.check(lt.cublasLtMatmulAlgoGetHeuristic(
                            handle, product.operation, product.left,
                            product.right, product.result, product.result,
                            preference, kCandidates, found, &count),
                        "cublasLtMatmulAlgoGetHeuristic");
    lt.cublasLtMatmulPreferenceDestroy(preference);
    ZC_RETURN_IF_ERROR(status);
    std::vector<cublasLtMatmulAlgo_t> algorithms;
    for (int i = 0; i < count; ++i)
      if (found[i].state == CUBLAS_STATUS_SUCCESS)
        algorithms.push_back(found[i].algo);
    if (algorithms.empty())
      return makeError(StatusCode::Unsupported,
                       "none of its algorithms does within the planned ",
                       launch.workspaceBytes, " bytes of workspace");
    return algorithms;
  }

  cublasLtMatmulAlgo_t algorithm = {};

  /// The alignment of the matrices' addresses, for the choice of an algorithm:
  /// the library supposes 256 bytes unless it is told.
  struct Alignment {
    uint32_t left, right, addend, result, epilogue;
  };
  Alignment alignment() const {
    Alignment least = {256, 256, 256, 256, 256};
    for (const MatmulForm::Offsets &offsets : form.calls) {
      lower(least.left, at(launch.b, launch.spec.b, offsets.left));
      lower(least.right, at(launch.a, launch.spec.a, offsets.right));
      lower(least.result, at(launch.c, launch.spec.c, offsets.result));
    }
    least.addend = least.result;
    if (launch.addend)
      lower(least.addend, launch.addend);
    for (void *operand : {launch.bias, launch.auxiliary, launch.sums})
      lower(least.epilogue, operand);
    return least;
  }

private:
  static void lower(uint32_t &alignment, const void *address) {
    while (reinterpret_cast<uintptr_t>(address) % alignment != 0)
      alignment /= 2;
  }

  Status describeMemory(cublasLtMatmulPreference_t preference) const {
    Alignment least = alignment();
    uint64_t workspace = launch.workspaceBytes;
    auto set = [&](cublasLtMatmulPreferenceAttributes_t which, const auto &v) {
      return lt.check(lt.cublasLtMatmulPreferenceSetAttribute(preference, which,
                                                              &v, sizeof(v)),
                      "cublasLtMatmulPreferenceSetAttribute");
    };
    ZC_RETURN_IF_ERROR(
        set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace));
    ZC_RETURN_IF_ERROR(
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, least.left));
    ZC_RETURN_IF_ERROR(
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, least.right));
    ZC_RETURN_IF_ERROR(
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, least.addend));
    return set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, least.result);
  }

  static void *at(void *base, const kernels::StridedTensor &tensor,
                  int64_t offset) {
    return static_cast<char *>(base) +
           offset * kernels::elementBytes(tensor.type);
  }

  const Cublaslt &lt;
  cublasLtHandle_t handle;
  kernels::MatmulLaunch launch;
  MatmulForm form;
  Product product;
};

/// Two products of one form, types, workspace and alignment share their
/// algorithm.
std::string formOf(const kernels::MatmulLaunch &launch,
                   const MatmulExecutable::Alignment &alignment) {
  std::ostringstream key;
  for (auto *tensor : {&launch.spec.a, &launch.spec.b, &launch.spec.c}) {
    key << int(tensor->type) << ':';
    for (int64_t dim : tensor->dims)
      key << dim << ',';
    for (int64_t stride : tensor->strides)
      key << stride << ',';
  }
  const kernels::MatmulEpilogue &epilogue = launch.spec.epilogue;
  key << int(launch.spec.aScale) << int(launch.spec.bScale) << ':'
      << launch.spec.accumulate << ':' << int(epilogueOf(epilogue)) << ':'
      << epilogue.addend << ':' << launch.workspaceBytes << ':'
      << alignment.left << ',' << alignment.right << ',' << alignment.addend
      << ',' << alignment.result << ',' << alignment.epilogue;
  return key.str();
}

class CublasltMatmuls final : public Matmuls {
public:
  CublasltMatmuls(const Driver &driver, CUstream stream, AlgorithmChoice choice)
      : driver(driver), stream(stream), choice(choice) {}
  ~CublasltMatmuls() override {
    if (handle)
      lt.cublasLtDestroy(handle);
  }

  Status open() {
    ZC_RETURN_IF_ERROR(lt.load());
    ZC_LT_CALL(lt, cublasLtCreate, &handle);
    ZC_ASSIGN_OR_RETURN(watch, Stopwatch::open(driver, stream));
    return Status();
  }

  ExecutableResult make(const kernels::MatmulLaunch &launch) override {
    ZC_ASSIGN_OR_RETURN(MatmulForm form, makeForm(launch.spec));
    auto matmul = std::make_unique<MatmulExecutable>(
        lt, handle, launch, std::move(form), choice.tf32);
    ZC_RETURN_IF_ERROR(matmul->create());
    std::string key = formOf(launch, matmul->alignment());
    auto known = algorithms.find(key);
    if (known == algorithms.end()) {
      auto quickest = measure(*matmul);
      if (!quickest.ok())
        return adviseOnLack(quickest.status(), "cuBLASLt",
                            describe(launch.spec), callOf(launch.spec));
      known = algorithms.emplace(key, *quickest).first;
    }
    matmul->algorithm = known->second;
    return std::unique_ptr<Executable>(std::move(matmul));
  }

private:
  static std::string describe(const kernels::MatmulSpec &spec) {
    std::string text = strCat("a product of ", kernels::printDims(spec.a.dims),
                              " by ", kernels::printDims(spec.b.dims), " in ",
                              kernels::nameOfFactor(spec.a.type));
    if (spec.aScale != kernels::MatmulScale::Whole)
      text += " with scales of blocks of 128 (CUDA 12.9 or later, and a GPU of "
              "compute capability 9.0)";
    if (spec.b.type != spec.a.type)
      text += strCat(" and ", kernels::nameOfFactor(spec.b.type));
    if (spec.c.type != spec.a.type)
      text += strCat(" to ", kernels::nameOfType(spec.c.type));
    if (!spec.epilogue.isEmpty())
      text += strCat(" with epilogue ", int(epilogueOf(spec.epilogue)));
    return text;
  }

  /// Without its epilogue a product is rarely one that the library lacks.
  static const char *callOf(const kernels::MatmulSpec &spec) {
    if (spec.a.type == kernels::ElementType::U8 ||
        spec.a.type == kernels::ElementType::I8)
      return "cublaslt.fp8";
    return spec.epilogue.isEmpty() ? "cublaslt.matmul" : "cublaslt.epilogue";
  }

  Result<cublasLtMatmulAlgo_t> measure(MatmulExecutable &matmul) {
    ZC_ASSIGN_OR_RETURN(std::vector<cublasLtMatmulAlgo_t> candidates,
                        matmul.candidates());
    if (!choice.measures)
      candidates.resize(1);
    float best = 0;
    size_t quickest = candidates.size();
    for (size_t i = 0; i < candidates.size(); ++i) {
      matmul.algorithm = candidates[i];
      Result<float> time =
          watch->time([&](CUstream on) { return matmul.enqueue(on); });
      // A failed GPU is reported; an algorithm that cannot is passed over.
      if (!time.ok() && i + 1 == candidates.size() &&
          quickest == candidates.size())
        return time.status();
      if (time.ok() && (quickest == candidates.size() || *time < best)) {
        best = *time;
        quickest = i;
      }
    }
    return candidates[quickest];
  }

  const Driver &driver;
  CUstream stream;
  AlgorithmChoice choice;
  Cublaslt lt;
  cublasLtHandle_t handle = nullptr;
  std::unique_ptr<Stopwatch> watch;
  std::map<std::string, cublasLtMatmulAlgo_t> algorithms; // by form
};

} // namespace

Result<std::unique_ptr<Matmuls>>
Matmuls::open(const Driver &driver, CUstream stream, AlgorithmChoice choice) {
  auto matmuls = std::make_unique<CublasltMatmuls>(driver, stream, choice);
  ZC_RETURN_IF_ERROR(matmuls->open());
  return std::unique_ptr<Matmuls>(std::move(matmuls));
}

ExecutableResult makeCall(LibraryHandles &libraries,
                          const kernels::MatmulLaunch &launch) {
  ZC_ASSIGN_OR_RETURN(Matmuls * matmuls, libraries.matmuls());
  return matmuls->make(launch);
}

} // namespace zc::cuda
