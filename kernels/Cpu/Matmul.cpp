// Matrix products by oneDNN. The library's block-wise kernels take transposes as
// strides and their scratch memory from us; its older ones allocate inside, so
// the list order (fastest first) is also ours.
#include "kernels/Cpu/OneDnn.h"
#include "kernels/Cpu/Primitive.h"

namespace zc::kernels {
namespace {

using namespace onednn;
using Descriptor = dnnl::matmul::primitive_desc;

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
  uint64_t workspaceBytes() const override { return scratchBytes; }

private:
  dnnl::matmul kernel;
  dnnl::stream stream;
  Arguments arguments;
  std::string chosen;
  uint64_t scratchBytes;
};

Descriptor makeDescriptor(const MatmulSpec &spec) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (spec.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  auto a = describe(spec.a), b = describe(spec.b), c = describe(spec.c);
#if DNNL_VERSION_MAJOR >= 3
  return Descriptor(cpuEngine(), a, b, c, attributes);
#else
  return Descriptor(dnnl::matmul::desc(a, b, c), attributes, cpuEngine());
#endif
}

std::string describeFailure(const MatmulSpec &spec, const std::string &reason) {
  return "oneDNN: matmul of a " + print(spec.a) + ", b " + print(spec.b) +
         ", c " + print(spec.c) + ": " + reason;
}

} // namespace

std::unique_ptr<Primitive> createMatmul(const MatmulSpec &spec,
                                        uint64_t workspaceBytes,
                                        std::string *error) noexcept try {
  Descriptor descriptor = makeDescriptor(spec);
  uint64_t least = UINT64_MAX;
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

} // namespace zc::kernels
