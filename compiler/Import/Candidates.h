// Finds the tensors that may change in training. The importer must know them
// before types: what may change is never computed with while compiling.
#ifndef ZC_COMPILER_IMPORT_CANDIDATES_H
#define ZC_COMPILER_IMPORT_CANDIDATES_H

#include "compiler/Import/Metadata.h"
#include "compiler/OnnxModel/ModelFile.h"
#include "llvm/ADT/StringSet.h"
#include <functional>

namespace zc {

/// Finds candidates by the names of values alone, whatever graph they are in:
/// at least what the rule of parameters (ParameterRule) takes.
class Candidates {
public:
  /// `chosen` says whether the user asks for an initializer by its name.
  Candidates(const ModelFile &file, const TensorMetadata &metadata,
             std::function<bool(llvm::StringRef)> chosen);

  /// Whether a tensor may change. It is called `name` in the model, and `local`
  /// in its graph.
  bool mayChange(llvm::StringRef name, llvm::StringRef local,
                 const proto::TensorProto &tensor) const;

private:
  void readFunctions();
  void
  readNodes(const google::protobuf::RepeatedPtrField<proto::NodeProto> &nodes);
  void readNode(const proto::NodeProto &node);
  void connectInput(const std::string &inside, const std::string &given);
  void connectBody(const proto::NodeProto &node, const proto::GraphProto &body);
  void connectCall(const proto::NodeProto &node,
                   const proto::FunctionProto &function);
  void spread(const llvm::StringMap<std::vector<std::string>> &edges,
              llvm::StringSet<> &names);
  bool holdsMask(const proto::TensorProto &tensor) const;

  const ModelFile &file;
  const TensorMetadata &metadata;
  std::function<bool(llvm::StringRef)> chosen;
  llvm::StringMap<const proto::FunctionProto *> functions;
  /// From a value to those whose gradient it passes on, or whose elements it
  /// has.
  llvm::StringMap<std::vector<std::string>> gradients, copies;
  llvm::StringSet<> outputsWithBias; // results of products
  llvm::StringSet<> reached;         // by a gradient
  llvm::StringSet<> weights;         // of operators: weights, biases, slopes
  llvm::StringSet<> parameters; // as the rule for files with kinds has them
  llvm::StringSet<> statistics;
  bool anyKind = false; // of an initializer
};

} // namespace zc

#endif
