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
    normalize(image, channels(), epsilon, value);
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
    Channels given = channels();
    normalizeBy(image, given, value);
    Tensor slope = graph.temporary(Dnn::dataType(spec.image.type),
                                   spec.image.dims, spec.image.strides);
    graph.reluBackward(inMemory(launch.grad), value, slope);
    normalizeBackward(image, given, slope, inMemory(launch.result),
                      perChannel(launch.scaleGrad),
                      perChannel(launch.biasGrad));
  }

private:
  /// Moments and parameters, numbers per channel.
  struct Channels {
    Tensor mean, inverse, scale, bias;
  };

  DnnGraph::Descriptor create(Tensor image, const Channels &channels,
                              Tensor result, cudnnBackendNormFwdPhase_t phase) {
    DnnGraph::Descriptor op =
        graph.create(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
    graph.set(op, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE,
              CUDNN_BATCH_NORM);
    graph.set(op, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE,
              CUDNN_TYPE_NORM_FWD_PHASE, phase);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, image);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, channels.mean);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC,
                    channels.inverse);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC,
                    channels.scale);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, channels.bias);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, result);
    return op;
  }

  /// With the batch's own moments, which are written; `epsilon` is a scalar.
  void normalize(Tensor image, const Channels &channels, Tensor epsilon,
                 Tensor result) {
    DnnGraph::Descriptor op =
        create(image, channels, result, CUDNN_NORM_FWD_TRAINING);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, epsilon);
    graph.add(op);
  }

  /// With given moments.
  void normalizeBy(Tensor image, const Channels &channels, Tensor result) {
    graph.add(create(image, channels, result, CUDNN_NORM_FWD_INFERENCE));
  }

  /// From the gradient of normalize()'s result; `channels` are given.
  void normalizeBackward(Tensor image, const Channels &channels, Tensor grad,
                         Tensor imageGrad, Tensor scaleGrad, Tensor biasGrad) {
    DnnGraph::Descriptor op =
        graph.create(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
    graph.set(op, CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE,
              CUDNN_BATCH_NORM);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, image);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, grad);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC,
                    channels.scale);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, channels.mean);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC,
                    channels.inverse);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, imageGrad);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, scaleGrad);
    graph.setTensor(op, CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, biasGrad);
    graph.add(op);
  }

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

  Channels channels() {
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
