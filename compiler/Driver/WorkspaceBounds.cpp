#include "compiler/Driver/WorkspaceBounds.h"

#include "compiler/Export/CollectiveShape.h"
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/ExpertOps.h"
#include "kernels/Cpu/Workspace.h"
#include "kernels/Cuda/Workspace.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace zc;

using Order = SmallVector<int64_t>;

// The tensor with dim i of the operand being dim order[i] in memory.
static kernels::StridedTensor makeTensor(Value value, ArrayRef<int64_t> order) {
  ArrayRef<int64_t> shape = cast<ShapedType>(value.getType()).getShape();
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  kernels::StridedTensor tensor;
  if (cast<ShapedType>(value.getType()).getElementType().isBF16())
    tensor.type = kernels::ElementType::BF16;
  for (int64_t dim : order) {
    tensor.dims.push_back(shape[dim]);
    tensor.strides.push_back(strides[dim]);
  }
  return tensor;
}

static Order getOrder(Value value) {
  return llvm::to_vector(
      llvm::seq<int64_t>(0, cast<ShapedType>(value.getType()).getRank()));
}

static Order getMatrixOrder(Value value, bool transposed) {
  Order order = getOrder(value);
  if (transposed)
    std::swap(order[order.size() - 2], order.back());
  return order;
}

// N, C, spatial, whatever the order in memory.
static Order getImageOrder(Value value, bool channelsLast) {
  Order order = getOrder(value);
  if (channelsLast)
    std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return order;
}

namespace {
/// The functions that bound the workspaces of a back end's libraries.
struct LibraryBounds {
  uint64_t (*matmul)(const kernels::MatmulSpec &, int threads);
  uint64_t (*convolution)(const kernels::ConvolutionSpec &, int threads);
  uint64_t (*attention)(const kernels::AttentionSpec &, int threads);
  uint64_t (*norm)(const kernels::NormSpec &, int threads);
  uint64_t (*groupedMatmul)(const kernels::GroupedMatmulSpec &, int threads);
};
} // namespace

template <typename Op> static kernels::MatmulSpec makeMatmul(Op op) {
  kernels::MatmulSpec spec;
  spec.accumulate = std::is_same_v<Op, train::MatmulAddOp>;
  spec.a = makeTensor(op.getLhs(),
                      getMatrixOrder(op.getLhs(), op.getTransposeLhs()));
  spec.b = makeTensor(op.getRhs(),
                      getMatrixOrder(op.getRhs(), op.getTransposeRhs()));
  spec.c = makeTensor(op.getResult(), getOrder(op.getResult()));
  return spec;
}

template <typename Op>
static kernels::ConvolutionSpec
makeConvolution(Op op, kernels::ConvolutionKind kind, Value source,
                Value filter, Value destination) {
  kernels::ConvolutionSpec spec;
  spec.kind = kind;
  bool last = op.getChannelsLast();
  spec.source = makeTensor(source, getImageOrder(source, last));
  spec.filter = makeTensor(filter, getOrder(filter));
  spec.destination = makeTensor(destination, getImageOrder(destination, last));
  spec.strides = op.getStrides().vec();
  spec.dilations = op.getDilations().vec();
  spec.padsLow = op.getPadsLow().vec();
  spec.padsHigh = op.getPadsHigh().vec();
  spec.groups = op.getGroups();
  return spec;
}

template <typename Op> static kernels::AttentionSpec makeAttention(Op op) {
  ArrayRef<int64_t> q = op.getQuery().getType().getShape();
  kernels::AttentionSpec spec;
  spec.backward = std::is_same_v<Op, train::AttentionGradOp>;
  spec.batch = q[0];
  spec.queries = q[1];
  spec.keys = op.getKey().getType().getDimSize(1);
  spec.heads = q[2];
  spec.width = q[3];
  Type element = op.getQuery().getType().getElementType();
  if (element.isBF16())
    spec.type = kernels::ElementType::BF16;
  spec.masked = op.getMask() != nullptr;
  return spec;
}

template <typename Op> static kernels::NormSpec makeNorm(Op op) {
  kernels::NormSpec spec;
  spec.backward = std::is_same_v<Op, train::BatchNormGradOp>;
  spec.image = makeTensor(op.getInput(), getImageOrder(op.getInput(), true));
  return spec;
}

static kernels::GroupedMatmulSpec makeGroupedMatmul(Operation *op) {
  auto typeOf = [](Value value) { return cast<ShapedType>(value.getType()); };
  auto elementOf = [&](Value value) {
    return typeOf(value).getElementType().isBF16() ? kernels::ElementType::BF16
                                                   : kernels::ElementType::F32;
  };
  kernels::GroupedMatmulSpec spec;
  spec.gradient = isa<train::GroupedMatmulGradOp>(op);
  spec.transposed = op->hasAttr("transpose_weights");
  Value a = op->getOperand(0), c = op->getResult(0);
  spec.inner = typeOf(a).getShape().back();
  spec.rows = typeOf(a).getNumElements() / spec.inner;
  spec.columns = typeOf(c).getShape().back();
  spec.experts = typeOf(op->getOperand(3)).getDimSize(0);
  spec.type = elementOf(a);
  spec.resultType = elementOf(c);
  return spec;
}

static uint64_t boundCollective(dist::CollectiveOpInterface op) {
  std::optional<CollectiveShape> shape =
      getCollectiveShape(op, op->getName().stripDialect(), op.getAxes(),
                         cast<ShapedType>(op->getOperand(0).getType()),
                         cast<ShapedType>(op->getResult(0).getType()));
  return shape ? costOf(*shape).workspaceBytes : 0;
}

static uint64_t getBound(Operation *op, int threads,
                         const LibraryBounds &bounds) {
  using Kind = kernels::ConvolutionKind;
  return llvm::TypeSwitch<Operation *, uint64_t>(op)
      .Case<train::MatmulOp, train::MatmulAddOp>(
          [&](auto op) { return bounds.matmul(makeMatmul(op), threads); })
      .Case([&](train::ConvOp op) {
        return bounds.convolution(makeConvolution(op, Kind::Forward,
                                                  op.getInput(), op.getFilter(),
                                                  op.getResult()),
                                  threads);
      })
      .Case([&](train::ConvInputGradOp op) {
        return bounds.convolution(makeConvolution(op, Kind::BackwardInput,
                                                  op.getResult(),
                                                  op.getFilter(), op.getGrad()),
                                  threads);
      })
      .Case([&](train::ConvFilterGradOp op) {
        return bounds.convolution(makeConvolution(op, Kind::BackwardFilter,
                                                  op.getInput(), op.getResult(),
                                                  op.getGrad()),
                                  threads);
      })
      .Case<train::AttentionOp, train::AttentionGradOp>(
          [&](auto op) { return bounds.attention(makeAttention(op), threads); })
      .Case<train::BatchNormTrainingOp, train::BatchNormGradOp>(
          [&](auto op) { return bounds.norm(makeNorm(op), threads); })
      .Case<train::GroupedMatmulOp, train::GroupedMatmulGradOp>([&](auto op) {
        return bounds.groupedMatmul(makeGroupedMatmul(op), threads);
      })
      .Case([](dist::CollectiveOpInterface op) { return boundCollective(op); })
      .Default([](Operation *) { return uint64_t(0); });
}

uint64_t zc::getWorkspaceBound(Operation *op, int64_t threads) {
  return getBound(op, int(threads),
                  {kernels::matmulWorkspaceBound,
                   kernels::convolutionWorkspaceBound,
                   kernels::attentionWorkspaceBound,
                   [](const kernels::NormSpec &, int) { return uint64_t(0); },
                   kernels::groupedMatmulWorkspaceBound});
}

uint64_t zc::getCudaWorkspaceBound(Operation *op, int64_t threads) {
  return getBound(
      op, int(threads),
      {[](const kernels::MatmulSpec &spec, int) {
         return kernels::cuda::matmulWorkspaceBound(spec);
       },
       [](const kernels::ConvolutionSpec &spec, int) {
         return kernels::cuda::convolutionWorkspaceBound(spec);
       },
       [](const kernels::AttentionSpec &spec, int) {
         return kernels::cuda::attentionWorkspaceBound(spec);
       },
       [](const kernels::NormSpec &spec, int) {
         return kernels::cuda::normWorkspaceBound(spec);
       },
       [](const kernels::GroupedMatmulSpec &, int) { return uint64_t(0); }});
}
