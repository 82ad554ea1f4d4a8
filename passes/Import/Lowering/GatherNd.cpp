//===- GatherNd.cpp - GatherND
//----------------------------------------------===//
//
// x[arange(N), lengths] reads of each sample one of its own rows, and a mask at
// [arange(N)[:, None], arange(T)] is that mask. Where an index counts up with a
// dim of the result, the dim that it indexes is that dim: nothing is looked up
// along it, and ranks that divide it need nothing of one another.
//
//===----------------------------------------------------------------------===//
#include "passes/Import/Lowering/Indexing.h"

using namespace mlir;
using namespace zc;

namespace {

/// An index that is `offset` plus the place along dim `place` of the result,
/// or, with -1, `offset` everywhere.
struct CountedIndex {
  int64_t place, offset;
};

class GatherNd {
public:
  GatherNd(NodeContext &context, int64_t batch)
      : context(context), build(context.build), table(context.operand(0)),
        indices(context.operand(1)), batch(batch),
        places(shapeOf(indices).drop_back()) {}

  LogicalResult run();

private:
  void findShared();
  std::optional<CountedIndex> findCounted(int64_t part);
  void arrangeTable();
  Value lookUp();

  NodeContext &context;
  TensorBuilder &build;
  Value table, indices;
  int64_t batch;
  SmallVector<int64_t> places;
  SmallVector<int64_t> shared;     // dims of the places that are the table's
  SmallVector<int64_t> sharedDims; // the table's, in that order
  SmallVector<int64_t> fixedDims;  // of the table, of one element left
  SmallVector<int64_t> lookedUp;   // indices that are anything else
};

} // namespace

// --- What the model knows of the indices -----------------------------------

/// The operand of a Concat along the last dim that holds element `part` of the
/// vectors; `part` then counts in it.
static Value findPart(Value vectors, int64_t &part) {
  auto node = vectors.getDefiningOp<onnx::NodeOp>();
  int64_t last = rankOf(vectors) - 1;
  if (!node || node.getOpType() != "Concat" || !node.getDomain().empty())
    return vectors;
  int64_t axis = node.getInt("axis", 0);
  if (axis != last && axis != -1)
    return vectors;
  for (Value input : node.getInputs()) {
    int64_t size = shapeOf(input).back();
    if (part < size)
      return findPart(input, part);
    part -= size;
  }
  return vectors;
}

static std::optional<CountedIndex>
matchCount(DenseElementsAttr vectors, int64_t part, ArrayRef<int64_t> places) {
  auto elements = vectors.getValues<int64_t>();
  int64_t depth = cast<ShapedType>(vectors.getType()).getShape().back();
  auto at = [&](int64_t place) { return elements[place * depth + part]; };
  SmallVector<int64_t> strides = rowMajorStrides(places);
  CountedIndex found{-1, at(0)};
  for (auto [dim, size] : llvm::enumerate(places))
    if (size > 1 && at(strides[dim]) != found.offset) {
      if (found.place >= 0)
        return std::nullopt;
      found.place = dim;
    }
  int64_t count = ShapedType::getNumElements(places);
  for (int64_t place = 0; place < count; ++place) {
    int64_t along = found.place < 0
                        ? 0
                        : place / strides[found.place] % places[found.place];
    if (at(place) != found.offset + along)
      return std::nullopt;
  }
  return found;
}

std::optional<CountedIndex> GatherNd::findCounted(int64_t part) {
  int64_t size = shapeOf(table)[batch + part];
  Value source = findPart(context.node.getOptionalInput(1), part);
  auto initializer = source.getDefiningOp<onnx::InitializerOp>();
  auto vectors = dyn_cast_or_null<DenseElementsAttr>(
      initializer ? initializer.getValue().value_or(nullptr) : nullptr);
  if (!vectors || !vectors.getElementType().isInteger(64) ||
      vectors.getNumElements() == 0)
    return std::nullopt;
  std::optional<CountedIndex> found = matchCount(vectors, part, places);
  if (!found)
    return std::nullopt;
  if (found->offset < 0)
    found->offset += size;
  int64_t count = found->place < 0 ? 1 : places[found->place];
  bool isInside = found->offset >= 0 && found->offset + count <= size;
  bool isTaken = found->place >= 0 && found->place < batch;
  return isInside && !isTaken ? found : std::nullopt;
}

/// Finds dims that table and places share; cuts off what is not read of them.
void GatherNd::findShared() {
  for (int64_t dim = 0; dim < batch; ++dim) {
    shared.push_back(dim);
    sharedDims.push_back(dim);
  }
  SmallVector<std::pair<int64_t, int64_t>> counted; // place, dim of the table
  for (int64_t part = 0; part < shapeOf(indices).back(); ++part) {
    int64_t dim = batch + part;
    std::optional<CountedIndex> found = findCounted(part);
    bool isDiagonal = found && llvm::any_of(counted, [&](const auto &other) {
                        return other.first == found->place;
                      });
    if (!found || isDiagonal) {
      lookedUp.push_back(part);
      continue;
    }
    int64_t size = found->place < 0 ? 1 : places[found->place];
    table = build.slice(table, dim, found->offset, size);
    if (found->place < 0)
      fixedDims.push_back(dim);
    else
      counted.push_back({found->place, dim});
  }
  llvm::sort(counted);
  for (auto [place, dim] : counted) {
    shared.push_back(place);
    sharedDims.push_back(dim);
  }
}

// --- Looking up what is left -----------------------------------------------

/// The table as [shared..., all that is looked up, inner...].
void GatherNd::arrangeTable() {
  SmallVector<int64_t> order(sharedDims), shape;
  for (int64_t dim : sharedDims)
    shape.push_back(shapeOf(table)[dim]);
  llvm::append_range(order, fixedDims);
  int64_t rows = 1;
  for (int64_t part : lookedUp) {
    order.push_back(batch + part);
    rows *= shapeOf(table)[batch + part];
  }
  shape.push_back(rows);
  for (int64_t dim = batch + shapeOf(indices).back(); dim < rankOf(table);
       ++dim) {
    order.push_back(dim);
    shape.push_back(shapeOf(table)[dim]);
  }
  table = build.reshape(build.transpose(table, order), shape);
}

/// The rows as [places..., inner...].
Value GatherNd::lookUp() {
  int64_t numShared = shared.size(), numPlaces = places.size();
  SmallVector<int64_t> order(shared), sizes;
  for (int64_t place = 0; place < numPlaces; ++place)
    if (!llvm::is_contained(shared, place))
      order.push_back(place);
  for (int64_t part : lookedUp)
    sizes.push_back(shapeOf(context.operand(0))[batch + part]);
  Value at = flatPosition(build, indices, lookedUp, sizes);
  Value rows = build.gather(table, build.transpose(at, order), numShared,
                            /*batchDims=*/numShared);
  SmallVector<int64_t> back(rankOf(rows));
  for (int64_t dim = 0; dim < rankOf(rows); ++dim)
    back[dim < numPlaces ? order[dim] : dim] = dim;
  return build.transpose(rows, back);
}

LogicalResult GatherNd::run() {
  findShared();
  arrangeTable();
  if (!lookedUp.empty())
    return context.set(lookUp());
  SmallVector<int64_t> dims(shared), shape(shapeOf(table));
  shape.erase(shape.begin() + shared.size());
  for (int64_t dim = places.size(), rank = context.resultShape().size();
       dim < rank; ++dim)
    dims.push_back(dim);
  Value rows = build.reshape(table, shape);
  return context.set(build.broadcast(rows, context.resultShape(), dims));
}

LogicalResult zc::lowerGatherNd(NodeContext &context) {
  int64_t batch = context.node.getInt("batch_dims", 0);
  if (failed(requireIndexVectors(context, batch)))
    return failure();
  return GatherNd(context, batch).run();
}
