//===- TokenInputs.cpp - inputs that may count tokens ---------------------===//
#include "passes/Sequence/TokenInputs.h"

#include "dialects/Train/Tokens.h"
#include "dialects/Train/TrainDialect.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

static func::FuncOp programOf(BlockArgument argument) {
  return cast<func::FuncOp>(argument.getOwner()->getParentOp());
}

llvm::StringMap<int64_t> readTokenDims(ArrayRef<std::string> texts) {
  llvm::StringMap<int64_t> dims;
  for (StringRef text : texts) {
    auto [name, value] = text.rsplit('=');
    int64_t dim = -1;
    value.getAsInteger(10, dim);
    dims[name] = value == "none" ? -1 : dim;
  }
  return dims;
}

LogicalResult forEachTokenInput(
    func::FuncOp program,
    llvm::function_ref<LogicalResult(BlockArgument, StringRef)> body) {
  for (BlockArgument argument : program.getArguments()) {
    const unsigned index = argument.getArgNumber();
    auto name = program.getArgAttrOfType<StringAttr>(index, kInputAttr);
    if (name && !program.getArgAttr(index, kSampleWeightAttr) &&
        failed(body(argument, name.getValue())))
      return failure();
  }
  return success();
}

std::string nextSizes(int64_t size, int64_t ranks) {
  const int64_t below = size / ranks * ranks;
  return below ? "the next sizes that do are " + std::to_string(below) +
                     " and " + std::to_string(below + ranks)
               : "the next size that does is " + std::to_string(ranks);
}

LogicalResult setTokenDim(BlockArgument input, int64_t dim,
                          const TokenRanks &ranks, bool mayBeWhole) {
  func::FuncOp program = programOf(input);
  const unsigned index = input.getArgNumber();
  auto type = cast<RankedTensorType>(input.getType());
  auto batch = program.getArgAttrOfType<IntegerAttr>(index, kBatchDimAttr);
  StringRef name =
      program.getArgAttrOfType<StringAttr>(index, kInputAttr).getValue();
  if (dim >= type.getRank())
    return program.emitError("--token-dim ")
           << name << "=" << dim << ": the input is " << type;
  if (batch && batch.getInt() == dim)
    return program.emitError("--token-dim ")
           << name << "=" << dim << ": the dim counts samples";
  const int64_t size = type.getDimSize(dim);
  if (size % ranks.count != 0) {
    auto error = program.emitError("input '")
                 << name << "': " << size << " tokens, dim " << dim
                 << ", do not divide among " << ranks.count << " ranks of '"
                 << ranks.axis << "'; " << nextSizes(size, ranks.count);
    if (mayBeWhole)
      error << "; --token-dim " << name << "=none keeps them whole";
    return error;
  }
  program.setArgAttr(
      index, kTokenDimAttr,
      IntegerAttr::get(IntegerType::get(program.getContext(), 64), dim));
  return success();
}

} // namespace zc
