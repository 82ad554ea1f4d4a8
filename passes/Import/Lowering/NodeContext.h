//===- NodeContext.h - what a lowering sees of its node ---------*- C++ -*-===//
#ifndef ZC_PASSES_IMPORT_LOWERING_NODECONTEXT_H
#define ZC_PASSES_IMPORT_LOWERING_NODECONTEXT_H

#include "dialects/Onnx/OnnxDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/Import/Lowering/TensorBuilder.h"

namespace zc {

/// The command line's choices of how nodes are lowered.
struct LoweringOptions {
  bool frozenBatchNorm = false;
  bool dropout = true;
};

/// Knows which values of the model's integer inputs are meaningful, as the
/// lowerings of the nodes that use them as indices say.
class InputRanges {
public:
  /// If `value` is an input, perhaps converted or reshaped: its elements lie in
  /// [min, max), or equal `ignored`.
  void restrict(mlir::Value value, int64_t min, int64_t max,
                std::optional<int64_t> ignored = std::nullopt);
  /// The attribute train.range of an input; null if nothing restricts it.
  mlir::Attribute get(mlir::BlockArgument input) const;

private:
  struct Range {
    int64_t min, max;
    std::optional<int64_t> ignored;
  };
  llvm::DenseMap<mlir::Value, Range> ranges;
};

/// Starts an error about a node: "model.onnx: node 'x' (Conv) in layers.0: ".
mlir::InFlightDiagnostic emitNodeError(onnx::NodeOp node);

/// One node during its lowering: operands as train values, attributes and
/// constant operands as C++ values. Getters that can fail have said why.
class NodeContext {
public:
  using Lookup = llvm::function_ref<mlir::Value(mlir::Value)>;

  /// `lookup` is called as long as the context lives.
  NodeContext(onnx::NodeOp node, mlir::OpBuilder &builder,
              const LoweringOptions &options, InputRanges &ranges,
              Lookup lookup);

  // --- Operands ---
  unsigned getNumOperands() { return node.getInputs().size(); }
  bool has(unsigned index) { return node.hasInput(index); }
  /// The operand as a train value; null when it is absent.
  mlir::Value operand(unsigned index);
  llvm::SmallVector<mlir::Value> operands();
  /// The train value of an operand of a node in front of this one; null if the
  /// operand is absent.
  mlir::Value operandOf(onnx::NodeOp other, unsigned index);
  /// The operand's initializer; null if it is computed.
  onnx::InitializerOp initializer(unsigned index);
  /// The elements of an operand that must be known at compile time.
  mlir::FailureOr<mlir::DenseElementsAttr> constant(unsigned index,
                                                    llvm::StringRef name);
  mlir::FailureOr<llvm::SmallVector<int64_t>> integers(unsigned index,
                                                       llvm::StringRef name);
  mlir::FailureOr<double> number(unsigned index, llvm::StringRef name);
  /// Integers that are an attribute in some versions of the operator and an
  /// operand in others; nullopt when they are absent.
  mlir::FailureOr<std::optional<llvm::SmallVector<int64_t>>>
  integersOrAttribute(unsigned index, llvm::StringRef name);

  // --- Attributes ---
  /// A float attribute as the author wrote it: 0.1 is stored as the nearest
  /// 32-bit float; the double nearest to 0.1 is what other precisions need.
  double getFloat(llvm::StringRef name, double absent);
  /// `axis` counted from the front.
  mlir::FailureOr<int64_t> getAxis(int64_t axis, int64_t rank);
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  getAxes(llvm::ArrayRef<int64_t> axes, int64_t rank);

  // --- Checks ---
  mlir::LogicalResult requireFloat(unsigned index);
  mlir::LogicalResult requireUnused(unsigned result, llvm::StringRef name);
  mlir::InFlightDiagnostic emitError() { return emitNodeError(node); }

  // --- Results ---
  mlir::RankedTensorType resultType(unsigned index = 0);
  llvm::ArrayRef<int64_t> resultShape(unsigned index = 0);
  bool isUsed(unsigned index) { return node.isOutputUsed(index); }
  mlir::LogicalResult set(unsigned index, mlir::Value value);
  mlir::LogicalResult set(mlir::Value value) { return set(0, value); }
  llvm::ArrayRef<mlir::Value> getResults() const { return results; }

  onnx::NodeOp node;
  TensorBuilder build;
  const LoweringOptions &options;
  InputRanges &ranges;

private:
  Lookup lookup;
  llvm::SmallVector<mlir::Value> results;
};

/// Brings two operands of the node to one shape, as numpy does.
mlir::LogicalResult broadcastTogether(NodeContext &context, mlir::Value &a,
                                      mlir::Value &b);

} // namespace zc

#endif // ZC_PASSES_IMPORT_LOWERING_NODECONTEXT_H
