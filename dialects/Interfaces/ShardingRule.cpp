//===- ShardingRule.cpp ---------------------------------------------------===//
#include "dialects/Interfaces/ShardingRule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace zc {

int ShardingRule::addFactor(int64_t size, FactorKind kind) {
  factors.push_back({size, kind});
  return static_cast<int>(factors.size()) - 1;
}

static std::string factorName(int index) {
  if (index == ShardingRule::kWhole)
    return "*";
  // i, j, k, ... z, then f18, f19, ...
  if (index < 18)
    return std::string(1, static_cast<char>('i' + index));
  return "f" + std::to_string(index);
}

static void printDims(llvm::raw_ostream &os,
                      llvm::ArrayRef<llvm::SmallVector<int>> all) {
  llvm::interleave(
      all, os,
      [&](llvm::ArrayRef<int> dims) {
        os << "(";
        llvm::interleave(
            dims, os, [&](int factor) { os << factorName(factor); }, ",");
        os << ")";
      },
      ",");
}

std::string ShardingRule::toString() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  printDims(os, operandDims);
  os << "->";
  printDims(os, resultDims);
  os << " {";
  for (auto [index, factor] : llvm::enumerate(factors)) {
    os << (index ? ", " : "") << factorName(index) << "=" << factor.size;
    if (factor.kind == FactorKind::Sum)
      os << " sum";
    else if (factor.kind == FactorKind::OtherReduction)
      os << " reduce";
  }
  os << "} linear=(";
  llvm::interleave(
      linearity, os,
      [&](Linearity kind) {
        os << (kind == Linearity::None       ? "none"
               : kind == Linearity::Separate ? "separate"
                                             : "joint");
      },
      ",");
  os << ")";
  return text;
}

static std::string checkDims(llvm::ArrayRef<Factor> factors, Type type,
                             llvm::ArrayRef<int> dims, llvm::StringRef what) {
  auto shaped = llvm::dyn_cast<ShapedType>(type);
  int64_t rank = shaped ? shaped.getRank() : 0;
  if (rank != static_cast<int64_t>(dims.size()))
    return (what + " has " + llvm::Twine(rank) + " dims, the rule " +
            llvm::Twine(dims.size()))
        .str();
  for (auto [dim, factor] : llvm::enumerate(dims)) {
    if (factor == ShardingRule::kWhole)
      continue;
    if (factor < 0 || factor >= static_cast<int>(factors.size()))
      return (what + " dim " + llvm::Twine(dim) + " names no factor").str();
    if (shaped.getDimSize(dim) % factors[factor].size != 0)
      return (what + " dim " + llvm::Twine(dim) + " is " +
              llvm::Twine(shaped.getDimSize(dim)) + ", its factor " +
              llvm::Twine(factors[factor].size))
          .str();
  }
  return "";
}

std::string ShardingRule::check(Operation *op) const {
  if (operandDims.size() != op->getNumOperands() ||
      resultDims.size() != op->getNumResults() ||
      linearity.size() != op->getNumOperands())
    return "the rule's lists do not fit the op";
  for (auto [index, dims] : llvm::enumerate(operandDims)) {
    std::string wrong =
        checkDims(factors, op->getOperand(index).getType(), dims,
                  ("operand " + llvm::Twine(index)).str());
    if (!wrong.empty())
      return wrong;
  }
  for (auto [index, dims] : llvm::enumerate(resultDims)) {
    std::string wrong = checkDims(factors, op->getResult(index).getType(), dims,
                                  ("result " + llvm::Twine(index)).str());
    if (!wrong.empty())
      return wrong;
    for (int factor : dims)
      if (factor != kWhole && factors[factor].kind != FactorKind::Parallel)
        return "a result dim runs over a reduced factor";
  }
  return "";
}

static int64_t rankOf(Type type) {
  auto shaped = llvm::dyn_cast<ShapedType>(type);
  return shaped ? shaped.getRank() : 0;
}

ShardingRule ShardingRule::elementwise(Operation *op, Linearity linearity) {
  ShardingRule rule;
  auto type = llvm::cast<ShapedType>(op->getResult(0).getType());
  llvm::SmallVector<int> dims;
  for (int64_t size : type.getShape())
    dims.push_back(rule.addFactor(size));
  rule.operandDims.assign(op->getNumOperands(), dims);
  rule.resultDims.assign(op->getNumResults(), dims);
  rule.linearity.assign(op->getNumOperands(), linearity);
  return rule;
}

ShardingRule ShardingRule::whole(Operation *op) {
  ShardingRule rule;
  for (Value operand : op->getOperands())
    rule.operandDims.emplace_back(rankOf(operand.getType()), kWhole);
  for (Value result : op->getResults())
    rule.resultDims.emplace_back(rankOf(result.getType()), kWhole);
  rule.linearity.assign(op->getNumOperands(), Linearity::None);
  return rule;
}

int64_t numElements(Type type) {
  auto shaped = llvm::dyn_cast<ShapedType>(type);
  return shaped ? shaped.getNumElements() : 1;
}

static double byteSize(Type type) {
  auto shaped = llvm::dyn_cast<ShapedType>(type);
  if (!shaped)
    return 0;
  unsigned bits = shaped.getElementType().getIntOrFloatBitWidth();
  return static_cast<double>(shaped.getNumElements()) * ((bits + 7) / 8);
}

double operandAndResultBytes(Operation *op) {
  double bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += byteSize(type);
  for (Type type : op->getResultTypes())
    bytes += byteSize(type);
  return bytes;
}

} // namespace zc
