// One walk over a model in topological order. At every node all types are
// static and the values of shapes are known, so one walk inlines functions,
// infers types, folds constants and builds the `onnx` dialect.
#ifndef ZC_COMPILER_IMPORT_GRAPHIMPORTER_H
#define ZC_COMPILER_IMPORT_GRAPHIMPORTER_H

#include "compiler/Import/Import.h"
#include "compiler/Import/ImportedValue.h"
#include "compiler/Import/LiftWeights.h"
#include "compiler/Import/Metadata.h"
#include "compiler/OnnxModel/ModelFile.h"
#include "dialects/Onnx/OnnxDialect.h"

#include "onnx/defs/schema.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include <deque>
#include <memory>
#include <unordered_map>

namespace zc {

/// Adds what `node` uses, in its subgraphs too.
void addUsedNames(const proto::NodeProto &node, llvm::StringSet<> &names);

/// The nodes that the outputs need, in order.
std::vector<const proto::NodeProto *>
findNeededNodes(const proto::GraphProto &graph);

/// Whether the importer resolves the operator by itself, into what is left
/// where the values that it needs are known.
bool isResolved(const proto::NodeProto &node);

class GraphImporter {
public:
  /// `weights` says what liftWeights has made of the file's tensors.
  GraphImporter(mlir::MLIRContext *context, const ModelFile &file,
                const ModelImportOptions &options,
                const LiftedWeights &weights);

  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> import();

  /// Reports all operators that are not supported whatever the dims.
  void checkOperators();

private:
  /// Names and settings of the graph, branch or function body being walked.
  struct Scope {
    const Scope *parent =
        nullptr; // of a branch, which sees the names around it
    std::unordered_map<std::string, ImportedValue *> values;
    std::unordered_map<std::string, const proto::AttributeProto *> attributes;
    std::map<std::string, int> opsets;
    std::string prefix; // of node and value names: the call's name and "/"
    std::string module; // for nodes that do not say
    unsigned depth = 0;
  };
  using Outputs = std::vector<ImportedValue *>;

  // The graph as a whole (GraphImporter.cpp).
  void readOpsets(Scope &scope) const;
  void importInputs(Scope &scope);
  void importInitializers(Scope &scope);
  void importNodes(const google::protobuf::RepeatedPtrField<proto::NodeProto> &,
                   Scope &scope);
  bool leaveOutEmpty(const std::string &name, const ImportedValue &value);
  mlir::LogicalResult importOutputs(Scope &scope);
  void eraseDeadOps();
  mlir::LogicalResult reportUnsupported();

  // One node (NodeImporter.cpp).
  void importNode(const proto::NodeProto &node, Scope &scope);
  void importAny(proto::NodeProto &node, Scope &scope);
  void importOperator(const proto::NodeProto &node, const Outputs &inputs,
                      Scope &scope);
  bool tryFold(const proto::NodeProto &node, const Outputs &inputs,
               int64_t sinceVersion, Scope &scope);
  bool hasRoom(llvm::ArrayRef<HostTensor> results);
  void importConstant(const proto::NodeProto &node, Scope &scope);
  bool foldShapeQuery(const proto::NodeProto &node, const Outputs &inputs,
                      Scope &scope);
  bool checkResults(const proto::NodeProto &node,
                    llvm::ArrayRef<proto::TypeProto> types, mlir::Location);
  mlir::Operation *emit(const proto::NodeProto &node, const Outputs &inputs,
                        int64_t sinceVersion,
                        llvm::ArrayRef<proto::TypeProto> types, Scope &scope);
  mlir::DictionaryAttr convertAttributes(const proto::NodeProto &node,
                                         mlir::Location location);
  mlir::Attribute convertAttribute(const proto::AttributeProto &attribute,
                                   mlir::Location location);

  // Where gradients stop (GradientStops.cpp).
  bool stopsGradient(const std::string &name);
  void stopGradient(const std::string &name, Scope &scope);
  void stopGradients(const proto::NodeProto &node, Scope &scope);
  void stopGradientsOfInitializers(Scope &scope);
  void checkGradientStops();

  // Nodes that stand for other nodes (Expansion.cpp, LoopImporter.cpp,
  // MaskImporter.cpp, SequenceImporter.cpp).
  ImportedValue *followBatch(const proto::NodeProto &node,
                             const Outputs &inputs); // BatchSize.cpp
  bool isUsed(const std::string &name);
  void dropUnusedMask(proto::NodeProto &node);
  bool importOld(const proto::NodeProto &node, const Outputs &inputs,
                 int64_t version, Scope &scope); // OldOperators.cpp
  bool expandLocalFunction(const proto::NodeProto &node, const Outputs &inputs,
                           Scope &scope);
  bool expandDefinition(const proto::OpSchema &schema,
                        const proto::NodeProto &node, const Outputs &inputs,
                        Scope &scope);
  bool expandContribOperator(const proto::NodeProto &node,
                             const Outputs &inputs, Scope &scope);
  void importBody(const proto::FunctionProto &body,
                  const proto::NodeProto &call, const Outputs &inputs,
                  Scope &scope);
  // Weights that are stored as integers (IntegerWeights.cpp).
  bool isIntegerWeight(const proto::NodeProto &node, const Outputs &inputs,
                       const Scope &scope);
  mlir::Value emitMaster(llvm::StringRef name, const HostTensor &value);
  ImportedValue *makeMaster(const proto::NodeProto &node,
                            const Outputs &inputs);
  bool importIntegerWeight(const proto::NodeProto &node, const Outputs &inputs,
                           Scope &scope);
  bool importBoolMask(const proto::NodeProto &node, const Outputs &inputs,
                      Scope &scope);
  bool importCompress(const proto::NodeProto &node, const Outputs &inputs,
                      Scope &scope); // SelectionImporter.cpp
  bool importSelection(const proto::NodeProto &node, const Outputs &inputs,
                       Scope &scope);
  // Selections whose length depends on values (BoundedSelection.cpp).
  std::optional<int64_t> findLengthBound(const proto::NodeProto &node,
                                         int64_t dim);
  bool importBoundedSelection(const proto::NodeProto &node,
                              const Outputs &inputs, Scope &scope);
  bool importOfBounded(const proto::NodeProto &node, const Outputs &inputs,
                       Scope &scope); // BoundedUses.cpp
  void reduceBounded(const proto::NodeProto &node, ImportedValue &selection,
                     ImportedValue *plain, Scope &scope);
  ImportedValue *ints(llvm::ArrayRef<int64_t> values);
  ImportedValue *iota(int64_t count);
  /// `value` where `held`, whose only dim is its `dim`; else the scalar.
  ImportedValue *fillUnheld(ImportedValue *value, ImportedValue *held,
                            int64_t dim, double scalar,
                            const proto::NodeProto &node, Scope &scope);
  /// `value` where `held`, along the first dim; else what its first place has.
  ImportedValue *repeatFirst(ImportedValue *value, ImportedValue *held,
                             const proto::NodeProto &node, Scope &scope);
  /// `isShort`, a bool: whether the bound of the node (--dim, --max-trips) is
  /// too low, which makes outputs of floats NaN; null: it is enough.
  void noteShortBound(ImportedValue *isShort, const proto::NodeProto &node,
                      Scope &scope);
  ImportedValue *spoilOutput(ImportedValue *value, Scope &scope);
  ImportedValue *markBounded(ImportedValue *value,
                             const ImportedValue &selection, int64_t dim,
                             const proto::NodeProto &node, Scope &scope);
  void importIf(const proto::NodeProto &node, const Outputs &inputs,
                Scope &scope);
  void importLoop(const proto::NodeProto &node, const Outputs &inputs,
                  Scope &scope);
  void importScan(const proto::NodeProto &node, const Outputs &inputs,
                  Scope &scope);
  void importBoundedLoop(const proto::NodeProto &node, const Outputs &inputs,
                         Scope &scope);
  ImportedValue *compute(const char *op, const Outputs &operands,
                         const proto::NodeProto &node, Scope &scope,
                         std::vector<proto::AttributeProto> attributes = {});
  ImportedValue *makeScalarLike(const ImportedValue &like, double value);
  ImportedValue *toScalar(ImportedValue *value, const proto::NodeProto &node,
                          Scope &scope);
  ImportedValue *makesRound(ImportedValue *condition, ImportedValue *count,
                            int64_t round, const proto::NodeProto &node,
                            Scope &scope);
  mlir::FailureOr<ImportedValue *> chooseState(ImportedValue *condition,
                                               ImportedValue *changed,
                                               ImportedValue *before,
                                               const proto::NodeProto &node,
                                               Scope &scope);
  Outputs takeBack(ImportedValue *active, Outputs state, const Outputs &initial,
                   const proto::NodeProto &node, Scope &scope);
  Scope enterRound(const proto::NodeProto &node, int64_t round, Scope &scope);
  void stackRounds(const std::string &output, const Outputs &elements,
                   int64_t axis, const proto::NodeProto &node, Scope &scope);
  bool importSequenceOperator(const proto::NodeProto &node,
                              const Outputs &inputs, Scope &scope);
  void splitToSequence(const proto::NodeProto &node, const Outputs &inputs,
                       Scope &scope);
  void concatFromSequence(const proto::NodeProto &node, const Outputs &inputs,
                          Scope &scope);
  void editSequence(const proto::NodeProto &node, const Outputs &inputs,
                    Scope &scope);

  // Values (ValueImporter.cpp).
  ImportedValue *makeValue(ImportedValue::Kind kind, std::string name);
  ImportedValue *makeConstant(std::string name, HostTensor tensor);
  ImportedValue *lookUp(const std::string &name, const Scope &scope);
  void define(const std::string &name, ImportedValue *value, Scope &scope);
  void defineUnknown(const proto::NodeProto &node, Scope &scope);
  Outputs getInputs(const proto::NodeProto &node, const Scope &scope);
  mlir::Value getNone();
  mlir::Value getIr(ImportedValue *value);
  mlir::Value emitStored(ImportedValue &value);
  mlir::Value emitConstant(llvm::StringRef name, const HostTensor &tensor);
  llvm::SmallVector<mlir::Value>
  getOperands(const proto::NodeProto &node, const Outputs &inputs,
              llvm::ArrayRef<proto::TypeProto> types);

  mlir::Location getLocation(const proto::NodeProto &node, const Scope &scope);
  mlir::Location getFileLocation() const;
  mlir::InFlightDiagnostic emitFailure(mlir::Location location);

  void noteUnsupported(llvm::StringRef domain, llvm::StringRef op,
                       std::string version, mlir::Location location);

  mlir::MLIRContext *context;
  const ModelFile &file;
  const ModelImportOptions &options;
  const LiftedWeights &weights;
  Scope stored; // what branches, bodies and functions stored
  TensorMetadata metadata;
  std::map<std::string, const proto::FunctionProto *> functions;

  mlir::OwningOpRef<mlir::ModuleOp> module;
  onnx::GraphOp graph;
  mlir::Block *block = nullptr;
  mlir::Operation *lastInitializer = nullptr; // they stand before all nodes
  mlir::Value none;
  std::deque<ImportedValue> arena;
  std::deque<proto::NodeProto> madeNodes;
  std::deque<proto::FunctionProto> madeBodies;
  llvm::StringSet<> initializerNames;
  /// Whether a bound so far is too low, and the last node that has one.
  std::optional<std::pair<ImportedValue *, proto::NodeProto>> shortBound;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constantsByValue;
  llvm::DenseMap<ImportedValue *, ImportedValue *> masters; // of integers
  // Operators without lowering: those whose results nothing needs are forgiven.
  llvm::MapVector<mlir::Operation *, Unsupported> unsupportedOps;
  std::map<std::string, Unsupported> unsupported;
  unsigned numBounds = 0; // of values that a bounded loop brought
  bool isTooLong = false; // more nodes than are walked
  int64_t room = 0;       // elements that may yet be computed ahead
  bool foundGradientStop = false, warnedOfMask = false;
  llvm::StringSet<> usedNames; // in any graph; filled when it is asked for
  bool failed = false;
};

} // namespace zc

#endif
