// Where an operation comes from in the author's model. The importer gives every
// operation this chain of locations, and all later passes keep or fuse them:
//
//   NameLoc(node, NameLoc(module path, NameLoc(operator, FileLineCol(file))))
//
// so any diagnostic can say: model.onnx: node 'x' (Conv) in layers.0.conv.
#ifndef ZC_DIALECTS_ONNX_LOCATION_H
#define ZC_DIALECTS_ONNX_LOCATION_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace zc::onnx {

/// Takes the operator's place in the location of an initializer.
inline constexpr llvm::StringLiteral kInitializer = "initializer";

/// One node of the author's model. Strings live in the MLIR context.
struct NodeOrigin {
  llvm::StringRef node;   // the node's name; its first output's if it has none
  llvm::StringRef module; // "layers.0.conv"; empty: the root, or not known
  llvm::StringRef operatorName; // "Conv", "com.microsoft.FusedMatMul"
  llvm::StringRef file;         // "model.onnx"
};

mlir::Location makeLocation(mlir::MLIRContext *context,
                            const NodeOrigin &origin);

/// The first node that `location` leads to; none for operations that zc made.
std::optional<NodeOrigin> getOrigin(mlir::Location location);

/// "model.onnx: node 'x' (Conv) in layers.0.conv", of as many parts as are
/// known; empty when the location leads to no node.
std::string describe(mlir::Location location);

/// "layers.0.conv", or empty.
llvm::StringRef getModulePath(mlir::Location location);

/// A module's path up to its place in a list of layers, "encoder.layers.3" of
/// "encoder.layers.3.attention"; empty outside of any.
llvm::StringRef getLayerPath(llvm::StringRef path);

} // namespace zc::onnx

#endif
