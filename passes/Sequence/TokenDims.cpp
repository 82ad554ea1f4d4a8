//===- TokenDims.cpp - which dims count tokens ----------------------------===//
#include "passes/Sequence/TokenDims.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "dialects/Train/Tokens.h"
#include "passes/Sequence/Passes.h"
#include "passes/Sharding/Layout.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

bool isAttention(Operation *op) {
  return isa<AttentionOp, AttentionGradOp>(op);
}

Value getMask(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return attention.getMask();
  return cast<AttentionGradOp>(op).getMask();
}

int64_t countTokens(Value value) {
  return cast<RankedTensorType>(value.getType()).getDimSize(kTokens);
}

bool hasMaskOfQueries(Operation *op) {
  Value mask = getMask(op);
  return mask && cast<RankedTensorType>(mask.getType()).getDimSize(2) != 1;
}

bool hasKeysOfQueries(Operation *op) {
  return countTokens(op->getOperand(0)) == countTokens(op->getOperand(1));
}

bool canGoRound(Operation *op) {
  return hasKeysOfQueries(op) && !hasMaskOfQueries(op);
}

bool gathersKeys(Operation *op, StringRef attention) {
  return attention == "gather" || (attention == "auto" && !canGoRound(op));
}

bool isOrdered(ModuleOp module) {
  // A role's is said by the module of which it is one.
  auto whole = module->getParentOfType<ModuleOp>();
  return module->hasAttr(kTokenOrderAttr) ||
         (whole && whole->hasAttr(kTokenOrderAttr));
}

DenseElementsAttr makeZigzagOrder(MLIRContext *context, int64_t tokens,
                                  int64_t parts, bool inverse) {
  const int64_t chunk = tokens / (2 * parts);
  SmallVector<int64_t> places(tokens);
  for (int64_t place = 0; place < tokens; ++place) {
    const int64_t index = place / chunk, rank = index / 2;
    const int64_t from = index % 2 ? 2 * parts - 1 - rank : rank;
    const int64_t token = from * chunk + place % chunk;
    (inverse ? places[token] : places[place]) = inverse ? place : token;
  }
  return DenseElementsAttr::get(
      RankedTensorType::get({tokens}, IntegerType::get(context, 64)),
      ArrayRef<int64_t>(places));
}

bool isZigzagOrder(ConstantOp constant, int64_t parts) {
  auto type = cast<RankedTensorType>(constant.getType());
  return type.getRank() == 1 && type.getElementType().isInteger(64) &&
         type.getDimSize(0) % (2 * parts) == 0 &&
         constant.getValue() ==
             makeZigzagOrder(constant.getContext(), type.getDimSize(0), parts);
}

TokenDims::TokenDims(func::FuncOp program)
    : program(program), unfused(program),
      classes(findDimClasses(program, unfused.getWhole())) {
  sets.grow(classes.size());
  for (auto [index, each] : llvm::enumerate(classes))
    for (const DimOf &dim : each.dims)
      numbers[dim] = int(index);
  // An attention gives each query's token a result.
  program.walk([&](Operation *op) {
    if (isAttention(op))
      join({op->getOperand(0), kTokens}, {op->getResult(0), kTokens});
  });
}

void TokenDims::forEachQuery(llvm::function_ref<void(DimOf)> body) {
  program.walk([&](Operation *op) {
    if (isAttention(op))
      body({op->getOperand(0), kTokens});
  });
  for (const UnfusedAttention &attention : unfused.get())
    body(attention.getQueries());
}

void TokenDims::markAttention() {
  forEachQuery([&](DimOf query) { mark(query); });
}

bool TokenDims::hasAttention() {
  bool has = false;
  forEachQuery([&](DimOf) { has = true; });
  return has;
}

bool TokenDims::areTied(DimOf a, DimOf b) {
  auto first = numbers.find(a), second = numbers.find(b);
  return first != numbers.end() && second != numbers.end() &&
         findSet(first->second) == findSet(second->second);
}

bool TokenDims::isDivided(DimOf dim) {
  for (BlockArgument argument : program.getArguments())
    if (auto own = program.getArgAttrOfType<IntegerAttr>(
            argument.getArgNumber(), kTokenDimAttr);
        own && areTied({argument, own.getInt()}, dim))
      return true;
  return false;
}

bool TokenDims::isOfInput(DimOf dim) {
  for (BlockArgument argument : program.getArguments()) {
    const unsigned index = argument.getArgNumber();
    if (!program.getArgAttr(index, kInputAttr) ||
        program.getArgAttr(index, kNoTokensAttr))
      continue;
    std::optional<int64_t> own = findInputDim(argument);
    if (own && areTied({argument, *own}, dim))
      return true;
  }
  return false;
}

bool TokenDims::isOfAttention(DimOf dim) {
  bool is = false;
  forEachQuery([&](DimOf query) { is |= areTied(query, dim); });
  return is;
}

std::optional<int64_t> TokenDims::findInputDim(BlockArgument input) {
  auto batch = program.getArgAttrOfType<IntegerAttr>(input.getArgNumber(),
                                                     kBatchDimAttr);
  int64_t rank = cast<RankedTensorType>(input.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (isMarked({input, dim}) && !(batch && batch.getInt() == dim))
      return dim;
  return std::nullopt;
}

void TokenDims::markMessages() {
  Operation *end = program.getBody().front().getTerminator();
  for (unsigned i = 0; i < program.getNumArguments(); ++i)
    if (auto dim = program.getArgAttrOfType<IntegerAttr>(i, kTokenDimAttr))
      mark({program.getArgument(i), dim.getInt()});
  for (unsigned i = 0; i < program.getNumResults(); ++i)
    if (auto dim = program.getResultAttrOfType<IntegerAttr>(i, kTokenDimAttr))
      mark({end->getOperand(i), dim.getInt()});
}

void TokenDims::mark(DimOf dim) {
  if (auto found = numbers.find(dim); found != numbers.end())
    marked.insert(findSet(found->second));
}

bool TokenDims::isMarked(DimOf dim) {
  auto found = numbers.find(dim);
  return found != numbers.end() && marked.contains(findSet(found->second));
}

std::optional<int64_t> TokenDims::findReadDim(unsigned result, int64_t parts) {
  if (!program.getResultAttr(result, kOutputAttr))
    return std::nullopt;
  Value value = program.getBody().front().getTerminator()->getOperand(result);
  auto type = cast<RankedTensorType>(value.getType());
  auto batch = program.getResultAttrOfType<IntegerAttr>(result, kBatchDimAttr);
  for (int64_t dim = batch ? batch.getInt() + 1 : 0; dim < type.getRank();
       ++dim)
    if (isMarked({value, dim}) && type.getDimSize(dim) % parts == 0)
      return dim;
  return std::nullopt;
}

static int64_t sizeOf(DimOf dim) {
  return cast<RankedTensorType>(dim.value.getType()).getDimSize(dim.dim);
}

bool TokenDims::mergesTokens() {
  DenseMap<int, int64_t> counts; // of the classes' attentions, the largest
  program.walk([&](Operation *op) {
    if (!isAttention(op))
      return;
    DimOf query{op->getOperand(0), kTokens};
    int64_t &count = counts[findSet(numbers.at(query))];
    count = std::max(count, sizeOf(query));
  });
  return llvm::any_of(numbers, [&](auto &entry) {
    auto count = counts.find(findSet(entry.second));
    return count != counts.end() && sizeOf(entry.first) % count->second != 0;
  });
}

SmallVector<OpOperand *> TokenDims::getGathers() {
  SmallVector<OpOperand *> operands;
  for (auto [index, each] : llvm::enumerate(classes))
    if (marked.contains(findSet(int(index))))
      llvm::append_range(operands, each.gathers);
  return operands;
}

void TokenDims::join(DimOf a, DimOf b) {
  auto first = numbers.find(a), second = numbers.find(b);
  if (first != numbers.end() && second != numbers.end())
    sets.join(first->second, second->second);
}

} // namespace zc
