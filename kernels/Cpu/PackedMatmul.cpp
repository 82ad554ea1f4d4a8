// Matrix products with a copy of b in the library's own layout. The copy is
// made at every run: b is a weight that changes with every step.
#include "kernels/Cpu/MatmulDescriptor.h"

#include <algorithm>
#include <optional>

namespace zc::kernels::onednn {
namespace {

using Descriptor = dnnl::matmul::primitive_desc;
using Desc = dnnl::memory::desc;

dnnl::primitive_attr userScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

/// A matrix in another layout.
class Copy {
public:
  Copy(const Desc &from, const Desc &to) {
    dnnl::reorder::primitive_desc descriptor(cpuEngine(), from, cpuEngine(), to,
                                             userScratchpad());
    copy = dnnl::reorder(descriptor);
    arguments = {{DNNL_ARG_FROM, unbound(from)},
                 {DNNL_ARG_TO, unbound(to)},
                 {DNNL_ARG_SCRATCHPAD, unbound(descriptor.scratchpad_desc())}};
    scratch = descriptor.scratchpad_desc().get_size();
  }

  uint64_t scratchBytes() const { return scratch; }

  void execute(dnnl::stream &stream, char *from, char *to, char *scratchpad) {
    bind(arguments.at(DNNL_ARG_FROM), from);
    bind(arguments.at(DNNL_ARG_TO), to);
    bind(arguments.at(DNNL_ARG_SCRATCHPAD), scratchpad);
    copy.execute(stream, arguments);
  }

private:
  dnnl::reorder copy;
  Arguments arguments;
  uint64_t scratch = 0;
};

/// Some rows of b with the columns of a that meet them. The library has no
/// blocked product with a part of a's columns, so these are copied too.
class Slice {
public:
  Slice(const MatmulSpec &spec, int64_t begin, int64_t rows, bool accumulate)
      : stream(cpuEngine()), aOffset(4 * begin),
        bOffset(4 * begin * spec.b.strides[0]) {
    MatmulSpec part = spec;
    part.accumulate = accumulate;
    part.a.dims[1] = part.b.dims[0] = rows;
    Desc someColumns = describe(part.a);
    bool whole = rows == spec.b.dims[0];
    if (!whole)
      part.a.strides[0] = rows;
    KeptOperations operations;
    Descriptor descriptor = describeMatmul(part, /*anyB=*/true, operations);
    name = descriptor.impl_info_str();
    changesLayout = descriptor.weights_desc() != describe(part.b);
    product = dnnl::matmul(descriptor);
    packB.emplace(describe(part.b), descriptor.weights_desc());
    scratchBytes = std::max<uint64_t>(packB->scratchBytes(),
                                      descriptor.scratchpad_desc().get_size());
    bBytes = alignUp(descriptor.weights_desc().get_size());
    if (!whole) {
      packA.emplace(someColumns, descriptor.src_desc());
      scratchBytes = std::max(scratchBytes, packA->scratchBytes());
      aBytes = alignUp(descriptor.src_desc().get_size());
    }
    arguments = {{DNNL_ARG_SRC, unbound(descriptor.src_desc())},
                 {DNNL_ARG_WEIGHTS, unbound(descriptor.weights_desc())},
                 {DNNL_ARG_DST, unbound(descriptor.dst_desc())},
                 {DNNL_ARG_SCRATCHPAD, unbound(descriptor.scratchpad_desc())}};
  }

  /// The copies of b and a, then the scratch memory of one step at a time.
  uint64_t workspaceBytes() const { return bBytes + aBytes + scratchBytes; }

  void execute(void *const *pointers, char *workspace) {
    char *a = static_cast<char *>(pointers[0]) + aOffset;
    char *aCopy = workspace + bBytes, *scratch = aCopy + aBytes;
    packB->execute(stream, static_cast<char *>(pointers[1]) + bOffset,
                   workspace, scratch);
    if (packA)
      packA->execute(stream, a, aCopy, scratch);
    bind(arguments.at(DNNL_ARG_SRC), packA ? aCopy : a);
    bind(arguments.at(DNNL_ARG_WEIGHTS), workspace);
    bind(arguments.at(DNNL_ARG_DST), pointers[2]);
    bind(arguments.at(DNNL_ARG_SCRATCHPAD), scratch);
    product.execute(stream, arguments);
    stream.wait();
  }

  std::string name;
  bool changesLayout; // else the copy would be for nothing

private:
  dnnl::matmul product;
  dnnl::stream stream;
  std::optional<Copy> packA, packB;
  Arguments arguments;
  int64_t aOffset, bOffset;
  uint64_t aBytes = 0, bBytes = 0, scratchBytes = 0;
};

/// The slices one after the other, each added to what those before it left.
class PackedMatmul final : public Primitive {
public:
  explicit PackedMatmul(std::vector<Slice> slices)
      : slices(std::move(slices)) {}

  bool execute(void *const *pointers, void *workspace,
               std::string *error) noexcept override try {
    for (Slice &slice : slices)
      slice.execute(pointers, static_cast<char *>(workspace));
    return true;
  } catch (const std::exception &failure) {
    *error = std::string("oneDNN: matmul: ") + failure.what();
    return false;
  }

  std::string implementation() const override {
    return slices[0].name + " with b packed in " +
           std::to_string(slices.size()) +
           (slices.size() == 1 ? " slice" : " slices");
  }
  uint64_t workspaceBytes() const override {
    uint64_t most = 0;
    for (const Slice &slice : slices)
      most = std::max(most, slice.workspaceBytes());
    return most;
  }

private:
  std::vector<Slice> slices;
};

} // namespace

std::unique_ptr<Primitive> createPackedMatmul(const MatmulSpec &spec,
                                              int64_t rows,
                                              uint64_t workspaceBytes) {
  std::vector<Slice> slices;
  int64_t all = spec.b.dims[0];
  for (int64_t begin = 0; begin < all; begin += rows) {
    slices.emplace_back(spec, begin, std::min(rows, all - begin),
                        spec.accumulate || begin > 0);
    if (!slices.back().changesLayout ||
        slices.back().workspaceBytes() > workspaceBytes)
      return nullptr;
  }
  return std::make_unique<PackedMatmul>(std::move(slices));
}

} // namespace zc::kernels::onednn
