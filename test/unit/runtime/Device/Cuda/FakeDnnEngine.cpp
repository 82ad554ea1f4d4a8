#include "test/unit/runtime/Device/Cuda/FakeDnnGraph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace zc::test {
namespace {

using Elements = std::vector<double>; // in the order of the dims

class Engine {
public:
  Engine(std::vector<Operation> operations, std::map<int64_t, void *> memory)
      : operations(std::move(operations)), memory(std::move(memory)) {}

  void run() {
    for (const Operation &op : operations)
      if (op.isConvolution())
        convolutionOf(op).run();
      else if (op.isPooling())
        poolingOf(op).run();
      else if (op.isTrainingNorm() || op.isGivenNorm())
        normalize(op);
      else if (op.isNormGradient())
        normalizeBackward(op);
      else
        write(op.result, compute(op));
  }

  /// The tensors of these are in memory.
  Convolution convolutionOf(const Operation &op) const {
    std::vector<Image> images;
    for (const GraphTensor &input : op.inputs)
      images.push_back(imageOf(input));
    size_t resultAt =
        op.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ? 2
        : op.type ==
                CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
            ? 0
            : 1;
    images.insert(images.begin() + int64_t(resultAt), imageOf(op.result));
    return {op.type, op.windows, images[0], images[1], images[2], op.beta};
  }
  Pooling poolingOf(const Operation &op) const {
    bool isGradient =
        op.type == CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR;
    Image given = imageOf(op.inputs[0]), made = imageOf(op.result);
    return {cudnnResampleMode_t(op.mode), isGradient, op.windows,
            isGradient ? made : given, isGradient ? given : made};
  }

private:
  Image imageOf(const GraphTensor &tensor) const {
    auto place = memory.find(tensor.id);
    return {tensor.dims, tensor.strides,
            arrayOf(typeOf(tensor),
                    place == memory.end() ? nullptr : place->second)};
  }

  static Type typeOf(const GraphTensor &tensor) {
    return tensor.type == CUDNN_DATA_HALF       ? Type::F16
           : tensor.type == CUDNN_DATA_BFLOAT16 ? Type::BF16
                                                : Type::F32;
  }

  Elements read(const GraphTensor &tensor) {
    if (tensor.isVirtual)
      return values.at(tensor.id);
    Array array = arrayOf(typeOf(tensor), memory.at(tensor.id));
    Elements result;
    for (int64_t i = 0; i < tensor.count(); ++i)
      result.push_back(array.get(tensor.offset(tensor.indices(i))));
    return result;
  }

  void write(const GraphTensor &tensor, const Elements &elements) {
    // Values that never are in memory have their type's precision all the same.
    std::vector<float> scratch(elements.size());
    Array array =
        arrayOf(typeOf(tensor),
                tensor.isVirtual ? scratch.data() : memory.at(tensor.id));
    Elements &kept = values[tensor.id];
    kept.clear();
    for (int64_t i = 0; i < tensor.count(); ++i) {
      int64_t place = tensor.isVirtual ? i : tensor.offset(tensor.indices(i));
      array.set(place, elements[size_t(i)]);
      kept.push_back(array.get(place));
    }
  }

  Elements compute(const Operation &op) {
    switch (op.type) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return multiply(op);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return reduce(op);
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return reshape(op);
    default:
      return pointwise(op);
    }
  }

  Elements multiply(const Operation &op) {
    Elements a = read(op.inputs[0]), b = read(op.inputs[1]), result;
    int64_t terms = op.inputs[0].dims[3];
    for (int64_t i = 0; i < op.result.count(); ++i) {
      Numbers place = op.result.indices(i);
      double sum = 0;
      for (int64_t k = 0; k < terms; ++k)
        sum += a[size_t(
                   op.inputs[0].elementAt({place[0], place[1], place[2], k}))] *
               b[size_t(
                   op.inputs[1].elementAt({place[0], place[1], k, place[3]}))];
      result.push_back(sum);
    }
    return result;
  }

  Elements reduce(const Operation &op) {
    bool isSum = op.mode == CUDNN_REDUCE_TENSOR_ADD;
    Elements input = read(op.inputs[0]);
    Elements result(size_t(op.result.count()),
                    isSum ? 0 : -std::numeric_limits<double>::infinity());
    for (int64_t i = 0; i < op.inputs[0].count(); ++i) {
      double &sum =
          result[size_t(op.result.elementAt(op.inputs[0].indices(i)))];
      sum = isSum ? sum + input[size_t(i)] : std::max(sum, input[size_t(i)]);
    }
    return result;
  }

  /// The same memory in another order: a value that is in none lies in the
  /// order of its dims.
  Elements reshape(const Operation &op) {
    const GraphTensor &from = op.inputs[0];
    std::map<int64_t, double> byOffset;
    Elements input = read(from), result;
    for (int64_t i = 0; i < from.count(); ++i)
      byOffset[from.offset(from.indices(i))] = input[size_t(i)];
    for (int64_t i = 0; i < op.result.count(); ++i)
      result.push_back(byOffset.at(op.result.offset(op.result.indices(i))));
    return result;
  }

  static int64_t channelOf(const Operation &op, int64_t element) {
    return op.result.indices(element)[1];
  }

  /// Sums over each channel's elements.
  template <typename F> Elements sums(const Operation &op, F term) {
    Elements result(size_t(op.result.dims[1]), 0);
    for (int64_t i = 0; i < op.result.count(); ++i) {
      size_t c = size_t(channelOf(op, i));
      result[c] += term(size_t(i), c);
    }
    return result;
  }

  void normalize(const Operation &op) {
    Elements x = read(op.inputs[0]), scale = read(op.inputs[1]),
             bias = read(op.inputs[2]);
    double count = double(op.result.count() / op.result.dims[1]);
    Elements mean, inverse;
    if (op.isGivenNorm()) {
      mean = read(op.inputs[3]);
      inverse = read(op.inputs[4]);
    } else {
      mean = sums(op, [&](size_t i, size_t) { return x[i] / count; });
      Elements variance = sums(op, [&](size_t i, size_t c) {
        return (x[i] - mean[c]) * (x[i] - mean[c]) / count;
      });
      double epsilon = read(op.inputs[3])[0];
      for (double value : variance)
        inverse.push_back(1 / std::sqrt(value + epsilon));
      write(op.perChannel[0], mean);
      write(op.perChannel[1], inverse);
    }
    Elements y(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      size_t c = size_t(channelOf(op, int64_t(i)));
      y[i] = (x[i] - mean[c]) * inverse[c] * scale[c] + bias[c];
    }
    write(op.result, y);
  }

  void normalizeBackward(const Operation &op) {
    Elements x = read(op.inputs[0]), scale = read(op.inputs[1]),
             mean = read(op.inputs[2]), inverse = read(op.inputs[3]),
             grad = read(op.inputs[4]);
    double count = double(op.result.count() / op.result.dims[1]);
    auto normed = [&](size_t i, size_t c) {
      return (x[i] - mean[c]) * inverse[c];
    };
    Elements biasGrad = sums(op, [&](size_t i, size_t) { return grad[i]; });
    Elements scaleGrad =
        sums(op, [&](size_t i, size_t c) { return grad[i] * normed(i, c); });
    Elements result(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      size_t c = size_t(channelOf(op, int64_t(i)));
      result[i] =
          scale[c] * inverse[c] *
          (grad[i] - (biasGrad[c] + normed(i, c) * scaleGrad[c]) / count);
    }
    write(op.result, result);
    write(op.perChannel[0], scaleGrad);
    write(op.perChannel[1], biasGrad);
  }

  Elements pointwise(const Operation &op) {
    std::vector<Elements> inputs;
    for (const GraphTensor &input : op.inputs)
      inputs.push_back(read(input));
    Elements result;
    for (int64_t i = 0; i < op.result.count(); ++i) {
      Numbers place = op.result.indices(i);
      if (op.mode == CUDNN_POINTWISE_GEN_INDEX) {
        result.push_back(double(place[size_t(op.axis)]));
        continue;
      }
      double x[3] = {};
      for (size_t k = 0; k < inputs.size(); ++k)
        x[k] = inputs[k][size_t(op.inputs[k].elementAt(place))];
      bool keeps = op.propagatesNan && std::isnan(x[0]);
      result.push_back(keeps ? x[0] : apply(op.mode, x));
    }
    return result;
  }

  static double apply(int mode, const double *x) {
    switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return x[0] + x[1];
    case CUDNN_POINTWISE_SUB:
      return x[0] - x[1];
    case CUDNN_POINTWISE_MUL:
      return x[0] * x[1];
    case CUDNN_POINTWISE_DIV:
      return x[0] / x[1];
    case CUDNN_POINTWISE_EXP:
      return std::exp(x[0]);
    case CUDNN_POINTWISE_LOG:
      return std::log(x[0]);
    case CUDNN_POINTWISE_CMP_GE:
      return x[0] >= x[1];
    case CUDNN_POINTWISE_BINARY_SELECT:
      return x[2] != 0 ? x[0] : x[1];
    case CUDNN_POINTWISE_RELU_FWD:
      return x[0] > 0 ? x[0] : 0;
    case CUDNN_POINTWISE_RELU_BWD: // the gradient, then what ReLU is of
      return x[1] > 0 ? x[0] : 0;
    case CUDNN_POINTWISE_IDENTITY:
      return x[0];
    default:
      return std::nan("");
    }
  }

  std::vector<Operation> operations;
  std::map<int64_t, void *> memory;
  std::map<int64_t, Elements> values;
};

/// An engine for attention: 16 bits in memory but for statistics and sums,
/// heads of a multiple of 8 elements.
bool isAttention(const std::vector<Operation> &operations) {
  int products = 0;
  for (const Operation &op : operations) {
    if (op.type != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
      continue;
    ++products;
    for (const GraphTensor &input : op.inputs)
      if (!input.isVirtual && !input.isSixteenBits())
        return false;
  }
  return products == 2 || products == 5;
}

/// A convolution, or a pooling, alone.
bool isImageOperation(const std::vector<Operation> &operations) {
  if (operations.size() != 1)
    return false;
  const Operation &op = operations.front();
  Engine engine(operations, {});
  if (op.isConvolution())
    return engine.convolutionOf(op).isSound();
  return op.isPooling() && engine.poolingOf(op).isSound();
}

/// Images of 16 bits, channels last, a multiple of 8 of them.
bool isNormImage(const GraphTensor &image) {
  return image.isSixteenBits() && !image.isVirtual && image.dims.size() >= 4 &&
         image.dims.size() <= 5 && image.strides[1] == 1 &&
         image.dims[1] % 8 == 0;
}

/// Whether the library fuses these with a batch norm: a ReLU behind it, perhaps
/// of a sum; before its gradient, that of a ReLU of the norm by given moments.
/// The values between them are in no memory.
bool isNorm(const std::vector<Operation> &operations) {
  auto isPointwise = [&](size_t i, int mode) {
    return operations[i].type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR &&
           operations[i].mode == mode;
  };
  size_t count = operations.size();
  if (count < 2 || count > 3)
    return false;
  for (size_t i = 0; i + 1 < count; ++i)
    if (!operations[i].result.isVirtual)
      return false;
  const Operation &first = operations.front(), &last = operations.back();
  if (!isNormImage(first.inputs[0]) || !isNormImage(last.result))
    return false;
  if (first.isTrainingNorm())
    return isPointwise(count - 1, CUDNN_POINTWISE_RELU_FWD) &&
           (count == 2 || isPointwise(1, CUDNN_POINTWISE_ADD));
  return count == 3 && first.isGivenNorm() &&
         isPointwise(1, CUDNN_POINTWISE_RELU_BWD) &&
         operations[1].result.isSixteenBits() && last.isNormGradient();
}

} // namespace

bool isSupported(const std::vector<Operation> &operations) {
  return isAttention(operations) || isNorm(operations) ||
         isImageOperation(operations);
}

void computeGraph(const std::vector<Operation> &operations,
                  const std::map<int64_t, void *> &memory) {
  Engine(operations, memory).run();
}

std::vector<Operation> operationsOf(const Descriptor &graph) {
  std::vector<Operation> operations;
  for (auto op :
       graph.list<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATIONGRAPH_OPS))
    operations.push_back(Operation::of(at(op)));
  return operations;
}

bool isSound(const std::vector<Operation> &operations) {
  std::set<int64_t> known;
  for (const Operation &op : operations) {
    for (const GraphTensor &input : op.inputs)
      if (input.isVirtual && !known.count(input.id))
        return false;
    known.insert(op.result.id);
    const std::vector<GraphTensor> &in = op.inputs;
    bool fits = true;
    // Tensors that meet have as many dims.
    if (op.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
      for (const GraphTensor &input : in)
        fits = fits && input.dims.size() == op.result.dims.size();
    if (op.type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
      fits = in[0].dims[3] == in[1].dims[2] &&
             op.result.dims == Numbers{in[0].dims[0], in[0].dims[1],
                                       in[0].dims[2], in[1].dims[3]};
    else if (op.type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)
      fits = in[0].count() == op.result.count();
    if (!fits)
      return false;
  }
  return true;
}

} // namespace zc::test
