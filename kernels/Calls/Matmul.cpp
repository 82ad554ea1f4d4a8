#include "kernels/Calls/Matmul.h"

#include "kernels/Calls/Division/MatmulBlocks.h"
#include "kernels/Calls/Scratch.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace zc::kernels {
namespace {

bool accumulates(const LibraryCall &call) { return call.op == "matmul_add"; }
bool isScaled(const LibraryCall &call) { return call.op == "scaled_matmul"; }

MatmulActivation activationOf(const std::string &name) {
  if (name == "relu")
    return MatmulActivation::Relu;
  if (name == "gelu")
    return MatmulActivation::Gelu;
  if (name == "gelu_grad")
    return MatmulActivation::GeluGradient;
  return name == "relu_grad" ? MatmulActivation::ReluGradient
                             : MatmulActivation::Linear;
}

MatmulSums sumsOf(const std::string &name) {
  if (name == "columns")
    return MatmulSums::ResultColumns;
  if (name == "lhs")
    return MatmulSums::LhsRows;
  return name == "rhs" ? MatmulSums::RhsColumns : MatmulSums::None;
}

bool isGradient(const MatmulEpilogue &epilogue) {
  return epilogue.activation == MatmulActivation::GeluGradient ||
         epilogue.activation == MatmulActivation::ReluGradient;
}

MatmulEpilogue epilogueOf(const LibraryCall &call) {
  MatmulEpilogue epilogue;
  epilogue.activation = activationOf(call.text("train.epilogue.activation"));
  epilogue.sums = sumsOf(call.text("train.epilogue.sums"));
  epilogue.addend = call.has("train.epilogue.addend");
  epilogue.bias = call.has("train.epilogue.bias");
  epilogue.auxiliary = call.has("train.epilogue.auxiliary");
  return epilogue;
}

/// The places of a call's tensors among its inputs and outputs.
struct Places {
  size_t a, b;
  size_t aScale = 0, bScale = 0; // where there are any, as the next
  size_t addend = 0, bias = 0, auxiliary = 0, sums = 0;
  size_t inputs, outputs; // how many there are

  explicit Places(const LibraryCall &call) {
    const MatmulEpilogue epilogue = epilogueOf(call);
    a = accumulates(call) ? 1 : 0;
    b = a + 1;
    inputs = b + 1;
    outputs = 1;
    if (isScaled(call)) {
      aScale = inputs++;
      bScale = inputs++;
    }
    if (epilogue.addend)
      addend = inputs++;
    if (epilogue.bias)
      bias = inputs++;
    if (epilogue.auxiliary)
      auxiliary = isGradient(epilogue) ? inputs++ : outputs++;
    if (epilogue.sums != MatmulSums::None)
      sums = outputs++;
  }
};

StridedTensor asMatrix(const CallTensor &tensor, bool transposed) {
  StridedTensor matrix = asItIs(tensor);
  const size_t rank = matrix.dims.size();
  if (transposed && rank >= 2) {
    std::swap(matrix.dims[rank - 2], matrix.dims[rank - 1]);
    std::swap(matrix.strides[rank - 2], matrix.strides[rank - 1]);
  }
  return matrix;
}

std::string checkProduct(const MatmulSpec &spec) {
  const std::vector<int64_t> &a = spec.a.dims, &b = spec.b.dims,
                             &c = spec.c.dims;
  const size_t rank = c.size();
  bool sound = rank >= 2 && rank <= 6 && a.size() == rank && b.size() == rank;
  for (size_t i = 0; sound && i < rank - 2; ++i)
    sound = a[i] == c[i] && b[i] == c[i];
  if (!sound || a[rank - 2] != c[rank - 2] || b[rank - 1] != c[rank - 1] ||
      a[rank - 1] != b[rank - 2])
    return "it multiplies " + printDims(a) + " by " + printDims(b) + " into " +
           printDims(c);
  return "";
}

/// Both factors are floats of one type, and the product is too or is float32.
std::string checkFactors(const MatmulSpec &spec) {
  const ElementType type = spec.a.type, result = spec.c.type;
  if (!isMatrixType(type) || spec.b.type != type ||
      (result != type && result != ElementType::F32))
    return std::string("it multiplies ") + nameOfType(type) + " by " +
           nameOfType(spec.b.type) + " into " + nameOfType(result);
  return "";
}

bool isFloat8(ElementType type) {
  return type == ElementType::U8 || type == ElementType::I8;
}

/// The form of a scale whose factor has `rows` rows of K; one of no form is
/// wrong for it.
MatmulScale scaleOf(const CallTensor &scale, int64_t rows, int64_t k) {
  const std::vector<int64_t> &dims = scale.dims;
  if (dims.size() != 2 || k % kScaleBlock != 0)
    return MatmulScale::Whole;
  const int64_t blocks = k / kScaleBlock;
  return dims[0] == blocks && dims[1] == rows ? MatmulScale::Vectors
                                              : MatmulScale::Squares;
}

int64_t countScales(MatmulScale scale, int64_t rows, int64_t k) {
  const int64_t blocks = k / kScaleBlock;
  switch (scale) {
  case MatmulScale::Whole:
    return 1;
  case MatmulScale::Vectors:
    return blocks * rows;
  case MatmulScale::Squares:
    break;
  }
  return rows % kScaleBlock == 0
             ? rows / kScaleBlock * roundUpBytes(uint64_t(blocks), 4)
             : -1; // no number
}

bool goTogether(MatmulScale a, MatmulScale b) {
  if (a == MatmulScale::Whole || b == MatmulScale::Whole)
    return a == b;
  return a == MatmulScale::Vectors || b == MatmulScale::Vectors;
}

/// Matrices of 8-bit floats, of which one at most holds gradients; sizes are
/// multiples of 16, as the library has them; scales are as the spec says.
std::string checkScaled(const LibraryCall &call, const MatmulSpec &spec) {
  const ElementType a = spec.a.type, b = spec.b.type, c = spec.c.type;
  if (!isFloat8(a) || !isFloat8(b) ||
      (a == ElementType::I8 && b == ElementType::I8) ||
      (c != ElementType::BF16 && c != ElementType::F32))
    return std::string("it multiplies 8-bit floats stored as ") +
           nameOfType(a) + " and " + nameOfType(b) + " into " + nameOfType(c);
  const auto isSound = [](int64_t dim) { return dim % 16 == 0; };
  if (spec.c.dims.size() != 2 || !isSound(spec.c.dims[0]) ||
      !isSound(spec.c.dims[1]) || !isSound(spec.a.dims[1]))
    return "it multiplies 8-bit floats " + printDims(spec.a.dims) + " by " +
           printDims(spec.b.dims) + "; sizes must be multiples of 16";
  const Places places(call);
  const int64_t k = spec.a.dims[1];
  auto isWrong = [&](size_t index, MatmulScale scale, int64_t rows) {
    return call.inputs[index].type != ElementType::F32 ||
           call.inputs[index].numElements() != countScales(scale, rows, k);
  };
  for (auto [index, scale, rows] :
       {std::tuple(places.aScale, spec.aScale, spec.c.dims[0]),
        std::tuple(places.bScale, spec.bScale, spec.c.dims[1])})
    if (isWrong(index, scale, rows))
      return "its scale is " + print(call.inputs[index]);
  return goTogether(spec.aScale, spec.bScale)
             ? ""
             : "its factors' scales do not go together";
}

/// A dense operand of the epilogue: as many elements of the product's type.
std::string checkPart(const LibraryCall &call, const CallTensor &part,
                      int64_t elements, const char *name) {
  const CallTensor &product = call.outputs[0];
  if (part.type == product.type && part.numElements() == elements)
    return "";
  return std::string("its ") + name + " is " + print(part) + ", of a product " +
         printDims(product.dims);
}

/// A bit for every element of the product, in whole rows of 16 bytes as the
/// library has them.
std::string checkSigns(const LibraryCall &call, const CallTensor &signs) {
  const std::vector<int64_t> &product = call.outputs[0].dims;
  const int64_t rows = product[0], columns = product[1];
  const bool bytes =
      signs.type == ElementType::I8 || signs.type == ElementType::U8;
  if (bytes && columns % 128 == 0 &&
      signs.numElements() == rows * (columns / 8))
    return "";
  return "its bits are " + print(signs) + ", of a product " +
         printDims(product);
}

/// Whether the parts of an epilogue go together.
bool isSound(const MatmulEpilogue &epilogue, bool accumulates) {
  const bool gradient = isGradient(epilogue);
  const bool ofFactor = epilogue.sums == MatmulSums::LhsRows ||
                        epilogue.sums == MatmulSums::RhsColumns;
  // The library leaves sums of a factor where a bias would be.
  if (ofFactor &&
      (epilogue.activation != MatmulActivation::Linear || epilogue.bias))
    return false;
  if (gradient ? !epilogue.auxiliary || epilogue.bias
               : epilogue.auxiliary &&
                     epilogue.activation == MatmulActivation::Linear)
    return false;
  return (epilogue.sums != MatmulSums::ResultColumns || gradient) &&
         !(epilogue.addend && accumulates);
}

std::string checkAuxiliary(const LibraryCall &call, const Places &places) {
  const MatmulEpilogue epilogue = epilogueOf(call);
  const CallTensor &auxiliary = isGradient(epilogue)
                                    ? call.inputs[places.auxiliary]
                                    : call.outputs[places.auxiliary];
  const bool ofRelu = epilogue.activation == MatmulActivation::Relu ||
                      epilogue.activation == MatmulActivation::ReluGradient;
  return ofRelu ? checkSigns(call, auxiliary)
                : checkPart(call, auxiliary, call.outputs[0].numElements(),
                            "auxiliary tensor");
}

/// The parts of the epilogue of a sound product.
std::string checkEpilogue(const LibraryCall &call, const Places &places) {
  const MatmulEpilogue epilogue = epilogueOf(call);
  if (epilogue.isEmpty())
    return "";
  const CallTensor &product = call.outputs[0];
  if (product.dims.size() != 2)
    return "it has an epilogue on " + printDims(product.dims);
  const int64_t m = product.dims[0], n = product.dims[1];
  std::string error;
  if (epilogue.addend)
    error = checkPart(call, call.inputs[places.addend], m * n, "addend");
  if (error.empty() && epilogue.bias)
    error = checkPart(call, call.inputs[places.bias], n, "bias");
  if (error.empty() && epilogue.auxiliary)
    error = checkAuxiliary(call, places);
  if (error.empty() && epilogue.sums != MatmulSums::None)
    error = checkPart(call, call.outputs[places.sums],
                      epilogue.sums == MatmulSums::LhsRows ? m : n, "sums");
  if (error.empty() &&
      (!isSound(epilogue, accumulates(call)) || isScaled(call)))
    error = "the parts of its epilogue do not go together";
  return error;
}

/// Whether activation and sums are some that there are.
bool hasKnownNames(const LibraryCall &call) {
  const std::string activation = call.text("train.epilogue.activation"),
                    sums = call.text("train.epilogue.sums");
  return (activation.empty() ||
          activationOf(activation) != MatmulActivation::Linear) &&
         (sums.empty() || sumsOf(sums) != MatmulSums::None);
}

} // namespace

std::string MatmulCall::check(const LibraryCall &call) {
  if (!hasKnownNames(call))
    return "the parts of its epilogue do not go together";
  const Places places(call);
  std::string error = checkCounts(call, places.inputs, places.outputs);
  if (error.empty())
    error = checkProduct(specOf(call));
  if (error.empty())
    error = isScaled(call) ? checkScaled(call, specOf(call))
                           : checkFactors(specOf(call));
  if (error.empty() && accumulates(call) &&
      (call.inputs[0].place != call.outputs[0].place ||
       call.inputs[0].type != call.outputs[0].type ||
       call.inputs[0].dims != call.outputs[0].dims))
    error = "its accumulator is not where the product is";
  return error.empty() ? checkEpilogue(call, places) : error;
}

MatmulSpec MatmulCall::specOf(const LibraryCall &call) {
  const size_t first = accumulates(call) ? 1 : 0;
  MatmulSpec spec;
  spec.accumulate = accumulates(call);
  spec.a = asMatrix(call.inputs[first], call.has("transpose_lhs"));
  spec.b = asMatrix(call.inputs[first + 1], call.has("transpose_rhs"));
  spec.c = asItIs(call.outputs[0]);
  spec.epilogue = epilogueOf(call);
  if (isScaled(call) && spec.a.dims.size() == 2 && spec.c.dims.size() == 2) {
    const Places places(call);
    spec.aScale =
        scaleOf(call.inputs[places.aScale], spec.c.dims[0], spec.a.dims[1]);
    spec.bScale =
        scaleOf(call.inputs[places.bScale], spec.c.dims[1], spec.a.dims[1]);
  }
  return spec;
}

MatmulLaunch MatmulCall::launch(const LibraryCall &call,
                                const CallAddresses &addresses) {
  const Places places(call);
  MatmulLaunch launch = {};
  launch.spec = specOf(call);
  const MatmulEpilogue &epilogue = launch.spec.epilogue;
  launch.a = addresses.inputs[places.a];
  launch.b = addresses.inputs[places.b];
  launch.c = addresses.outputs[0];
  if (isScaled(call)) {
    launch.aScale = addresses.inputs[places.aScale];
    launch.bScale = addresses.inputs[places.bScale];
  }
  launch.workspace = addresses.workspace;
  launch.workspaceBytes = addresses.workspaceBytes;
  if (epilogue.addend)
    launch.addend = addresses.inputs[places.addend];
  if (epilogue.bias)
    launch.bias = addresses.inputs[places.bias];
  if (epilogue.auxiliary)
    launch.auxiliary = isGradient(epilogue)
                           ? addresses.inputs[places.auxiliary]
                           : addresses.outputs[places.auxiliary];
  if (epilogue.sums != MatmulSums::None)
    launch.sums = addresses.outputs[places.sums];
  return launch;
}

const char *nameOfFactor(ElementType type) {
  if (type == ElementType::U8)
    return "float8 E4M3";
  return type == ElementType::I8 ? "float8 E5M2" : nameOfType(type);
}

static bool isTransposed(const StridedTensor &matrix) {
  const size_t rank = matrix.dims.size();
  return rank >= 2 && matrix.dims[rank - 1] > 1 &&
         matrix.strides[rank - 1] > matrix.strides[rank - 2];
}

CallWork MatmulCall::workOf(const LibraryCall &call) {
  const MatmulSpec spec = specOf(call);
  const std::vector<int64_t> &a = spec.a.dims, &c = spec.c.dims;
  CallProduct product;
  product.m = c[c.size() - 2];
  product.n = c[c.size() - 1];
  product.k = a[a.size() - 1];
  for (size_t i = 0; i + 2 < c.size(); ++i)
    product.batch *= c[i];
  product.transposesA = isTransposed(spec.a);
  product.transposesB = isTransposed(spec.b);
  // 8-bit floats of either type are as quick.
  const bool isFloat8 = spec.a.type == ElementType::I8;
  return {"matmul", isFloat8 ? ElementType::U8 : spec.a.type, product};
}

/// A thread of the library packs blocks of a and b and keeps a block of c in
/// float32; the block sizes are limited by the caches, and by the matrices when
/// these are small. Scratch.h says how it was found.
uint64_t MatmulCall::cpuWorkspace(const MatmulSpec &spec, int threads) {
  constexpr uint64_t kiB = 1024, perThreadLimit = 2304 * kiB;
  size_t last = spec.c.dims.size() - 1;
  uint64_t m = roundUpBytes(spec.c.dims[last - 1], 64);
  uint64_t n = roundUpBytes(spec.c.dims[last], 64);
  uint64_t k = roundUpBytes(spec.a.dims[last], 64);
  uint64_t packed = 0;
  for (auto [rows, columns] : {std::pair(m, k), {k, n}, {m, n}})
    packed =
        std::min(perThreadLimit, packed + saturatingProduct(4 * rows, columns));
  uint64_t library = std::max(1, threads) * (packed + 8 * kiB);
  return mayTileMatmul(spec)
             ? std::max(library, tiledMatmulWorkspace(spec, threads))
             : library;
}

/// Partial sums of a product that is split along k, in float32.
uint64_t MatmulCall::cudaWorkspace(const MatmulSpec &spec) {
  constexpr uint64_t kSplits = 16;
  return alignedForCuda(
      std::min(kCudaScratch, kSplits * 4 * countElements(spec.c)));
}

} // namespace zc::kernels
