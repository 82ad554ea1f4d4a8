// Operators that ONNX Runtime's optimizers and quantisers write, by standard
// ones; of ONNX's own those on whole numbers.
#ifndef ZC_COMPILER_IMPORT_CONTRIB_CONTRIBOPERATORS_H
#define ZC_COMPILER_IMPORT_CONTRIB_CONTRIBOPERATORS_H

#include "compiler/Import/Contrib/ContribCall.h"

namespace zc {

/// Fills in the body of a call. A failure says what is not opened.
using ContribBody = llvm::Error (*)(ContribCall &);

/// Null for an operator that is not in the table.
ContribBody findContribBody(const proto::NodeProto &node);

// Each family of these functions has a file.
llvm::Error buildBiasGelu(ContribCall &call);
llvm::Error buildFastGelu(ContribCall &call);
llvm::Error buildQuickGelu(ContribCall &call);
llvm::Error buildGelu(ContribCall &call);
llvm::Error buildFusedMatMul(ContribCall &call);
llvm::Error buildFusedGemm(ContribCall &call);
llvm::Error buildFusedConv(ContribCall &call);
llvm::Error buildBiasSoftmax(ContribCall &call);
llvm::Error buildSkipLayerNorm(ContribCall &call);
llvm::Error buildSkipRmsNorm(ContribCall &call);
llvm::Error buildRmsNorm(ContribCall &call);
llvm::Error buildEmbedLayerNorm(ContribCall &call);
llvm::Error buildMoE(ContribCall &call);
llvm::Error buildQMoE(ContribCall &call);
llvm::Error buildAttention(ContribCall &call);
llvm::Error buildMultiHeadAttention(ContribCall &call);
llvm::Error buildGroupQueryAttention(ContribCall &call);
llvm::Error buildRotaryEmbedding(ContribCall &call);
llvm::Error buildGemmaRotaryEmbedding(ContribCall &call);
// These are for ai.onnx.ml.
llvm::Error buildArrayFeatureExtractor(ContribCall &call);
llvm::Error buildBinarizer(ContribCall &call);
llvm::Error buildFeatureVectorizer(ContribCall &call);
llvm::Error buildImputer(ContribCall &call);
llvm::Error buildNormalizer(ContribCall &call);
llvm::Error buildOneHotEncoder(ContribCall &call);
llvm::Error buildScaler(ContribCall &call);
llvm::Error buildTrees(ContribCall &call);
// These are for quantised tensors.
llvm::Error buildQLinearMatMul(ContribCall &call);
llvm::Error buildQLinearConv(ContribCall &call);
llvm::Error buildQGemm(ContribCall &call);
llvm::Error buildMatMulInteger(ContribCall &call);
llvm::Error buildConvInteger(ContribCall &call);
llvm::Error buildMatMulIntegerToFloat(ContribCall &call);
llvm::Error buildDynamicQuantizeMatMul(ContribCall &call);
llvm::Error buildQLinearAdd(ContribCall &call);
llvm::Error buildQLinearMul(ContribCall &call);
llvm::Error buildQLinearSigmoid(ContribCall &call);
llvm::Error buildQLinearLeakyRelu(ContribCall &call);
llvm::Error buildQLinearSoftmax(ContribCall &call);
llvm::Error buildQLinearGlobalAveragePool(ContribCall &call);
llvm::Error buildQLinearAveragePool(ContribCall &call);
llvm::Error buildQLinearReduceMean(ContribCall &call);
llvm::Error buildQLinearConcat(ContribCall &call);
llvm::Error buildQLinearWhere(ContribCall &call);
llvm::Error buildQuantizeLinear(ContribCall &call);
llvm::Error buildDequantizeLinear(ContribCall &call);
llvm::Error buildMatMulNBits(ContribCall &call);
llvm::Error buildDynamicQuantizeLSTM(ContribCall &call);

} // namespace zc

#endif
