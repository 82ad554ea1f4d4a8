//===- LoweringRegistry.cpp - who lowers which ONNX operator --------------===//
#include "passes/Import/Lowering/LoweringRegistry.h"

using namespace mlir;
using namespace zc;

const LoweringRegistry &LoweringRegistry::get() {
  static const LoweringRegistry registry = [] {
    LoweringRegistry all;
    registerActivation(all);
    registerContraction(all);
    registerDeterminant(all);
    registerEinsum(all);
    registerElementwise(all);
    registerFourier(all);
    registerGridSample(all);
    registerIndexing(all);
    registerLoss(all);
    registerNormalization(all);
    registerPooling(all);
    registerQuantization(all);
    registerRandom(all);
    registerRecurrent(all);
    registerReduction(all);
    registerResize(all);
    registerScatter(all);
    registerShape(all);
    registerDeformConv(all);
    registerRoiAlign(all);
    registerTensorScatter(all);
    registerNGrams(all);
    registerTopK(all);
    registerUnpooling(all);
    return all;
  }();
  return registry;
}

void LoweringRegistry::add(StringRef op, int64_t first, int64_t last,
                           LoweringFunction lowering) {
  assert(first <= last && !find("", op, first) && !find("", op, last) &&
         "one meaning has one lowering");
  entries[op].push_back({first, last, std::move(lowering)});
}

const LoweringFunction *LoweringRegistry::find(StringRef domain, StringRef op,
                                               int64_t sinceVersion) const {
  if (!domain.empty() && domain != "ai.onnx")
    return nullptr;
  auto found = entries.find(op);
  if (found == entries.end())
    return nullptr;
  for (const Entry &entry : found->second)
    if (entry.first <= sinceVersion && sinceVersion <= entry.last)
      return &entry.lowering;
  return nullptr;
}
