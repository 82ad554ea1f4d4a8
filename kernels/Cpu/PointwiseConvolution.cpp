// A convolution of one tap is a matrix product, whose kernels, the library's or
// our own tiles, are better than the library's for convolutions (measured of
// the library's with AVX-512: 5 to 15% on ResNet-50's). With AVX2 the library's
// own are better forward: of twelve of ResNet-50's, products took 1.12 of their
// time in all.
#include "kernels/Calls/Division/PointwiseProduct.h"
#include "kernels/Cpu/ConvolutionWays.h"
#include "kernels/Cpu/TiledMatmul.h"

namespace zc::kernels {
namespace {

class PointwiseConvolution final : public Primitive {
public:
  PointwiseConvolution(std::unique_ptr<Primitive> product, bool backward)
      : product(std::move(product)), backward(backward) {}

  bool execute(void *const *pointers, void *workspace,
               std::string *error) noexcept override {
    void *operands[] = {pointers[backward ? 2 : 0], pointers[1],
                        pointers[backward ? 0 : 2]};
    return product->execute(operands, workspace, error);
  }

  std::string implementation() const override {
    return product->implementation();
  }
  uint64_t workspaceBytes() const override { return product->workspaceBytes(); }

private:
  std::unique_ptr<Primitive> product;
  bool backward;
};

} // namespace

bool pointwiseByProduct(ConvolutionKind kind) {
  return kind != ConvolutionKind::Forward ||
         processorKind() != ProcessorKind::Avx2;
}

std::unique_ptr<Primitive>
createPointwiseConvolution(const ConvolutionSpec &spec, uint64_t workspaceBytes,
                           Way way) {
  std::optional<MatmulSpec> matmul = pointwiseProduct(spec);
  if (!matmul)
    return nullptr;
  std::string unused; // the library's convolution comes next
  auto product = createPrimitive(*matmul, workspaceBytes, &unused, way);
  if (!product)
    return nullptr;
  return std::make_unique<PointwiseConvolution>(
      std::move(product), spec.kind == ConvolutionKind::BackwardInput);
}

} // namespace zc::kernels
