// Linear models of ai.onnx.ml, whose weights are attributes.
#ifndef ZC_COMPILER_ONNXMODEL_LINEARMODELS_H
#define ZC_COMPILER_ONNXMODEL_LINEARMODELS_H

#include "compiler/OnnxModel/Proto.h"

namespace zc {

/// Each LinearRegressor and LinearClassifier of `graph` becomes the Gemm that
/// it is, with initializers NODE.coefficients and NODE.intercepts, and what
/// stands behind it; the scores are the value NODE.scores. One that does not
/// fit its operator stays as it is.
void openLinearModels(proto::GraphProto &graph);

} // namespace zc

#endif
