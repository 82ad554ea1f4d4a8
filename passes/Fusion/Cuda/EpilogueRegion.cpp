//===- EpilogueRegion.cpp - products with an epilogue, made anew ----------===//
#include "passes/Fusion/Cuda/EpilogueRegion.h"

#include "dialects/Train/Epilogue.h"
#include "dialects/Train/Ops/BitSupport.h"
#include "passes/Analysis/Tensors.h"

using namespace mlir;
using namespace zc::train;

namespace zc::cuda {

/// Bits between the rows of what cuBLASLt keeps for a ReLU's gradient are a
/// multiple of this.
static constexpr int64_t kSignRow = 128;

MatmulOp plainProduct(FusedOp region) {
  if (!region || region.getLibrary() != StringRef("cublaslt.matmul") ||
      region.getJoined(kEpilogueKey))
    return {};
  auto product = dyn_cast<MatmulOp>(region.getBody().front().front());
  if (!product || shapeOf(product.getResult()).size() != 2 ||
      getElementTypeOrSelf(product.getType()) !=
          getElementTypeOrSelf(product.getLhs().getType()))
    return {};
  return product;
}

FusedOp createLike(OpBuilder &builder, FusedOp product, Location loc,
                   TypeRange types, ValueRange inputs,
                   DictionaryAttr epilogue) {
  auto region = FusedOp::create(builder, loc, types, inputs);
  region.getProperties() = product.getProperties();
  region.setSharedBuffers({}); // the results are others
  region.join(kEpilogueKey, epilogue);
  return region;
}

Block &addBlock(FusedOp region) {
  Block *block = new Block();
  region.getBody().push_back(block);
  for (Value input : region.getInputs())
    block->addArgument(input.getType(), input.getLoc());
  return *block;
}

void cloneBody(FusedOp source, Block &block, IRMapping &mapping) {
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  Block &from = source.getBody().front();
  mapping.map(from.getArguments(),
              block.getArguments().take_front(from.getNumArguments()));
  for (Operation &op : from.without_terminator())
    inner.clone(op, mapping);
}

Value keepSigns(FusedOp region) {
  DictionaryAttr epilogue = region.getJoined(kEpilogueKey);
  if (epilogue.contains(kAuxiliaryKey)) // another gradient asked for them
    return region.getResult(1);
  OpBuilder builder(region);
  auto type = cast<RankedTensorType>(region.getResult(0).getType());
  NamedAttrList list(epilogue);
  list.set(kAuxiliaryKey, builder.getUnitAttr());
  FusedOp keeping =
      createLike(builder, region, region.getLoc(), {type, packedType(type, 1)},
                 region.getInputs(), list.getDictionary(builder.getContext()));
  Block &block = addBlock(keeping);
  IRMapping mapping;
  cloneBody(region, block, mapping);
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  Value relu =
      mapping.lookup(region.getBody().front().getTerminator()->getOperand(0));
  Location loc = relu.getLoc();
  // Like the library, compare the ReLU's input, and pass gradients at 0.
  Value before = relu.getDefiningOp<ReluOp>().getInput();
  Value passes =
      compare(inner, loc, Predicate::Ge, before, splat(inner, loc, type, 0));
  Value bits = PackBitsOp::create(inner, loc, packedType(type, 1), passes, 1);
  YieldOp::create(inner, loc, ValueRange{relu, bits});
  region.getResult(0).replaceAllUsesWith(keeping.getResult(0));
  return keeping.getResult(1);
}

FusedOp findRelu(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  auto region = value.getDefiningOp<FusedOp>();
  DictionaryAttr epilogue =
      region ? region.getJoined(kEpilogueKey) : DictionaryAttr();
  bool keeps = epilogue && value == region.getResult(0) &&
               !epilogue.contains(kSumsKey) &&
               epilogue.get(kActivationKey) ==
                   StringAttr::get(region.getContext(), "relu") &&
               shapeOf(value).back() % kSignRow == 0;
  return keeps ? region : FusedOp();
}

} // namespace zc::cuda
