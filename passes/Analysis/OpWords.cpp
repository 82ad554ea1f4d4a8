//===- OpWords.cpp - what people call an op -------------------------------===//
#include "passes/Analysis/OpWords.h"

#include "dialects/Train/RolePrograms.h"
#include "dialects/Train/TrainDialect.h"

#include "llvm/ADT/StringSwitch.h"

#include <algorithm>

using namespace mlir;

namespace zc {

/// Where the words are not the op's name with spaces; else empty.
static StringRef knownWords(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"matmul", "matmul_add"}, "a matrix product")
      .Case("conv", "a convolution")
      .Case("conv_filter_grad", "the gradient of a convolution's filters")
      .Case("conv_input_grad", "the gradient of a convolution's input")
      .Case("add", "an addition")
      .Case("sub", "a subtraction")
      .Case("mul", "a multiplication")
      .Case("div", "a division")
      .Case("reduce", "a sum")
      .Case("softmax_cross_entropy", "cross-entropy")
      .Case("softmax_cross_entropy_grad", "cross-entropy's gradient")
      .Case("gather", "an indexed read")
      .Cases({"scatter_add", "scatter_reduce"}, "an indexed update")
      .Case("gelu", "GELU")
      .Case("relu", "ReLU")
      .Case("all_gather", "all-gather")
      .Case("all_reduce", "all-reduce")
      .Case("reduce_scatter", "reduce-scatter")
      .Case("all_to_all", "all-to-all")
      .Default("");
}

std::string wordsFor(Operation *op) {
  StringRef name = op->getName().stripDialect();
  if (StringRef known = knownWords(name); !known.empty())
    return known.str();
  bool isGradient = name.consume_back("_grad");
  std::string words = name.str();
  std::replace(words.begin(), words.end(), '_', ' ');
  return isGradient ? words + "'s gradient" : words;
}

std::string wordsFor(ShapedType type) {
  if (type.getRank() == 0)
    return "a scalar";
  std::string words;
  for (int64_t size : type.getShape())
    words += (words.empty() ? "[" : ", ") + std::to_string(size);
  return words + "]";
}

std::string wordsForProgram(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Cases({train::kStepProgram, train::kMicroProgram}, "the step")
      .Case(train::kForwardProgram, "the forward")
      .Case(train::kBackwardProgram, "the backward")
      .Case(train::kWeightsProgram, "the parameters' gradients")
      .Case(train::kApplyProgram, "the update")
      .Case(train::kEvalProgram, "evaluation")
      .Default(name)
      .str();
}

} // namespace zc
