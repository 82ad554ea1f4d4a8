//===- ExchangeHalos.cpp - --zc-exchange-halos ----------------------------===//
//
// A convolution over tokens needs a few of the neighbours', not all. Tokens are
// written as [ranks, a rank's]: between the blocks go their edges, and each
// rank convolves its own block with what it got. Along the ranks the window is
// of one place, and nothing is mixed.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Ops/ConvSupport.h"
#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Analysis/Tensors.h"
#include "passes/Sequence/Halos.h"
#include "passes/Sequence/Passes.h"
#include "passes/Sequence/TokenDims.h"
#include "passes/Sequence/TokenInputs.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_EXCHANGEHALOSPASS
#include "passes/Sequence/Passes.h.inc"

namespace {

/// One convolution.
class HaloBuilder {
public:
  HaloBuilder(ConvOp op, int64_t parts, const Halo &halo)
      : op(op), parts(parts), halo(halo), dim(halo.place + 2), builder(op),
        loc(op.getLoc()) {}

  void run() {
    SmallVector<int64_t> shape(shapeOf(op.getInput()));
    shape[dim] = parts;
    shape.insert(shape.begin() + dim + 1, halo.block);
    Value blocks = reshape(builder, loc, op.getInput(), shape);
    Value all = addEdges(blocks);
    SmallVector<int64_t> filter(shapeOf(op.getFilter()));
    filter.insert(filter.begin() + dim, 1);
    SmallVector<int64_t> result(shapeOf(op.getResult()));
    const int64_t places = result[dim] / parts;
    result[dim] = parts;
    result.insert(result.begin() + dim + 1, places);
    SmallVector<int64_t> low = withOne(op.getPadsLow(), 0);
    SmallVector<int64_t> high = withOne(op.getPadsHigh(), 0);
    low[halo.place + 1] = high[halo.place + 1] = 0; // in the edges
    auto made = ConvOp::create(
        builder, loc, withShape(op.getResult().getType(), result), all,
        reshape(builder, loc, op.getFilter(), filter),
        builder.getDenseI64ArrayAttr(withOne(op.getStrides(), 1)),
        builder.getDenseI64ArrayAttr(withOne(op.getDilations(), 1)),
        builder.getDenseI64ArrayAttr(low), builder.getDenseI64ArrayAttr(high),
        op.getGroupsAttr(), /*channels_last=*/nullptr);
    Value whole =
        reshape(builder, loc, made.getResult(), shapeOf(op.getResult()));
    op.getResult().replaceAllUsesWith(whole);
    op.erase();
  }

private:
  /// For the ranks' dim, in front of their tokens'.
  SmallVector<int64_t> withOne(ArrayRef<int64_t> values, int64_t one) const {
    SmallVector<int64_t> made(values);
    made.insert(made.begin() + halo.place, one);
    return made;
  }

  Value addEdges(Value blocks) {
    SmallVector<Value> pieces = {blocks};
    if (halo.low > 0)
      pieces.insert(pieces.begin(),
                    fromNeighbour(edge(blocks, halo.block - halo.low, halo.low),
                                  /*fromBefore=*/true));
    if (halo.high > 0)
      pieces.push_back(
          fromNeighbour(edge(blocks, 0, halo.high), /*fromBefore=*/false));
    if (pieces.size() == 1)
      return blocks;
    SmallVector<int64_t> shape(shapeOf(blocks));
    shape[dim + 1] += halo.low + halo.high;
    return ConcatOp::create(builder, loc, withShape(blocks.getType(), shape),
                            pieces, dim + 1);
  }

  Value cut(Value value, int64_t along, int64_t first, int64_t count) {
    SmallVector<int64_t> shape(shapeOf(value));
    SmallVector<int64_t> offsets(shape.size(), 0), strides(shape.size(), 1);
    shape[along] = count;
    offsets[along] = first;
    return SliceOp::create(builder, loc, withShape(value.getType(), shape),
                           value, offsets, strides);
  }

  Value edge(Value blocks, int64_t first, int64_t count) {
    return cut(blocks, dim + 1, first, count);
  }

  /// Each rank's is its neighbour's; behind the last there are zeros.
  Value fromNeighbour(Value edges, bool fromBefore) {
    Value kept = cut(edges, dim, fromBefore ? 0 : 1, parts - 1);
    SmallVector<int64_t> low(shapeOf(edges).size(), 0), none = low;
    low[dim] = fromBefore ? 1 : 0;
    return PadOp::create(builder, loc, edges.getType(), kept, low, none);
  }

  ConvOp op;
  int64_t parts;
  Halo halo;
  int64_t dim; // of the tokens, in the image
  OpBuilder builder;
  Location loc;
};

struct ExchangeHalos : public impl::ExchangeHalosPassBase<ExchangeHalos> {
  using ExchangeHalosPassBase::ExchangeHalosPassBase;

  void runOnOperation() override {
    if (parts < 2)
      return;
    for (auto program : getOperation().getOps<func::FuncOp>())
      // A convolution tells which dims in front of it count tokens.
      while (visit(program))
        ++numConvolutions;
  }

private:
  bool visit(func::FuncOp program) {
    TokenDims tokens(program);
    tokens.markAttention();
    markGiven(program, tokens);
    for (ConvOp op : program.getOps<ConvOp>())
      if (std::optional<Halo> halo = findHalo(op, tokens)) {
        HaloBuilder(op, parts, *halo).run();
        return true;
      }
    return false;
  }

  /// Marks the inputs' token dims that --token-dim names.
  void markGiven(func::FuncOp program, TokenDims &tokens) {
    const llvm::StringMap<int64_t> given = readTokenDims(dims);
    (void)forEachTokenInput(program, [&](BlockArgument input, StringRef name) {
      auto found = given.find(name);
      if (found != given.end() && found->second >= 0 &&
          found->second < cast<RankedTensorType>(input.getType()).getRank())
        tokens.mark({input, found->second});
      return success();
    });
  }

  std::optional<Halo> findHalo(ConvOp op, TokenDims &tokens) const {
    const int64_t rank = op.getInput().getType().getRank();
    if (op.getChannelsLast() || rank > 4) // images have three dims at most
      return std::nullopt;
    for (int64_t dim = 2; dim < rank; ++dim)
      if (tokens.isMarked({op.getInput(), dim}) ||
          tokens.isMarked({op.getResult(), dim}))
        if (std::optional<Halo> halo = zc::findHalo(op, dim - 2, parts))
          return halo;
    return std::nullopt;
  }
};

} // namespace

std::optional<Halo> findHalo(ConvOp op, int64_t place, int64_t parts) {
  const int64_t tokens = op.getInput().getType().getDimSize(place + 2);
  const int64_t results = op.getResult().getType().getDimSize(place + 2);
  const int64_t stride = op.getStrides()[place];
  const int64_t reach = (op.getFilter().getType().getDimSize(place + 2) - 1) *
                        op.getDilations()[place];
  Halo halo{place, tokens / parts, op.getPadsLow()[place], 0};
  halo.high = std::max<int64_t>(0, reach - halo.low - (stride - 1));
  if (tokens % (parts * stride) != 0 || results * stride != tokens ||
      halo.low < 0 || halo.low > halo.block || halo.high > halo.block ||
      (reach == 0 && stride == 1))
    return std::nullopt;
  return halo;
}

} // namespace zc
