// NonZero, Compress and Unique, whose results are as long as values say. Where
// --dim gives the most there can be, the result is that long, and a mask tells
// which places hold something.
#include "compiler/Import/DimBinding.h"
#include "compiler/Import/GraphImporter.h"
#include "compiler/Import/Types.h"

#include "onnx/defs/attr_proto_util.h"
#include <limits>

using namespace mlir;
using namespace zc;
using Data = proto::TensorProto;

// Unique compares all pairs of elements.
static constexpr int64_t kMostCompared = 1 << 12;

ImportedValue *GraphImporter::ints(ArrayRef<int64_t> values) {
  return makeConstant("bounds", HostTensor::ofInts(values));
}

ImportedValue *GraphImporter::iota(int64_t count) {
  return ints(llvm::to_vector(llvm::seq<int64_t>(0, count)));
}

// The size that --dim gives to dim `dim` of the node's first result.
std::optional<int64_t>
GraphImporter::findLengthBound(const proto::NodeProto &node, int64_t dim) {
  for (const auto &[name, size] : options.dims)
    if (namesLength(file.model.graph(), node.output(0), dim, name))
      return size;
  return std::nullopt;
}

ImportedValue *GraphImporter::fillUnheld(ImportedValue *value,
                                         ImportedValue *held, int64_t dim,
                                         double scalar,
                                         const proto::NodeProto &node,
                                         Scope &scope) {
  Dims shape(getStaticDims(value->type)->size() - dim, 1);
  shape[0] = getStaticDims(held->type)->front();
  ImportedValue *mask = compute("Reshape", {held, ints(shape)}, node, scope);
  return compute("Where", {mask, value, makeScalarLike(*value, scalar)}, node,
                 scope);
}

// Where nothing is held, what the first place holds: whatever is computed of it
// there is as much a number, and has as much of a slope, as where it is held.
ImportedValue *GraphImporter::repeatFirst(ImportedValue *value,
                                          ImportedValue *held,
                                          const proto::NodeProto &node,
                                          Scope &scope) {
  ImportedValue *first =
      compute("Slice", {value, ints({0}), ints({1})}, node, scope);
  return compute("Where", {held, value, first}, node, scope);
}

void GraphImporter::noteShortBound(ImportedValue *isShort,
                                   const proto::NodeProto &node, Scope &scope) {
  if (!isShort)
    return;
  if (shortBound)
    isShort = compute("Or", {shortBound->first, isShort}, node, scope);
  shortBound = {isShort, node};
}

// Makes an output NaN if a bound was too short. Only outputs are spoilt:
// integers and bools on the way have no NaN, and a value computed from NaN may
// be a number.
ImportedValue *GraphImporter::spoilOutput(ImportedValue *value, Scope &scope) {
  if (!shortBound || !isFloatType(value->type.tensor_type().elem_type()))
    return value;
  ImportedValue *nan =
      makeScalarLike(*value, std::numeric_limits<double>::quiet_NaN());
  return compute("Where", {shortBound->first, nan, value}, shortBound->second,
                 scope);
}

// A value of its own, for others may have the same nodes.
ImportedValue *GraphImporter::markBounded(ImportedValue *value,
                                          const ImportedValue &selection,
                                          int64_t dim,
                                          const proto::NodeProto &node,
                                          Scope &scope) {
  if (value->kind != ImportedValue::Tensor)
    return value;
  ImportedValue *marked = makeValue(ImportedValue::Tensor, value->name);
  *marked = *value;
  marked->boundedDim = dim;
  marked->held = selection.held;
  return marked;
}

bool GraphImporter::importBoundedSelection(const proto::NodeProto &node,
                                           const Outputs &inputs,
                                           Scope &scope) {
  StringRef op = node.op_type();
  const bool isNonZero = op == "NonZero";
  if (!node.domain().empty() ||
      !(isNonZero || op == "Compress" || op == "Unique"))
    return false;
  std::optional<int64_t> axis;
  bool sorted = true;
  for (const proto::AttributeProto &attribute : node.attribute())
    if (attribute.name() == "axis")
      axis = attribute.i();
    else if (attribute.name() == "sorted")
      sorted = attribute.i();
  Dims dims = *getStaticDims(inputs[0]->type);
  if (axis)
    axis = *axis < 0 ? *axis + int64_t(dims.size()) : *axis;
  const int64_t lengthDim = isNonZero ? 1 : axis.value_or(0);
  std::optional<int64_t> given = findLengthBound(node, lengthDim);
  if (!given || (op == "Unique" && axis))
    return false;

  auto run = [&](const char *kind, const Outputs &operands,
                 std::vector<proto::AttributeProto> attributes = {}) {
    return compute(kind, operands, node, scope, std::move(attributes));
  };
  auto cast = [&](ImportedValue *value, int64_t type) {
    return run("Cast", {value}, {proto::MakeAttribute("to", type)});
  };
  auto sum = [&](ImportedValue *value, ArrayRef<int64_t> axes) {
    return run("ReduceSum", {value, ints(axes)},
               {proto::MakeAttribute("keepdims", int64_t(0))});
  };
  auto flat = [&](ImportedValue *value) {
    return run("Reshape", {value, ints({-1})});
  };
  ImportedValue *condition =
      cast(op == "Compress" ? inputs[1] : inputs[0], Data::BOOL);
  ImportedValue *source =
      op == "Compress" && axis ? inputs[0] : flat(inputs[0]);
  const int64_t count = op == "Compress"
                            ? getNumElements(*getStaticDims(inputs[1]->type))
                            : getNumElements(dims);
  const int64_t bound = std::min(*given, count);
  ImportedValue *order = iota(count), *rank = nullptr;
  if (op == "Unique") {
    if (count > kMostCompared) {
      emitFailure(getLocation(node, scope))
          << "compares " << count << " elements with one another, more than "
          << kMostCompared;
      defineUnknown(node, scope);
      return true;
    }
    // Rows: each element; columns: all others.
    ImportedValue *row = run("Reshape", {source, ints({count, 1})});
    ImportedValue *place = run("Reshape", {order, ints({count, 1})});
    ImportedValue *equal = run("Equal", {row, source});
    ImportedValue *earlier =
        cast(run("And", {equal, run("Less", {order, place})}), Data::INT64);
    condition = run("Equal", {sum(earlier, {1}), ints({0})});
    ImportedValue *first = condition;
    if (sorted) {
      ImportedValue *less = run("And", {run("Less", {source, row}), first});
      rank = sum(cast(less, Data::INT64), {1});
    } else {
      ImportedValue *numbers = cast(first, Data::INT64);
      ImportedValue *before =
          run("Sub", {run("CumSum", {numbers, ints({0})}), ints({1})});
      ImportedValue *own = cast(run("And", {equal, first}), Data::INT64);
      rank = sum(run("Mul", {own, before}), {1});
    }
  } else {
    condition = flat(condition);
    ImportedValue *numbers = cast(condition, Data::INT64);
    rank = run("Sub", {run("CumSum", {numbers, ints({0})}), ints({1})});
  }
  ImportedValue *total = sum(cast(condition, Data::INT64), {0});
  // Elements that are not chosen, or find no room, go behind the end.
  ImportedValue *fits =
      run("And", {condition, run("Less", {rank, ints({bound})})});
  ImportedValue *target = run("Where", {fits, rank, ints({bound})});
  auto put = [&](ImportedValue *values, const char *reduction) {
    ImportedValue *table = run("ConstantOfShape", {ints({bound + 1})},
                               {proto::MakeAttribute("value", [] {
                                 proto::TensorProto zero;
                                 zero.set_data_type(Data::INT64);
                                 zero.add_dims(1);
                                 zero.add_int64_data(0);
                                 return zero;
                               }())});
    ImportedValue *all =
        run("ScatterElements", {table, target, values},
            {proto::MakeAttribute("reduction", std::string(reduction))});
    return run("Slice", {all, ints({0}), ints({bound})});
  };
  ImportedValue mark;
  mark.held = run("Less", {iota(bound), total});
  ImportedValue *places =
      repeatFirst(put(order, "none"), mark.held, node, scope);
  ImportedValue *most = makeConstant("bounds", [&] {
    HostTensor scalar(Data::INT64, {});
    scalar.ints[0] = bound;
    return scalar;
  }());
  noteShortBound(run("Greater", {total, most}), node, scope);
  auto give = [&](int index, ImportedValue *value, int64_t dim) {
    if (index < node.output_size() && !node.output(index).empty())
      define(node.output(index), markBounded(value, mark, dim, node, scope),
             scope);
  };
  if (isNonZero) {
    Outputs rows;
    Dims strides = getStrides(dims);
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      ImportedValue *row = run("Div", {places, ints({strides[dim]})});
      row = run("Mod", {row, ints({dims[dim]})});
      rows.push_back(run("Unsqueeze", {row, ints({0})}));
    }
    give(0, run("Concat", rows, {proto::MakeAttribute("axis", int64_t(0))}), 1);
    return true;
  }
  // Ones where none was chosen, so that logarithms and quotients are numbers.
  ImportedValue *chosen = run("Gather", {source, places},
                              {proto::MakeAttribute("axis", axis.value_or(0))});
  give(0,
       run("Where", {run("Greater", {total, ints({0})}), chosen,
                     makeScalarLike(*chosen, 1)}),
       lengthDim);
  if (op == "Unique") {
    give(1, places, 0);
    if (node.output_size() > 2 && !node.output(2).empty())
      define(node.output(2), rank, scope);
    if (node.output_size() > 3 && !node.output(3).empty()) {
      // Every element counts, not the first of its kind alone.
      target = run("Where",
                   {run("Less", {rank, ints({bound})}), rank, ints({bound})});
      ImportedValue *ones =
          run("Add", {run("Mul", {order, ints({0})}), ints({1})});
      give(3, repeatFirst(put(ones, "add"), mark.held, node, scope), 0);
    }
  }
  return true;
}
