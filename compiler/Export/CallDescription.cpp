//===- CallDescription.cpp - ops as rooms of library calls see them -------===//
#include "compiler/Export/CallDescription.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace zc {

static kernels::CallAttribute describeAttribute(StringRef name,
                                                Attribute value) {
  kernels::CallAttribute result;
  result.name = name.str();
  if (auto list = dyn_cast<DenseI64ArrayAttr>(value))
    result.integers.assign(list.asArrayRef().begin(), list.asArrayRef().end());
  else if (auto integer = dyn_cast<IntegerAttr>(value))
    result.integers.push_back(integer.getInt());
  else if (auto number = dyn_cast<FloatAttr>(value))
    result.number = number.getValueAsDouble();
  else if (auto text = dyn_cast<StringAttr>(value))
    result.text = text.str();
  return result;
}

/// "train.norm.addend" in "train.norm", or null.
static Attribute findAttribute(DictionaryAttr attributes, StringRef name) {
  if (Attribute found = attributes.get(name))
    return found;
  auto [dictionary, key] = name.rsplit('.');
  auto inner = attributes.getAs<DictionaryAttr>(dictionary);
  return inner ? inner.get(key) : nullptr;
}

std::vector<kernels::CallAttribute>
describeAttributes(DictionaryAttr attributes, const kernels::CallKind &kind) {
  std::vector<kernels::CallAttribute> result;
  for (std::string_view name : kind.attributes)
    if (Attribute value = findAttribute(attributes, name))
      result.push_back(describeAttribute(name, value));
  return result;
}

static kernels::ElementType elementTypeOf(Type type) {
  using Element = kernels::ElementType;
  if (type.isBF16())
    return Element::BF16;
  if (type.isF16())
    return Element::F16;
  if (type.isF64())
    return Element::F64;
  if (type.isInteger(64))
    return Element::I64;
  // As the plan has them (getDataType).
  if (isa<Float8E4M3FNType>(type))
    return Element::U8;
  if (isa<Float8E5M2Type>(type))
    return Element::I8;
  return type.isInteger(32) ? Element::I32 : Element::F32;
}

static std::vector<kernels::CallTensor> describeTensors(TypeRange types) {
  std::vector<kernels::CallTensor> tensors;
  for (Type type : types) {
    auto tensor = cast<ShapedType>(type);
    tensors.push_back(
        {elementTypeOf(tensor.getElementType()), tensor.getShape().vec()});
  }
  return tensors;
}

std::optional<kernels::CallSpec> describeKernel(Operation *op) {
  const kernels::CallKind *kind =
      op->getDialect() && op->getDialect()->getNamespace() == "train"
          ? kernels::findCallKind(op->getName().stripDialect())
          : nullptr;
  if (!kind)
    return std::nullopt;
  kernels::LibraryCall call;
  call.op = op->getName().stripDialect().str();
  call.inputs = describeTensors(op->getOperandTypes());
  call.outputs = describeTensors(op->getResultTypes());
  call.attributes = describeAttributes(op->getAttrDictionary(), *kind);
  return kind->specOf(call);
}

} // namespace zc
