#include "compiler/Import/OperatorRoles.h"

#include "llvm/ADT/StringSwitch.h"

using namespace zc;
using llvm::StringRef;

bool zc::isParameterOperand(StringRef op, unsigned index) {
  return llvm::StringSwitch<bool>(op)
      .Case("MatMul", index <= 1)
      .Cases({"Gemm", "Conv", "ConvTranspose"}, index == 1 || index == 2)
      .Case("Gather", index == 0)
      .Cases({"BatchNormalization", "LayerNormalization", "GroupNormalization",
              "InstanceNormalization"},
             index == 1 || index == 2)
      .Cases({"RMSNormalization", "SimplifiedLayerNormalization"}, index == 1)
      .Cases({"LSTM", "GRU", "RNN"}, index >= 1 && index <= 3)
      .Default(false);
}

bool zc::isInitialState(StringRef op, unsigned index) {
  return llvm::StringSwitch<bool>(op)
      .Case("LSTM", index == 5 || index == 6)
      .Cases({"GRU", "RNN"}, index == 5)
      .Default(false);
}

bool zc::isSlopeOperand(StringRef op, unsigned index) {
  return op == "PRelu" && index == 1;
}

bool zc::isStatisticOperand(StringRef op, unsigned index) {
  return op == "BatchNormalization" && index >= 3;
}

bool zc::hasBiasBehind(StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"MatMul", "Gemm", "Conv", "ConvTranspose"}, true)
      .Default(false);
}

bool zc::keepsParameter(StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"Transpose", "Reshape", "Cast", "Identity"}, true)
      .Cases({"Unsqueeze", "Squeeze", "Flatten"}, true)
      .Default(isQuantisation(op));
}

bool zc::isQuantisation(StringRef op) {
  return op == "QuantizeLinear" || op == "DequantizeLinear";
}

bool zc::isStep(StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"Floor", "Ceil", "Round", "Sign", "Shape", "Size"}, true)
      .Cases({"ConstantOfShape", "EyeLike", "OneHot", "Bernoulli"}, true)
      .Cases({"RandomNormalLike", "RandomUniformLike"}, true)
      .Cases({"NonMaxSuppression", "NonZero"}, true)
      .Case(kStopGradient, true)
      .Default(false);
}

bool zc::isSetting(StringRef op, unsigned index) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"Resize", "Upsample", "Dropout", "Clip", "Pad"}, index >= 1)
      .Default(isQuantisation(op) && index >= 1);
}
