#include "compiler/Import/Contrib/ContribOperators.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace zc;

// The one table: an operator, and what makes its body.
ContribBody zc::findContribBody(const proto::NodeProto &node) {
  static const llvm::StringMap<ContribBody> bodies = {
      {"Attention", buildAttention},
      {"BiasGelu", buildBiasGelu},
      {"BiasSoftmax", buildBiasSoftmax},
      {"ConvInteger", buildConvInteger},
      {"DequantizeLinear", buildDequantizeLinear},
      {"DynamicQuantizeLSTM", buildDynamicQuantizeLSTM},
      {"DynamicQuantizeMatMul", buildDynamicQuantizeMatMul},
      {"EmbedLayerNormalization", buildEmbedLayerNorm},
      {"FastGelu", buildFastGelu},
      {"FusedConv", buildFusedConv},
      {"FusedGemm", buildFusedGemm},
      {"FusedMatMul", buildFusedMatMul},
      {"FusedMatMulActivation", buildFusedMatMul},
      {"Gelu", buildGelu},
      {"GemmaRotaryEmbedding", buildGemmaRotaryEmbedding},
      {"GroupQueryAttention", buildGroupQueryAttention},
      {"MatMulInteger", buildMatMulInteger},
      {"MatMulIntegerToFloat", buildMatMulIntegerToFloat},
      {"MatMulNBits", buildMatMulNBits},
      {"MoE", buildMoE},
      {"MultiHeadAttention", buildMultiHeadAttention},
      {"QGemm", buildQGemm},
      {"QLinearAdd", buildQLinearAdd},
      {"QLinearAveragePool", buildQLinearAveragePool},
      {"QLinearConcat", buildQLinearConcat},
      {"QLinearConv", buildQLinearConv},
      {"QLinearGlobalAveragePool", buildQLinearGlobalAveragePool},
      {"QLinearLeakyRelu", buildQLinearLeakyRelu},
      {"QLinearMatMul", buildQLinearMatMul},
      {"QLinearMul", buildQLinearMul},
      {"QLinearReduceMean", buildQLinearReduceMean},
      {"QLinearSigmoid", buildQLinearSigmoid},
      {"QLinearSoftmax", buildQLinearSoftmax},
      {"QLinearWhere", buildQLinearWhere},
      {"QMoE", buildQMoE},
      {"QuantizeLinear", buildQuantizeLinear},
      {"QuickGelu", buildQuickGelu},
      {"RotaryEmbedding", buildRotaryEmbedding},
      {"SimplifiedLayerNormalization", buildRmsNorm},
      {"SkipLayerNormalization", buildSkipLayerNorm},
      {"SkipSimplifiedLayerNormalization", buildSkipRmsNorm},
      {"TransposeMatMul", buildFusedMatMul},
  };
  static const llvm::StringMap<ContribBody> features = {
      {"ArrayFeatureExtractor", buildArrayFeatureExtractor},
      {"Binarizer", buildBinarizer},
      {"FeatureVectorizer", buildFeatureVectorizer},
      {"Imputer", buildImputer},
      {"Normalizer", buildNormalizer},
      {"OneHotEncoder", buildOneHotEncoder},
      {"Scaler", buildScaler},
      {"TreeEnsemble", buildTrees},
      {"TreeEnsembleClassifier", buildTrees},
      {"TreeEnsembleRegressor", buildTrees},
  };
  if (node.domain() == "ai.onnx.ml")
    return features.lookup(node.op_type());
  // These operators are in ONNX's own domain; ONNX Runtime puts the first
  // there.
  static const llvm::StringSet<> standard = {"SimplifiedLayerNormalization",
                                             "QLinearMatMul", "QLinearConv",
                                             "MatMulInteger", "ConvInteger"};
  bool isStandard = node.domain().empty() && standard.contains(node.op_type());
  if (node.domain() != "com.microsoft" && !isStandard)
    return nullptr;
  return bodies.lookup(node.op_type());
}
