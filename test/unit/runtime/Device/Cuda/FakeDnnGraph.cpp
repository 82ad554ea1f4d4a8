#include "test/unit/runtime/Device/Cuda/FakeDnnGraph.h"

namespace zc::test {

void Operation::takeConvolution(const Descriptor &from,
                                const cudnnBackendAttributeName_t (&names)[5],
                                size_t resultAt) {
  for (size_t i = 0; i < 3; ++i) {
    GraphTensor tensor = GraphTensor::of(from.part(names[i]));
    if (i == resultAt)
      result = tensor;
    else
      inputs.push_back(tensor);
  }
  beta = from.get<float>(names[4]);
  const Descriptor &kind = from.part(names[3]);
  auto numbers = [&](cudnnBackendAttributeName_t name) {
    return kind.list<int64_t>(name);
  };
  const GraphTensor &filter = GraphTensor::of(from.part(names[1]));
  windows = {{filter.dims.begin() + 2, filter.dims.end()},
             numbers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
             numbers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS),
             numbers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
             numbers(CUDNN_ATTR_CONVOLUTION_DILATIONS)};
}

void Operation::takePooling(const Descriptor &from,
                            const cudnnBackendAttributeName_t (&names)[3]) {
  inputs.push_back(GraphTensor::of(from.part(names[0])));
  result = GraphTensor::of(from.part(names[1]));
  const Descriptor &kind = from.part(names[2]);
  auto numbers = [&](cudnnBackendAttributeName_t name) {
    Numbers result;
    for (cudnnFraction_t fraction : kind.list<cudnnFraction_t>(name))
      result.push_back(fraction.numerator / fraction.denominator);
    return result;
  };
  mode = kind.get<int>(CUDNN_ATTR_RESAMPLE_MODE);
  Numbers sizes = numbers(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS);
  windows = {sizes, numbers(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS),
             numbers(CUDNN_ATTR_RESAMPLE_POST_PADDINGS),
             numbers(CUDNN_ATTR_RESAMPLE_STRIDES), Numbers(sizes.size(), 1)};
}

void Operation::takeNorm(const Descriptor &from) {
  auto tensor = [&](cudnnBackendAttributeName_t name) {
    return GraphTensor::of(from.part(name));
  };
  mode = from.get<int>(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE);
  inputs = {tensor(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC),
            tensor(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC),
            tensor(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC)};
  std::vector<GraphTensor> moments = {
      tensor(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC),
      tensor(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC)};
  if (isTrainingNorm()) {
    inputs.push_back(tensor(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC));
    perChannel = moments;
  } else {
    inputs.insert(inputs.end(), moments.begin(), moments.end());
  }
  result = tensor(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC);
}

void Operation::takeNormGradient(const Descriptor &from) {
  for (auto name : {CUDNN_ATTR_OPERATION_NORM_BWD_XDESC,
                    CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC,
                    CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC,
                    CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC,
                    CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC})
    inputs.push_back(GraphTensor::of(from.part(name)));
  for (auto name : {CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC,
                    CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC})
    perChannel.push_back(GraphTensor::of(from.part(name)));
  result = GraphTensor::of(from.part(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC));
}

void Operation::takePointwise(const Descriptor &from) {
  const Descriptor &kind =
      from.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  mode = kind.get<int>(CUDNN_ATTR_POINTWISE_MODE);
  propagatesNan = kind.has(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) &&
                  kind.get<int>(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) ==
                      CUDNN_PROPAGATE_NAN;
  if (kind.has(CUDNN_ATTR_POINTWISE_AXIS))
    axis = kind.get<int64_t>(CUDNN_ATTR_POINTWISE_AXIS);
  for (cudnnBackendAttributeName_t name :
       {CUDNN_ATTR_OPERATION_POINTWISE_DYDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_TDESC})
    if (from.has(name))
      inputs.push_back(GraphTensor::of(from.part(name)));
  result =
      GraphTensor::of(from.part(from.has(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC)
                                    ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC
                                    : CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
}

Operation Operation::of(const Descriptor &from) {
  Operation op;
  op.type = from.type;
  auto take = [&](cudnnBackendAttributeName_t name) {
    if (from.has(name))
      op.inputs.push_back(GraphTensor::of(from.part(name)));
  };
  switch (from.type) {
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    op.takePointwise(from);
    break;
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    op.mode = from.part(CUDNN_ATTR_OPERATION_REDUCTION_DESC)
                  .get<int>(CUDNN_ATTR_REDUCTION_OPERATOR);
    take(CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    op.result =
        GraphTensor::of(from.part(CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
    break;
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    take(CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    take(CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    op.result = GraphTensor::of(from.part(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
    break;
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    op.takeConvolution(from,
                       {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
                       2);
    break;
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    op.takeConvolution(from,
                       {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
                       0);
    break;
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    op.takeConvolution(from,
                       {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
                       1);
    break;
  case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
    op.takePooling(from, {CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC,
                          CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC,
                          CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC});
    break;
  case CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR:
    op.takePooling(from, {CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC,
                          CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC,
                          CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC});
    break;
  case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
    op.takeNorm(from);
    break;
  case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
    op.takeNormGradient(from);
    break;
  default:
    take(CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
    op.result = GraphTensor::of(from.part(CUDNN_ATTR_OPERATION_RESHAPE_YDESC));
  }
  return op;
}

std::string Operation::print() const {
  std::ostringstream text;
  switch (type) {
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    text << "pointwise " << mode;
    break;
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    text << "reduce " << mode;
    break;
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    text << "matmul";
    break;
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    text << "convolution";
    break;
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    text << "convolution to images";
    break;
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    text << "convolution to filters";
    break;
  case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
    text << "pool " << mode;
    break;
  case CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR:
    text << "pool's gradient " << mode;
    break;
  case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
    text << (isTrainingNorm() ? "norm" : "norm by moments");
    break;
  case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
    text << "norm's gradient";
    break;
  default:
    text << "reshape";
  }
  for (const GraphTensor &input : inputs)
    text << " " << input.print();
  text << " -> " << result.print();
  return text.str();
}

} // namespace zc::test
