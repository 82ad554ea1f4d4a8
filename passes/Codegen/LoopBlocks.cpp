//===- LoopBlocks.cpp - loops of a kernel lowered to blocks ---------------===//
#include "passes/Codegen/LoopBlocks.h"

using namespace mlir;

namespace zc {

LoopBlocks::LoopBlocks(LLVM::LLVMFuncOp function) {
  for (Block &block : function.getBody())
    blocks.push_back(&block);
  findLoops();
  findVarying();
  findSums();
}

void LoopBlocks::findLoops() {
  llvm::DenseMap<Block *, unsigned> numbers;
  for (auto [number, block] : llvm::enumerate(blocks))
    numbers[block] = number;
  for (auto [number, block] : llvm::enumerate(blocks))
    for (Block *next : block->getSuccessors())
      if (numbers.lookup(next) <= number)
        loops.push_back({numbers.lookup(next), static_cast<unsigned>(number)});
  for (const Loop &loop : loops)
    if (isInnermost(loop))
      innermost.push_back(loop);
}

bool LoopBlocks::isInnermost(const Loop &loop) const {
  return llvm::none_of(loops, [&](const Loop &other) {
    return other.header > loop.header && other.latch <= loop.latch;
  });
}

void LoopBlocks::findVarying() {
  for (const Loop &loop : innermost) {
    for (Value argument : blocks[loop.header]->getArguments())
      varying.insert(argument);
    for (unsigned i = loop.header; i <= loop.latch; ++i)
      for (Operation &op : *blocks[i])
        if (llvm::any_of(op.getOperands(),
                         [&](Value value) { return varying.contains(value); }))
          varying.insert(op.result_begin(), op.result_end());
  }
}

void LoopBlocks::findSums() {
  for (const Loop &loop : loops)
    addsUp |= llvm::any_of(blocks[loop.header]->getArgumentTypes(),
                           [](Type type) { return !type.isInteger(); });
  for (const Loop &loop : innermost)
    for (unsigned i = loop.header; i <= loop.latch; ++i)
      for (auto store : blocks[i]->getOps<LLVM::StoreOp>())
        addsUp |= !varying.contains(store.getAddr());
}

} // namespace zc
