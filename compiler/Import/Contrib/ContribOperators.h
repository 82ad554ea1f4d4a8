// Operators that ONNX Runtime's optimizers write, by standard ones.
#ifndef ZC_COMPILER_IMPORT_CONTRIB_CONTRIBOPERATORS_H
#define ZC_COMPILER_IMPORT_CONTRIB_CONTRIBOPERATORS_H

#include "compiler/Import/Contrib/ContribCall.h"

namespace zc {

/// Fills in the body of a call. A failure says what is not opened.
using ContribBody = llvm::Error (*)(ContribCall &);

/// Null for an operator that is not in the table.
ContribBody findContribBody(const proto::NodeProto &node);

// Of each family, a file.
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

} // namespace zc

#endif
