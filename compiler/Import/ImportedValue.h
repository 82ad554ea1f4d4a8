// A value of the model during the import.
#ifndef ZC_COMPILER_IMPORT_IMPORTEDVALUE_H
#define ZC_COMPILER_IMPORT_IMPORTEDVALUE_H

#include "compiler/Import/HostTensor.h"
#include "compiler/OnnxModel/Proto.h"

#include "mlir/IR/Value.h"
#include <memory>
#include <string>
#include <vector>

namespace zc {

/// The facts known about one value of the model.
struct ImportedValue {
  enum Kind {
    Tensor,
    Sequence, // of known length: `elements`
    Absent,   // an operand left out
    Unknown,  // an error upstream has been reported
  };
  Kind kind = Tensor;
  std::string name;
  proto::TypeProto type;
  /// The value, where it is known (small or computed).
  std::shared_ptr<const HostTensor> constant;
  /// Whether nodes may be computed from `constant`; not from what may be
  /// trained.
  bool foldable = false;
  /// The initializer that holds the value, until something uses it.
  const proto::TensorProto *stored = nullptr;
  mlir::Value ir;
  std::vector<ImportedValue *> elements;
  /// If the value is a selection whose length depends on values: the dim of
  /// that length, which is as long as `--dim` says, and which of its places
  /// hold something (bool [length]). The other places count nowhere.
  int64_t boundedDim = -1;
  ImportedValue *held = nullptr;
};

/// Nodes of one operator without lowering.
struct Unsupported {
  std::string what; // "com.acme.Foo (opset 1)"
  std::vector<mlir::Location> nodes;
};

} // namespace zc

#endif
