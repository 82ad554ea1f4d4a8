// Weights that a model stores as integers, of trained numbers.
#ifndef ZC_COMPILER_ONNXMODEL_INTEGERWEIGHTS_H
#define ZC_COMPILER_ONNXMODEL_INTEGERWEIGHTS_H

#include "compiler/OnnxModel/Proto.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>
#include <string_view>

namespace zc {

class IntegerWeights {
public:
  /// `model`: whose DequantizeLinear nodes say what integers stand for.
  explicit IntegerWeights(const proto::ModelProto &model);

  /// Fills tensor `name` with these bytes, in place of the model's.
  void setBytes(const std::string &name, std::string_view bytes);

  /// The bytes of integer tensor `tensor` that stand for the float32 numbers
  /// `real`, one each: numbers beyond the type's range are its ends. Fails when
  /// no node dequantises it by a stored scale for all or for each place along
  /// an axis.
  llvm::Expected<std::string> quantise(const proto::TensorProto &tensor,
                                       std::string_view real) const;

private:
  llvm::Expected<std::string> read(const std::string &name,
                                   int32_t &dataType) const;

  llvm::StringMap<const proto::NodeProto *> nodes; // by what they dequantise
  llvm::StringMap<const proto::TensorProto *> tensors;
  llvm::StringMap<std::string_view> filled;
};

} // namespace zc

#endif
