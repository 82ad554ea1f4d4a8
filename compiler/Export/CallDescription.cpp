//===- CallDescription.cpp - ops as rooms of library calls see them -------===//
#include "compiler/Export/CallDescription.h"

#include "dialects/Sched/SchedDialect.h"
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

static bool isDescribable(Attribute value) {
  return isa<DenseI64ArrayAttr, FloatAttr, StringAttr, UnitAttr>(value) ||
         (isa<IntegerAttr>(value) && !isa<BoolAttr>(value));
}

static std::string checkAttribute(const Twine &name, Attribute value,
                                  const kernels::CallKind &kind) {
  const std::string text = name.str();
  if (llvm::is_contained(kind.implied, text))
    return "";
  if (!llvm::is_contained(kind.attributes, text))
    return "attribute '" + text + "' is unknown to calls of kind '" +
           kind.name + "'";
  return isDescribable(value) ? ""
                              : "attribute '" + text +
                                    "' is neither integers, a number, a text "
                                    "nor a mark";
}

std::string checkOpAttributes(DictionaryAttr attributes,
                              const kernels::CallKind &kind) {
  std::string error;
  for (NamedAttribute each : attributes) {
    StringRef name = each.getName();
    auto joined = dyn_cast<DictionaryAttr>(each.getValue());
    if (name.contains('.') && !joined)
      continue;
    if (!joined)
      error = checkAttribute(name, each.getValue(), kind);
    else
      for (NamedAttribute inner : joined)
        if (error.empty())
          error = checkAttribute(name + "." + inner.getName().getValue(),
                                 inner.getValue(), kind);
    if (!error.empty())
      break;
  }
  return error;
}

static kernels::ElementType elementTypeOf(Type type) {
  using Element = kernels::ElementType;
  if (type.isF32())
    return Element::F32;
  if (type.isBF16())
    return Element::BF16;
  if (type.isF16())
    return Element::F16;
  if (type.isF64())
    return Element::F64;
  // As the plan has them (getDataType).
  if (isa<Float8E4M3FNType>(type))
    return Element::U8;
  if (isa<Float8E5M2Type>(type))
    return Element::I8;
  if (!isa<IntegerType>(type)) // no call has other types
    return Element::F32;
  const bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return Element::Bool;
  case 8:
    return isUnsigned ? Element::U8 : Element::I8;
  case 16:
    return isUnsigned ? Element::U16 : Element::I16;
  case 32:
    return isUnsigned ? Element::U32 : Element::I32;
  default:
    return isUnsigned ? Element::U64 : Element::I64;
  }
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

/// "train.matmul" with these operands and attributes as a call.
static std::optional<DescribedCall> describe(StringRef op, TypeRange inputs,
                                             TypeRange outputs,
                                             DictionaryAttr attributes) {
  auto [dialect, name] = op.split('.');
  const kernels::CallKind *kind =
      dialect == "train" ? kernels::findCallKind(name) : nullptr;
  if (!kind)
    return std::nullopt;
  DescribedCall described = {kind, {}};
  described.call.op = name.str();
  described.call.inputs = describeTensors(inputs);
  described.call.outputs = describeTensors(outputs);
  described.call.attributes = describeAttributes(attributes, *kind);
  return described;
}

std::optional<DescribedCall> describeOp(Operation *op) {
  if (auto call = dyn_cast<sched::LibraryCallOp>(op))
    return describe(call.getOp(), call.getInputs().getTypes(),
                    call.getOutputs().getTypes(), call.getConfig());
  return describe(op->getName().getStringRef(), op->getOperandTypes(),
                  op->getResultTypes(), op->getAttrDictionary());
}

} // namespace zc
