// A call of an operator that ONNX does not define, and the body of standard
// operators that it becomes. All types are known at the call, so that a body is
// made for it: with the shapes as constants and without what the call lacks.
#ifndef ZC_COMPILER_IMPORT_CONTRIB_CONTRIBCALL_H
#define ZC_COMPILER_IMPORT_CONTRIB_CONTRIBCALL_H

#include "compiler/Import/HostTensor.h"
#include "compiler/OnnxModel/Proto.h"

#include "onnx/defs/attr_proto_util.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace zc {

class ContribCall {
public:
  using Names = std::vector<std::string>;
  using Attributes = std::vector<proto::AttributeProto>;

  /// `types`: of the operands; null for one that is left out.
  ContribCall(const proto::NodeProto &node,
              std::vector<const proto::TypeProto *> types);

  // --- The call ---
  /// The operand's name in the body; empty: it is left out.
  std::string operand(unsigned index) const;
  bool has(unsigned index) const { return !operand(index).empty(); }
  Dims dims(unsigned index) const;
  int32_t elementType(unsigned index) const;
  int64_t getInt(llvm::StringRef name, int64_t otherwise) const;
  double getFloat(llvm::StringRef name, double otherwise) const;
  std::string getString(llvm::StringRef name) const;
  std::vector<int64_t> getInts(llvm::StringRef name) const;
  std::vector<double> getFloats(llvm::StringRef name) const;
  const proto::AttributeProto *find(llvm::StringRef name) const;
  /// Whether the call has an output of that number.
  bool wants(unsigned output) const;

  // --- The body ---
  /// A node with one output, whose name is returned.
  std::string add(const char *op, Names inputs, Attributes attributes = {});
  Names addMany(const char *op, Names inputs, Attributes attributes,
                unsigned outputs);
  std::string ints(std::vector<int64_t> values);
  /// A scalar of the type that `like` has.
  std::string number(double value, const std::string &like);
  std::string reshape(const std::string &value, Dims dims);
  std::string transpose(const std::string &value, std::vector<int64_t> order);
  std::string slice(const std::string &value, int64_t axis, int64_t begin,
                    int64_t end);
  Names split(const std::string &value, int64_t axis,
              std::vector<int64_t> sizes);
  std::string cast(const std::string &value, int32_t type);
  /// 0, 1, … count-1, int64.
  std::string iota(int64_t count);
  void give(unsigned output, const std::string &value);

  /// Takes what was built; its operands have the names that `operand` gave.
  proto::FunctionProto take() { return std::move(body); }

private:
  const proto::NodeProto &node;
  std::vector<const proto::TypeProto *> types;
  proto::FunctionProto body;
  unsigned values = 0;
};

/// An attribute of a node of the body.
template <typename T>
proto::AttributeProto attribute(const char *name, T value) {
  return proto::MakeAttribute(std::string(name), std::move(value));
}

/// Refuses a call: what is there that zc does not open.
template <typename... Parts> llvm::Error refuse(const Parts &...parts) {
  std::string text;
  (text.append(parts), ...);
  return llvm::createStringError(text);
}

} // namespace zc

#endif
