// Before a model is imported, every tensor that may be trained becomes an
// initializer of its graph, wherever the file has it: one rule serves all.
#ifndef ZC_COMPILER_IMPORT_LIFTWEIGHTS_H
#define ZC_COMPILER_IMPORT_LIFTWEIGHTS_H

#include "compiler/Import/Metadata.h"
#include "compiler/OnnxModel/ModelFile.h"
#include "llvm/ADT/StringSet.h"
#include <functional>

namespace zc {

/// Initializers by their names.
struct LiftedWeights {
  llvm::StringSet<> changing; // what a run may change
  llvm::StringSet<> inner;    // what branches, bodies and functions had
};

/// Constant nodes whose values may change, and all initializers of branches and
/// bodies, become initializers of the graph, under the names that findWeights
/// gives them; a body that runs several times, or a function that is called so,
/// has one tensor. `chosen`: whether the user asks for one by its name.
LiftedWeights liftWeights(ModelFile &file, const TensorMetadata &metadata,
                          const std::function<bool(llvm::StringRef)> &chosen);

} // namespace zc

#endif
