// Trained weights back into the author's model.
#ifndef ZC_COMPILER_ONNXMODEL_TRAINEDMODEL_H
#define ZC_COMPILER_ONNXMODEL_TRAINEDMODEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zc {

/// A tensor as the author's model declares it.
struct ModelTensorType {
  int32_t dataType;
  llvm::ArrayRef<int64_t> dims;
  uint64_t bytes;
};

/// The new content of a tensor.
struct ModelTensorBytes {
  std::string_view bytes;
  /// float32 numbers, for which a tensor of integers stands by the scale and
  /// zero point of its DequantizeLinear.
  bool areReal = false;
};

struct TrainedModel {
  std::string model; // a serialized ModelProto
  /// The external data file's parts, one after another, each at the offset that
  /// the model says; empty: everything is inline.
  struct Part {
    uint64_t offset;
    std::string_view bytes;
  };
  std::vector<Part> parts;
  std::deque<std::string> made; // bytes that the parts show
};

/// Fills the tensors of `graph`, a model as an artifact stores it, with what
/// `getBytes` gives, row-major and little-endian, for their keys (empty: the
/// graph has the bytes itself) and names (empty: no weight, see findWeights);
/// nothing leaves a tensor as it is; real numbers are quantised. With more than
/// `inlineLimit` bytes in all they go into an external file called `dataName`.
/// The result has passed ONNX's checker.
llvm::Expected<TrainedModel> makeTrainedModel(
    std::string_view graph, const std::string &dataName, uint64_t inlineLimit,
    const std::function<llvm::Expected<std::optional<ModelTensorBytes>>(
        const std::string &key, const std::string &name,
        const ModelTensorType &type)> &getBytes);

} // namespace zc

#endif
