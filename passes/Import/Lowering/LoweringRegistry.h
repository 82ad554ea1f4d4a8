//===- LoweringRegistry.h - who lowers which ONNX operator ------*- C++ -*-===//
//
// To add an operator: write a function that builds train ops and calls
// NodeContext::set, and enter it in its family's register function with the
// range of since-versions whose meaning it implements.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_IMPORT_LOWERING_LOWERINGREGISTRY_H
#define ZC_PASSES_IMPORT_LOWERING_LOWERINGREGISTRY_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"
#include <functional>

namespace zc {

class NodeContext;

using LoweringFunction = std::function<mlir::LogicalResult(NodeContext &)>;

class LoweringRegistry {
public:
  /// All lowerings zc has.
  static const LoweringRegistry &get();

  /// Since-versions `first` to `last` of an operator of ONNX's own domain.
  void add(llvm::StringRef op, int64_t first, int64_t last,
           LoweringFunction lowering);

  /// The lowering of one meaning of an operator; null if there is none.
  const LoweringFunction *find(llvm::StringRef domain, llvm::StringRef op,
                               int64_t sinceVersion) const;
  bool isSupported(llvm::StringRef domain, llvm::StringRef op,
                   int64_t sinceVersion) const {
    return find(domain, op, sinceVersion);
  }

private:
  struct Entry {
    int64_t first, last;
    LoweringFunction lowering;
  };
  llvm::StringMap<llvm::SmallVector<Entry, 1>> entries;
};

// One function a family, each in the file of its name.
void registerActivation(LoweringRegistry &registry);
void registerContraction(LoweringRegistry &registry);
void registerDeterminant(LoweringRegistry &registry);
void registerEinsum(LoweringRegistry &registry);
void registerElementwise(LoweringRegistry &registry);
void registerFourier(LoweringRegistry &registry);
void registerGridSample(LoweringRegistry &registry);
void registerIndexing(LoweringRegistry &registry);
void registerLoss(LoweringRegistry &registry);
void registerNormalization(LoweringRegistry &registry);
void registerPooling(LoweringRegistry &registry);
void registerQuantization(LoweringRegistry &registry);
void registerRandom(LoweringRegistry &registry);
void registerRecurrent(LoweringRegistry &registry);
void registerReduction(LoweringRegistry &registry);
void registerResize(LoweringRegistry &registry);
void registerScatter(LoweringRegistry &registry);
void registerShape(LoweringRegistry &registry);
void registerDeformConv(LoweringRegistry &registry);
void registerRoiAlign(LoweringRegistry &registry);
void registerTensorScatter(LoweringRegistry &registry);
void registerNGrams(LoweringRegistry &registry);
void registerTopK(LoweringRegistry &registry);
void registerUnpooling(LoweringRegistry &registry);

} // namespace zc

#endif // ZC_PASSES_IMPORT_LOWERING_LOWERINGREGISTRY_H
