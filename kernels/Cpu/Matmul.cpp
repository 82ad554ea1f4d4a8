// Matrix products by oneDNN, but for those that our own tiles do. The library's
// block-wise kernels take transposes as strides and their scratch memory from
// us; its older ones allocate inside, so the list order (fastest first) is also
// ours.
#include "kernels/Calls/Division/MatmulBlocks.h"
#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/OneDnn.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/TiledMatmul.h"
#include "kernels/Cpu/WorkHint.h"

#include <algorithm>

namespace zc::kernels {

namespace {

using namespace onednn;
using Descriptor = dnnl::matmul::primitive_desc;

/// The library's product of `spec`, with scratch memory from us. `operations`
/// outlives the result. Throws dnnl::error where there is none.
Descriptor describeMatmul(const MatmulSpec &spec,
                          [[maybe_unused]] KeptOperations &operations) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (spec.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  auto a = describe(spec.a), b = describe(spec.b), c = describe(spec.c);
#if DNNL_VERSION_MAJOR >= 3
  return {cpuEngine(), a, b, c, attributes};
#else
  return {operations.keep(dnnl::matmul::desc(a, b, c)), attributes,
          cpuEngine()};
#endif
}

class Matmul final : public Primitive {
public:
  explicit Matmul(const Descriptor &descriptor)
      : kernel(descriptor), stream(cpuEngine()),
        chosen(descriptor.impl_info_str()),
        scratchBytes(descriptor.scratchpad_desc().get_size()) {
    arguments = {{DNNL_ARG_SRC, unbound(descriptor.src_desc())},
                 {DNNL_ARG_WEIGHTS, unbound(descriptor.weights_desc())},
                 {DNNL_ARG_DST, unbound(descriptor.dst_desc())},
                 {DNNL_ARG_SCRATCHPAD, unbound(descriptor.scratchpad_desc())}};
  }

  bool execute(void *const *pointers, void *workspace,
               std::string *error) noexcept override try {
    bind(arguments.at(DNNL_ARG_SRC), pointers[0]);
    bind(arguments.at(DNNL_ARG_WEIGHTS), pointers[1]);
    bind(arguments.at(DNNL_ARG_DST), pointers[2]);
    bind(arguments.at(DNNL_ARG_SCRATCHPAD), workspace);
    kernel.execute(stream, arguments);
    stream.wait();
    return true;
  } catch (const std::exception &failure) {
    *error = std::string("oneDNN: matmul: ") + failure.what();
    return false;
  }

  std::string implementation() const override { return chosen; }
  /// The library's block-wise products never wait for one another (2.6 to 3.8);
  /// its older ones do.
  bool mayMeet() const override { return chosen.find("brg") == chosen.npos; }
  uint64_t workspaceBytes() const override { return scratchBytes; }

private:
  dnnl::matmul kernel;
  dnnl::stream stream;
  Arguments arguments;
  std::string chosen;
  uint64_t scratchBytes;
};

/// A product done in slices of c's rows, one after another. The library's first
/// choice sometimes wants a private copy of all of a transposed a per thread
/// (gigabytes for a vocabulary's gradient on 64 cores); it never does for a
/// slice, and any other implementation would be far slower.
class SlicedMatmul final : public Primitive {
public:
  SlicedMatmul(std::vector<std::unique_ptr<Primitive>> slices, int64_t aBytes,
               int64_t cBytes)
      : slices(std::move(slices)), aBytes(aBytes), cBytes(cBytes) {}

  bool execute(void *const *pointers, void *workspace,
               std::string *error) noexcept override {
    char *a = static_cast<char *>(pointers[0]);
    char *c = static_cast<char *>(pointers[2]);
    for (auto &slice : slices) {
      void *operands[] = {a, pointers[1], c};
      if (!slice->execute(operands, workspace, error))
        return false;
      a += aBytes;
      c += cBytes;
    }
    return true;
  }

  std::string implementation() const override {
    return slices[0]->implementation() + " in " +
           std::to_string(slices.size()) + " slices";
  }
  bool mayMeet() const override { return slices[0]->mayMeet(); }
  uint64_t workspaceBytes() const override {
    uint64_t most = 0;
    for (auto &slice : slices)
      most = std::max(most, slice->workspaceBytes());
    return most;
  }

private:
  std::vector<std::unique_ptr<Primitive>> slices;
  int64_t aBytes, cBytes; // from one slice to the next
};

std::string describeFailure(const MatmulSpec &spec, const std::string &reason) {
  return "oneDNN: matmul of a " + print(spec.a) + ", b " + print(spec.b) +
         ", c " + print(spec.c) + ": " + reason;
}

std::unique_ptr<Primitive> sliceRows(const MatmulSpec &spec, int64_t count,
                                     uint64_t workspaceBytes) {
  size_t row = spec.c.dims.size() - 2;
  int64_t rows = spec.c.dims[row];
  int64_t step = ((rows + count - 1) / count + 63) / 64 * 64;
  std::vector<std::unique_ptr<Primitive>> slices;
  for (int64_t begin = 0; begin < rows; begin += step) {
    MatmulSpec slice = spec;
    slice.a.dims[row] = slice.c.dims[row] = std::min(step, rows - begin);
    KeptOperations operations;
    Descriptor descriptor = describeMatmul(slice, operations);
    if (descriptor.scratchpad_desc().get_size() > workspaceBytes)
      return nullptr;
    slices.push_back(std::make_unique<Matmul>(descriptor));
  }
  return std::make_unique<SlicedMatmul>(
      std::move(slices), step * spec.a.strides[row] * elementBytes(spec.a.type),
      step * spec.c.strides[row] * elementBytes(spec.c.type));
}

bool isByTiles(const MatmulSpec &spec, Way way) {
  if (way != Way::Rule)
    return way == Way::Tiles;
  return tilesMatmul(spec, processorKind(), teamSize()) || !computesByVectors();
}

} // namespace

std::unique_ptr<Primitive> createPrimitive(const MatmulSpec &spec,
                                           uint64_t workspaceBytes,
                                           std::string *error, Way way) noexcept
    try {
  if (spec.precision != MatmulPrecision::Highest) {
    if (auto tiled = createTiledMatmul(spec, workspaceBytes))
      return tiled;
    MatmulSpec plain = spec;
    plain.precision = MatmulPrecision::Highest;
    return createPrimitive(plain, workspaceBytes, error, way);
  }
  if (isByTiles(spec, way))
    if (auto tiled = createTiledMatmul(spec, workspaceBytes))
      return tiled;
  if (way != Way::Rule && way != Way::Library) {
    *error = describeFailure(
        spec, std::string("there is no way '") + nameOf(way) + "' within " +
                  std::to_string(workspaceBytes) + " bytes of scratch memory");
    return nullptr;
  }
  KeptOperations operations;
  Descriptor descriptor = describeMatmul(spec, operations);
  uint64_t least = descriptor.scratchpad_desc().get_size();
  int64_t rows = spec.c.dims[spec.c.dims.size() - 2];
  for (int64_t count = 2; least > workspaceBytes && count * 64 <= rows;
       count *= 2)
    if (auto sliced = sliceRows(spec, count, workspaceBytes))
      return sliced;
  do {
    uint64_t bytes = descriptor.scratchpad_desc().get_size();
    if (bytes <= workspaceBytes)
      return std::make_unique<Matmul>(descriptor);
    least = std::min(least, bytes);
  } while (descriptor.next_impl());
  *error = describeFailure(
      spec, "every implementation needs more scratch memory than the " +
                std::to_string(workspaceBytes) +
                " bytes planned for it; the least is " + std::to_string(least));
  return nullptr;
} catch (const std::exception &failure) {
  *error = describeFailure(spec, failure.what());
  return nullptr;
}

/// The product of all dims.
static double countElements(const std::vector<int64_t> &dims) {
  double product = 1;
  for (int64_t dim : dims)
    product *= double(dim);
  return product;
}

WorkHint hintOf(const MatmulSpec &spec, const Primitive &chosen) {
  double flops = 2 * countElements(spec.c.dims) * double(spec.a.dims.back());
  return {secondsOfProducts(flops), chosen.mayMeet(), false};
}

std::vector<void *> operandsOf(const MatmulLaunch &launch) {
  return {launch.a, launch.b, launch.c};
}

} // namespace zc::kernels
