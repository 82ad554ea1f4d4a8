#include "runtime/Device/Cuda/Advice.h"
#include "runtime/Device/Cuda/CudaCalls.h"

namespace zc::cuda {
namespace {

using Numbers = DnnGraph::Numbers;
using Tensor = DnnGraph::Tensor;

/// Describes a launch to a graph: tensors between its operations are float32
/// and never in memory, but for the gradient behind a ReLU, which the library's
/// engines want in the images' type.
class NormBuilder {
public:
  NormBuilder(DnnGraph &graph, const kernels::NormLaunch &launch)
      : graph(graph), launch(launch), spec(launch.spec) {}

  void forward() {
    Tensor image = inMemory(launch.image), value = between();
    Tensor epsilon = graph.scalar(float(spec.epsilon), rank());
    graph.normalize(image, channels(), epsilon, value);
    if (spec.addend) {
      Tensor sum = between();
      graph.pointwise(CUDNN_POINTWISE_ADD, {value, inMemory(launch.addend)},
                      sum);
      value = sum;
    }
    graph.pointwise(CUDNN_POINTWISE_RELU_FWD, {value}, inMemory(launch.result));
  }

  void backward() {
    Tensor image = inMemory(launch.image), value = between();
    DnnGraph::Channels given = channels();
    graph.normalizeBy(image, given, value);
    Tensor slope = graph.temporary(Dnn::dataType(spec.image.type),
                                   spec.image.dims, spec.image.strides);
    graph.reluBackward(inMemory(launch.grad), value, slope);
    graph.normalizeBackward(image, given, slope, inMemory(launch.result),
                            perChannel(launch.scaleGrad),
                            perChannel(launch.biasGrad));
  }

private:
  size_t rank() const { return spec.image.dims.size(); }

  Tensor inMemory(void *address) { return graph.inMemory(spec.image, address); }

  Tensor between() {
    return graph.temporary(CUDNN_DATA_FLOAT, spec.image.dims,
                           spec.image.strides);
  }

  /// A number per channel: an image of one pixel, channels last.
  Tensor perChannel(void *address) {
    int64_t count = spec.image.dims[1];
    Numbers dims(rank(), 1), strides(rank(), count);
    dims[1] = count;
    strides[1] = 1;
    return graph.inMemory(CUDNN_DATA_FLOAT, dims, strides, address);
  }

  DnnGraph::Channels channels() {
    return {perChannel(launch.mean), perChannel(launch.inverse),
            perChannel(launch.scale), perChannel(launch.bias)};
  }

  DnnGraph &graph;
  const kernels::NormLaunch &launch;
  const kernels::NormSpec &spec;
};

} // namespace

static std::string describe(const kernels::NormSpec &spec) {
  return strCat(spec.backward ? "the gradient of " : "",
                "batch normalisation and ReLU", spec.addend ? " of a sum" : "",
                " in ", kernels::nameOfType(spec.image.type), ", images ",
                kernels::printDims(spec.image.dims));
}

ExecutableResult makeCall(LibraryHandles &libraries,
                          const kernels::NormLaunch &launch) {
  ZC_ASSIGN_OR_RETURN(DnnPlans * plans, libraries.dnn());
  auto graph = std::make_unique<DnnGraph>(plans->library(),
                                          DnnGraph::Rounding::FixedOrder);
  NormBuilder builder(*graph, launch);
  if (launch.spec.backward)
    builder.backward();
  else
    builder.forward();
  return plans->advise(
      plans->make(std::move(graph), launch.workspace, launch.workspaceBytes),
      describe(launch.spec), "cudnn.norm");
}

} // namespace zc::cuda
