// How many nodes a model's functions open into, known before any is opened.
#ifndef ZC_COMPILER_IMPORT_FUNCTIONSIZES_H
#define ZC_COMPILER_IMPORT_FUNCTIONSIZES_H

#include "compiler/OnnxModel/Proto.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include <cstdint>

namespace zc {

/// Counts nodes bottom-up, each function once, where thirty that each call the
/// next one twice open into a billion nodes. The counts are lower bounds: an If
/// is its smaller branch, and a Loop or Scan its own node, as nobody knows yet
/// how many rounds there are.
class FunctionSizes {
public:
  explicit FunctionSizes(const proto::ModelProto &model);

  /// The node itself and all that it opens into; at most kMost.
  uint64_t count(const proto::NodeProto &node) const;

  /// The node at which there are more than `most`; null: there are not.
  const proto::NodeProto *
  findExcess(llvm::ArrayRef<const proto::NodeProto *> nodes,
             uint64_t most) const;

  /// Also the size of a function that calls itself.
  static constexpr uint64_t kMost = uint64_t(1) << 62;

private:
  using Nodes = google::protobuf::RepeatedPtrField<proto::NodeProto>;

  uint64_t countAll(const Nodes &nodes) const;

  llvm::StringMap<uint64_t> sizes; // of bodies
};

} // namespace zc

#endif
