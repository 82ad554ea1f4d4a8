#include "runtime/Device/Cuda/Advice.h"
#include "runtime/Device/Cuda/CudaCalls.h"

#include <limits>

namespace zc::cuda {
namespace {

using Tensor = DnnGraph::Tensor;
using Numbers = DnnGraph::Numbers;

/// The places of a launch's buffers.
enum Buffer { Q, K, V, O, LogSumExp, GradO, GradQ, GradK, GradV };

/// cuDNN finds its attention by the operations and their order, as its own
/// front end makes them: nothing here may be reordered or simplified.
class GraphBuilder {
public:
  GraphBuilder(DnnGraph &graph, const Dnn &dnn,
               const kernels::AttentionLaunch &launch)
      : graph(graph), dnn(dnn), launch(launch), b(launch.spec.batch),
        h(launch.spec.heads), sq(launch.spec.queries), sk(launch.spec.keys),
        d(launch.spec.width), type(launch.spec.type == kernels::ElementType::F16
                                       ? CUDNN_DATA_HALF
                                       : CUDNN_DATA_BFLOAT16) {}

  void forward() {
    Tensor q = tokens(Q, sq), k = transposed(K);
    Tensor scores = scaled(multiplied(q, k));
    if (launch.spec.causal)
      scores = causal(scores);
    Tensor largest = perQuery();
    graph.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, largest);
    Tensor shifted = perPair(), powers = perPair(), sum = perQuery();
    graph.pointwise(CUDNN_POINTWISE_SUB, {scores, largest}, shifted);
    graph.pointwise(CUDNN_POINTWISE_EXP, {shifted}, powers);
    graph.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, sum);
    if (launch.buffers[LogSumExp]) {
      Tensor logarithm = perQuery();
      graph.pointwise(CUDNN_POINTWISE_LOG, {sum}, logarithm);
      graph.pointwise(CUDNN_POINTWISE_ADD, {largest, logarithm}, statistics());
    }
    Tensor weights = graph.temporary(type, pairDims(), pairStrides());
    graph.pointwise(CUDNN_POINTWISE_DIV, {powers, sum}, weights);
    Tensor v = tokens(V, sk), o = tokens(O, sq);
    graph.multiply(weights, v, o);
  }

  /// `sums` [b, h, sq, 1] and `gradient` [b, h, sq, d] are float32 in the
  /// workspace; the latter adds up the gradient of q.
  void backward(float *sums, float *gradient) {
    Tensor q = tokens(Q, sq), k = transposed(K), v = transposed(V),
           o = tokens(O, sq), grad = tokens(GradO, sq);
    Tensor shares = sharesOfResult(o, grad, sums);
    Tensor scores = scaled(multiplied(q, k)), shifted = perPair();
    graph.pointwise(CUDNN_POINTWISE_SUB, {scores, statistics()}, shifted);
    if (launch.spec.causal)
      shifted = causal(shifted);
    Tensor weights = perPair();
    graph.pointwise(CUDNN_POINTWISE_EXP, {shifted}, weights);
    graph.multiply(turned(weights), grad, tokens(GradV, sk));
    Tensor slopes = multiplied(grad, v), centred = perPair(),
           weighted = perPair();
    graph.pointwise(CUDNN_POINTWISE_SUB, {slopes, shares}, centred);
    graph.pointwise(CUDNN_POINTWISE_MUL, {centred, weights}, weighted);
    Tensor gradScores = scaled(weighted);
    graph.multiply(turned(gradScores), q, tokens(GradK, sk));
    Tensor keys =
        graph.temporary(CUDNN_DATA_FLOAT, tokenDims(sk), tokenStrides(sk));
    graph.reshape(k, keys);
    Tensor sum = graph.inMemory(CUDNN_DATA_FLOAT, tokenDims(sq),
                                {h * sq * d, sq * d, d, 1}, gradient);
    graph.multiply(gradScores, keys, sum);
    graph.pointwise(CUDNN_POINTWISE_IDENTITY, {sum}, tokens(GradQ, sq));
  }

private:
  Numbers tokenDims(int64_t count) const { return {b, h, count, d}; }
  /// In memory tokens come before heads.
  Numbers tokenStrides(int64_t count) const {
    return {count * h * d, d, h * d, 1};
  }
  Tensor tokens(Buffer which, int64_t count) {
    return graph.inMemory(type, tokenDims(count), tokenStrides(count),
                          launch.buffers[which]);
  }
  Tensor transposed(Buffer which) {
    return graph.inMemory(type, {b, h, d, sk}, {sk * h * d, d, 1, h * d},
                          launch.buffers[which]);
  }

  Numbers pairDims() const { return {b, h, sq, sk}; }
  Numbers pairStrides() const { return {h * sq * sk, sq * sk, sk, 1}; }
  Tensor perPair(cudnnDataType_t element = CUDNN_DATA_FLOAT) {
    return graph.temporary(element, pairDims(), pairStrides());
  }

  Numbers queryDims() const { return {b, h, sq, 1}; }
  Numbers queryStrides() const { return {h * sq, sq, 1, 1}; }
  Tensor perQuery() {
    return graph.temporary(CUDNN_DATA_FLOAT, queryDims(), queryStrides());
  }
  Tensor statistics() {
    return graph.inMemory(CUDNN_DATA_FLOAT, queryDims(), queryStrides(),
                          launch.buffers[LogSumExp]);
  }

  Tensor multiplied(Tensor rows, Tensor columns) {
    Tensor result = perPair();
    graph.multiply(rows, columns, result);
    return result;
  }

  Tensor scaled(Tensor scores) {
    if (scale < 0)
      scale = graph.scalar(float(launch.spec.scale));
    Tensor result = perPair();
    graph.pointwise(CUDNN_POINTWISE_MUL, {scores, scale}, result);
    return result;
  }

  /// Minus infinity for keys behind the query.
  Tensor causal(Tensor scores) {
    Tensor row = perPair(CUDNN_DATA_INT32), column = perPair(CUDNN_DATA_INT32);
    graph.pointwise(CUDNN_POINTWISE_GEN_INDEX, {scores}, row, CUDNN_DATA_FLOAT,
                    2);
    graph.pointwise(CUDNN_POINTWISE_GEN_INDEX, {scores}, column,
                    CUDNN_DATA_FLOAT, 3);
    Tensor seen = perPair(CUDNN_DATA_BOOLEAN), result = perPair();
    graph.pointwise(CUDNN_POINTWISE_CMP_GE, {row, column}, seen,
                    CUDNN_DATA_BOOLEAN);
    // Older versions take infinity for no number.
    constexpr size_t kKnowsInfinity = 91000;
    Tensor hidden = graph.scalar(dnn.cudnnGetVersion() < kKnowsInfinity
                                     ? std::numeric_limits<float>::lowest()
                                     : -std::numeric_limits<float>::infinity());
    graph.pointwise(CUDNN_POINTWISE_BINARY_SELECT, {scores, hidden, seen},
                    result);
    return result;
  }

  /// The sums over `o` times its gradient.
  Tensor sharesOfResult(Tensor o, Tensor grad, float *sums) {
    // Strides as the front end has them; they are of no memory.
    Tensor products = graph.temporary(CUDNN_DATA_FLOAT, tokenDims(sq),
                                      {h * sq * d, sq * d, h * d, 1});
    graph.pointwise(CUDNN_POINTWISE_MUL, {grad, o}, products);
    Tensor sum = perQuery();
    graph.reduce(CUDNN_REDUCE_TENSOR_ADD, products, sum);
    Tensor result =
        graph.inMemory(CUDNN_DATA_FLOAT, queryDims(), queryStrides(), sums);
    graph.pointwise(CUDNN_POINTWISE_MUL, {sum, graph.scalar(1)}, result);
    return result;
  }

  /// Queries and keys the other way round, in 16 bits.
  Tensor turned(Tensor pairs) {
    Tensor result =
        graph.temporary(type, {b, h, sk, sq}, {h * sq * sk, sq * sk, 1, sk});
    graph.reshape(pairs, result);
    return result;
  }

  DnnGraph &graph;
  const Dnn &dnn;
  const kernels::AttentionLaunch &launch;
  int64_t b, h, sq, sk, d;
  cudnnDataType_t type;
  Tensor scale = -1;
};

/// Refuses versions of the library that are known to compute wrongly, in cases
/// that the compiler does not refuse.
Status checkVersion(const Dnn &dnn, const kernels::AttentionSpec &spec) {
  if (spec.masked || spec.bounded || spec.type == kernels::ElementType::F32)
    return makeError(StatusCode::Unsupported,
                     "cuDNN's attention is for 16 bits and without a mask");
  constexpr size_t kBrokenFirst = 91000, kBrokenLast = 91001;
  constexpr size_t kWholeTilesLast = 91500;
  constexpr int64_t kTile = 128;
  size_t version = dnn.cudnnGetVersion();
  if (version >= kBrokenFirst && version <= kBrokenLast)
    return makeError(StatusCode::Unsupported,
                     "its attention is wrong in versions 9.10.0 and 9.10.1; "
                     "install another version");
  if (spec.backward && version <= kWholeTilesLast && spec.keys % kTile != 0)
    return makeError(StatusCode::Unsupported,
                     "up to version 9.15 its gradient needs a multiple of ",
                     kTile, " keys; install a newer version");
  return Status();
}

uint64_t roundUp(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

ExecutableResult makeForward(DnnPlans &plans,
                             const kernels::AttentionLaunch &launch) {
  auto graph =
      std::make_shared<DnnGraph>(plans.library(), DnnGraph::Rounding::AnyOrder);
  GraphBuilder(*graph, plans.library(), launch).forward();
  return plans.make(std::move(graph), launch.workspace, launch.workspaceBytes);
}

/// Sums and the gradient of q in float32 come first in the workspace. The
/// library clears what it adds to (before version 9.6, older than any for CUDA
/// 13, it did not).
ExecutableResult makeGradient(DnnPlans &plans,
                              const kernels::AttentionLaunch &launch) {
  const kernels::AttentionSpec &spec = launch.spec;
  for (Buffer gradient : {GradQ, GradK, GradV})
    if (!launch.buffers[gradient])
      return makeError(StatusCode::Unsupported,
                       "its gradient leaves those of q, k and v, all of them");
  uint64_t queries = uint64_t(spec.batch * spec.heads * spec.queries);
  uint64_t sums = roundUp(4 * queries);
  uint64_t own = sums + roundUp(4 * queries * uint64_t(spec.width));
  if (launch.workspaceBytes < own)
    return makeError(StatusCode::Unsupported, "attention's gradient needs ",
                     own, " bytes of workspace, and ", launch.workspaceBytes,
                     " are planned");
  char *workspace = static_cast<char *>(launch.workspace);
  char *gradient = workspace + sums;
  auto graph =
      std::make_shared<DnnGraph>(plans.library(), DnnGraph::Rounding::AnyOrder);
  GraphBuilder(*graph, plans.library(), launch)
      .backward(reinterpret_cast<float *>(workspace),
                reinterpret_cast<float *>(gradient));
  return plans.make(std::move(graph), workspace + own,
                    launch.workspaceBytes - own);
}

std::string describe(const kernels::AttentionSpec &spec) {
  return strCat(spec.causal ? "causal attention" : "attention",
                spec.backward ? "'s gradient" : "", " in ",
                kernels::nameOfType(spec.type), " of ", spec.batch, " x ",
                spec.queries, " queries to ", spec.keys, " keys, ", spec.heads,
                " heads of ", spec.width);
}

} // namespace

ExecutableResult makeCall(LibraryHandles &libraries,
                          const kernels::AttentionLaunch &launch) {
  ZC_ASSIGN_OR_RETURN(DnnPlans * plans, libraries.dnn());
  Status status = checkVersion(plans->library(), launch.spec);
  ExecutableResult made = status.ok() ? launch.spec.backward
                                            ? makeGradient(*plans, launch)
                                            : makeForward(*plans, launch)
                                      : ExecutableResult(status);
  return plans->advise(std::move(made), describe(launch.spec),
                       "cudnn.attention");
}

} // namespace zc::cuda
