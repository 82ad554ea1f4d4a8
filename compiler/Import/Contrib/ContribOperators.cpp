#include "compiler/Import/Contrib/ContribOperators.h"

#include "llvm/ADT/StringMap.h"

using namespace zc;

// The one table: an operator, and what makes its body.
ContribBody zc::findContribBody(const proto::NodeProto &node) {
  static const llvm::StringMap<ContribBody> bodies = {
      {"Attention", buildAttention},
      {"BiasGelu", buildBiasGelu},
      {"BiasSoftmax", buildBiasSoftmax},
      {"EmbedLayerNormalization", buildEmbedLayerNorm},
      {"FastGelu", buildFastGelu},
      {"FusedConv", buildFusedConv},
      {"FusedGemm", buildFusedGemm},
      {"FusedMatMul", buildFusedMatMul},
      {"FusedMatMulActivation", buildFusedMatMul},
      {"Gelu", buildGelu},
      {"GroupQueryAttention", buildGroupQueryAttention},
      {"MoE", buildMoE},
      {"MultiHeadAttention", buildMultiHeadAttention},
      {"QMoE", buildQMoE},
      {"QuickGelu", buildQuickGelu},
      {"RotaryEmbedding", buildRotaryEmbedding},
      {"SimplifiedLayerNormalization", buildRmsNorm},
      {"SkipLayerNormalization", buildSkipLayerNorm},
      {"SkipSimplifiedLayerNormalization", buildSkipRmsNorm},
      {"TransposeMatMul", buildFusedMatMul},
  };
  // ONNX Runtime calls this one an operator of ONNX's own domain.
  bool isMisplaced =
      node.domain().empty() && node.op_type() == "SimplifiedLayerNormalization";
  if (node.domain() != "com.microsoft" && !isMisplaced)
    return nullptr;
  return bodies.lookup(node.op_type());
}
