//===- AttentionSupport.h - what attention and its gradient share -*- C++ -*-=//
#ifndef ZC_DIALECTS_TRAIN_OPS_ATTENTIONSUPPORT_H
#define ZC_DIALECTS_TRAIN_OPS_ATTENTIONSUPPORT_H

#include "dialects/Train/Ops/RowSupport.h"

namespace zc::train {

/// The type of `log_sum_exp` for a query's type.
mlir::RankedTensorType logSumExpType(mlir::RankedTensorType query);

/// The type of the result for a query's and a value's, which have four dims.
mlir::RankedTensorType attentionResultType(mlir::RankedTensorType query,
                                           mlir::RankedTensorType value);

/// Checks that query, key and value fit one another.
mlir::LogicalResult verifyAttention(mlir::Operation *op,
                                    mlir::RankedTensorType query,
                                    mlir::RankedTensorType key,
                                    mlir::RankedTensorType value, bool causal,
                                    mlir::Value mask);

/// The property `tokens` of an attention or of its gradient, which says how a
/// rank gets the keys; nothing: it has none, or is neither.
std::optional<KeySource> getKeySource(mlir::Operation *attention);
void setKeySource(mlir::Operation *attention, std::optional<KeySource> source);

/// Whether it gathers all keys, and whether tokens are in zigzag order.
bool isGather(std::optional<KeySource> source);
bool isZigzag(std::optional<KeySource> source);

/// Samples and heads are parallel, all else is whole, but tokens with
/// `tokens`. Operands and results of 3 dims are [batch, heads, queries],
/// operand number `mask` is a mask.
ShardingRule attentionShardingRule(mlir::Operation *op, unsigned mask);

/// Whether an operand says which key is the last that each query attends, and
/// is no mask that is added; null: no.
bool saysLastKeys(mlir::Value mask);

/// Floating-point operations of one product of queries and keys, or, with the
/// type of results as `query`, of weights and values. Where
/// `isPartial`, by a causal mask or by the queries' last keys, as many as ranks
/// that divide the queries have on average.
double attentionProductFlops(mlir::RankedTensorType query,
                             mlir::RankedTensorType key, bool isPartial);

/// The rows that one query at `at` ({sample, query, head}) works on.
struct AttentionRow {
  /// `buffer`, of queries, at the query: [width].
  static mlir::Value ofQuery(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value buffer, Indices at);
  /// `buffer`, a mask, at the query: [keys].
  static mlir::Value ofMask(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value buffer, Indices at);
  /// `buffer`, of keys, at the sample and head: [keys, width].
  static mlir::Value ofKeys(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value buffer, Indices at);
};

/// sums[i] = rows[i] . row
void buildRowProducts(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value rows, mlir::Value row, mlir::Value sums);

/// sum += weights[i] rows[i]
void buildWeightedRows(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value weights, mlir::Value rows, mlir::Value sum);

/// scores[i] *= scale, or minus infinity where i > last; null: nowhere.
void buildMaskedScale(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value scores, double scale,
                      mlir::OpFoldResult last);

/// The last key that the query at `at` attends, by a causal mask or by `mask`
/// where that says it; null: all keys.
mlir::OpFoldResult buildLastKey(mlir::OpBuilder &builder, mlir::Location loc,
                                bool causal, mlir::Value mask, Indices at);

/// Where a mask hides all of a query's keys by numbers that are finite, scores
/// are lost in them: a log sum exp below this says so. Keys of the largest of
/// these numbers count alike, others not.
constexpr double kAllHidden = -1e8;

/// Whether a log sum exp, or the largest of a row's scores, is one of such
/// numbers; `largest`: some of the row's own keys are not at minus infinity.
mlir::Value buildHidden(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value sum, mlir::Value largest);

/// The log sum exp of a row, below kAllHidden where `hidden` (buildHidden) says
/// so, by which the gradient knows it: what the mask alone says may not be.
mlir::Value buildHiddenLog(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value logSum, mlir::Value hidden);

/// scores[i] += mask[i], and the mask's numbers alone where these hide all
/// keys: scores are lost in them, also where an element type would tell them
/// apart. `sum`: the row's log sum exp over all keys; null: over these. Returns
/// the largest of the sums.
mlir::Value buildMaskedScores(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value mask, mlir::Value scores,
                              mlir::Value scratch,
                              mlir::Value sum = mlir::Value());

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OPS_ATTENTIONSUPPORT_H
