//===- DistOps.cpp - what collectives do to shardings, and to parts -------===//
#include "dialects/Dist/DistDialect.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace zc;
using namespace zc::dist;

#define GET_OP_CLASSES
#include "dialects/Dist/DistOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

static LogicalResult verifyAxes(Operation *op, ArrayAttr axes) {
  MeshAttr mesh = getMesh(op);
  if (axes.empty())
    return op->emitOpError() << "has no axes";
  for (auto axis : axes.getAsRange<StringAttr>())
    if (mesh && mesh.findAxis(axis) < 0)
      return op->emitOpError() << "goes along '" << axis.getValue()
                               << "', which is no axis of " << mesh;
  return success();
}

static LogicalResult verifyDim(Operation *op, int64_t dim) {
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  if (type.getRank() != result.getRank() ||
      type.getElementType() != result.getElementType())
    return op->emitOpError() << "makes " << result << " of " << type;
  if (dim >= 0 && dim < type.getRank())
    return success();
  return op->emitOpError() << "has no dim " << dim << ": " << type;
}

/// Whole tensors, or parts along `dim` of one another: `larger` is `times` as
/// large as `smaller`.
static LogicalResult verifySizes(Operation *op, int64_t dim, bool grows) {
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  for (int64_t i = 0; i < from.getRank(); ++i) {
    int64_t small = grows ? from.getDimSize(i) : to.getDimSize(i);
    int64_t large = grows ? to.getDimSize(i) : from.getDimSize(i);
    if (small == large || (i == dim && large % small == 0))
      continue;
    return op->emitOpError() << "makes " << to << " of " << from;
  }
  return success();
}

/// Coordinates along one axis, ascending; the rank that runs the op is one.
template <typename Op> static LogicalResult verifyHolders(Op op) {
  std::optional<ArrayRef<int64_t>> holders = op.getHolders();
  if (!holders)
    return success();
  bool ascends =
      holders->size() > 1 && holders->front() >= 0 &&
      llvm::all_of(llvm::zip(*holders, holders->drop_front()), [](auto pair) {
        return std::get<0>(pair) < std::get<1>(pair);
      });
  MeshAttr mesh = getMesh(op);
  bool fits = !mesh || holders->back() < getGroupSize(mesh, op.getAxes());
  if (op.getAxes().size() == 1 && ascends && fits)
    return success();
  return op.emitOpError("expected holders that are ascending coordinates along "
                        "one axis, found ")
         << op.getHoldersAttr();
}

LogicalResult AllReduceOp::verify() {
  return failure(failed(verifyAxes(*this, getAxes())) ||
                 failed(verifyHolders(*this)));
}

LogicalResult RoleSumOp::verify() {
  return failure(failed(verifyAxes(*this, getAxes())) ||
                 failed(verifyHolders(*this)));
}

LogicalResult AllGatherOp::verify() {
  return failure(failed(verifyAxes(*this, getAxes())) ||
                 failed(verifyDim(*this, getDim())) ||
                 failed(verifySizes(*this, getDim(), /*grows=*/true)));
}

LogicalResult ReduceScatterOp::verify() {
  return failure(failed(verifyAxes(*this, getAxes())) ||
                 failed(verifyDim(*this, getDim())) ||
                 failed(verifySizes(*this, getDim(), /*grows=*/false)));
}

LogicalResult AllToAllOp::verify() {
  return failure(failed(verifyAxes(*this, getAxes())) ||
                 failed(verifyDim(*this, getFrom())) ||
                 failed(verifyDim(*this, getTo())));
}

LogicalResult SliceOp::verify() {
  return failure(failed(verifyAxes(*this, getAxes())) ||
                 failed(verifyDim(*this, getDim())) ||
                 failed(verifySizes(*this, getDim(), /*grows=*/false)));
}

LogicalResult TermsOp::verify() {
  if (failed(verifyAxes(*this, getAxes())))
    return failure();
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getResult().getType());
  MeshAttr mesh = getMesh(*this);
  bool fits = from.getElementType() == to.getElementType() &&
              to.getRank() == from.getRank() + 1 &&
              to.getShape().drop_front() == from.getShape();
  if (fits && mesh)
    fits = to.getDimSize(0) == getGroupSize(mesh, getAxes());
  if (fits)
    return success();
  InFlightDiagnostic error = emitOpError() << "makes " << to << " of " << from;
  if (mesh)
    error << " among " << getGroupSize(mesh, getAxes()) << " ranks";
  return error;
}

template <typename Op> static LogicalResult verifyRooted(Op op) {
  if (failed(verifyAxes(op, op.getAxes())))
    return failure();
  MeshAttr mesh = getMesh(op);
  int64_t root = op.getRootNumber(), ranks = getGroupSize(mesh, op.getAxes());
  if (root >= 0 && (!mesh || root < ranks))
    return success();
  InFlightDiagnostic error = op.emitOpError()
                             << "has the root " << root << "; expected a rank";
  return mesh ? error << " of its group of " << ranks : error;
}

/// One of the two is the other times the group's ranks along dim 0.
static LogicalResult verifyStack(CollectiveOpInterface op, Value part,
                                 Value all) {
  auto few = cast<RankedTensorType>(part.getType());
  auto many = cast<RankedTensorType>(all.getType());
  MeshAttr mesh = getMesh(op);
  bool fits = few.getElementType() == many.getElementType() &&
              few.getRank() == many.getRank() && few.getRank() > 0 &&
              few.getShape().drop_front() == many.getShape().drop_front();
  if (fits && mesh)
    fits = many.getDimSize(0) ==
           few.getDimSize(0) * getGroupSize(mesh, op.getAxes());
  else if (fits)
    fits = many.getDimSize(0) % few.getDimSize(0) == 0;
  if (fits)
    return success();
  InFlightDiagnostic error = op->emitOpError()
                             << "makes " << op->getResult(0).getType() << " of "
                             << op->getOperand(0).getType();
  if (mesh)
    error << " among " << getGroupSize(mesh, op.getAxes()) << " ranks";
  return error;
}

LogicalResult BroadcastOp::verify() {
  if (getServed() && !getOfServer())
    return emitOpError("has served = ")
           << getServedAttr() << ", and is not of_server";
  return verifyRooted(*this);
}

LogicalResult ReduceOp::verify() { return verifyRooted(*this); }

LogicalResult GatherOp::verify() {
  return failure(failed(verifyRooted(*this)) ||
                 failed(verifyStack(*this, getInput(), getResult())));
}

LogicalResult ScatterOp::verify() {
  return failure(failed(verifyRooted(*this)) ||
                 failed(verifyStack(*this, getResult(), getInput())));
}

LogicalResult SendReceiveOp::verify() {
  if (failed(verifyAxes(*this, getAxes())))
    return failure();
  MeshAttr mesh = getMesh(*this);
  if (mesh && getDistance() % getGroupSize(mesh, getAxes()) == 0)
    return emitOpError() << "sends " << getDistance()
                         << " ranks further, in a group of "
                         << getGroupSize(mesh, getAxes()) << ": to itself";
  return success();
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

namespace {

/// A sharding being changed.
struct Change {
  explicit Change(ShardingAttr before)
      : dims(before.getDims()), unreduced(before.getUnreduced()),
        context(before.getContext()) {}

  ShardingAttr get() { return ShardingAttr::get(context, dims, unreduced); }

  /// Takes `axes` out of the unreduced ones.
  bool reduce(ArrayAttr axes, std::string &error) {
    for (auto axis : axes.getAsRange<StringAttr>()) {
      auto found = llvm::find(unreduced, axis);
      if (found == unreduced.end()) {
        error = "the operand is not unreduced over '" + axis.str() + "'";
        return false;
      }
      unreduced.erase(found);
    }
    return true;
  }

  void divide(int64_t dim, ArrayAttr axes) {
    SmallVector<Attribute> all(dims[dim].begin(), dims[dim].end());
    all.append(axes.begin(), axes.end());
    dims[dim] = ArrayAttr::get(context, all);
  }

  /// Takes `axes` from the end of those that divide `dim`.
  bool gather(int64_t dim, ArrayAttr axes, std::string &error) {
    ArrayRef<Attribute> all = dims[dim].getValue();
    if (all.size() < axes.size() ||
        all.take_back(axes.size()) != axes.getValue()) {
      error =
          "dim " + std::to_string(dim) + " of the operand is not divided so";
      return false;
    }
    dims[dim] = ArrayAttr::get(context, all.drop_back(axes.size()));
    return true;
  }

  SmallVector<ArrayAttr> dims;
  SmallVector<StringAttr> unreduced;
  MLIRContext *context;
};

} // namespace

ShardingAttr AllReduceOp::applyTo(ShardingAttr before, std::string &error) {
  Change change(before);
  return change.reduce(getAxes(), error) ? change.get() : ShardingAttr();
}

ShardingAttr RoleSumOp::applyTo(ShardingAttr before, std::string &error) {
  if (before.getUnreduced().empty())
    return before;
  error = "the operand is to be reduced first";
  return {};
}

ShardingAttr RoleSumOp::getOperandSharding(ShardingAttr before) {
  if (auto fixed = (*this)->getAttrOfType<ShardingAttr>(kShardingAttr))
    return fixed;
  return ShardingAttr::get(getContext(), before.getDims(), {});
}

ShardingAttr AllGatherOp::applyTo(ShardingAttr before, std::string &error) {
  Change change(before);
  return change.gather(getDim(), getAxes(), error) ? change.get()
                                                   : ShardingAttr();
}

ShardingAttr ReduceScatterOp::applyTo(ShardingAttr before, std::string &error) {
  Change change(before);
  if (!change.reduce(getAxes(), error))
    return {};
  change.divide(getDim(), getAxes());
  return change.get();
}

ShardingAttr AllToAllOp::applyTo(ShardingAttr before, std::string &error) {
  Change change(before);
  if (!change.gather(getFrom(), getAxes(), error))
    return {};
  change.divide(getTo(), getAxes());
  return change.get();
}

ShardingAttr SliceOp::applyTo(ShardingAttr before, std::string &) {
  Change change(before);
  change.divide(getDim(), getAxes());
  return change.get();
}

/// The axes are no longer summed over, but divide the new dim.
ShardingAttr TermsOp::applyTo(ShardingAttr before, std::string &error) {
  SmallVector<ArrayAttr> dims = {getAxes()};
  llvm::append_range(dims, before.getDims());
  SmallVector<StringAttr> unreduced;
  for (StringAttr axis : before.getUnreduced())
    if (!llvm::is_contained(getAxes(), axis))
      unreduced.push_back(axis);
  for (ArrayAttr dim : before.getDims())
    for (Attribute axis : dim)
      if (llvm::is_contained(getAxes(), axis)) {
        error = "the operand is divided over '" + cast<StringAttr>(axis).str() +
                "'";
        return {};
      }
  return ShardingAttr::get(getContext(), dims, unreduced);
}

/// Terms are asked for along the axes alone, and what divides dims may stay.
ShardingAttr TermsOp::getOperandSharding(ShardingAttr before) {
  auto isMine = [&](Attribute axis) {
    return llvm::is_contained(getAxes(), axis);
  };
  SmallVector<ArrayAttr> dims;
  for (ArrayAttr dim : before.getDims())
    dims.push_back(ArrayAttr::get(
        getContext(),
        llvm::to_vector(llvm::make_filter_range(
            dim, [&](Attribute axis) { return !isMine(axis); }))));
  return ShardingAttr::get(
      getContext(), dims,
      llvm::to_vector(llvm::make_filter_range(before.getUnreduced(), isMine)));
}

//===----------------------------------------------------------------------===//
// On one rank
//===----------------------------------------------------------------------===//

namespace {

/// Moves the elements of a rank's part so that collectives go along dim 0.
struct PartBuilder {
  OpBuilder &builder;
  Location loc;

  /// [.., n, ..] as [.., ranks, n / ranks, ..].
  Value divide(Value value, int64_t dim, int64_t ranks) {
    SmallVector<int64_t> shape(train::shapeOf(value));
    shape[dim] /= ranks;
    shape.insert(shape.begin() + dim, ranks);
    return train::reshape(builder, loc, value, shape);
  }

  /// [.., ranks, n, ..] as [.., ranks n, ..].
  Value join(Value value, int64_t dim) {
    SmallVector<int64_t> shape(train::shapeOf(value));
    shape[dim] *= shape[dim + 1];
    shape.erase(shape.begin() + dim + 1);
    return train::reshape(builder, loc, value, shape);
  }

  /// Dim `from` becomes dim `to`; the others keep their order.
  Value move(Value value, int64_t from, int64_t to) {
    SmallVector<int64_t> permutation =
        train::otherDims(train::shapeOf(value).size(), {from});
    permutation.insert(permutation.begin() + to, from);
    return train::transpose(builder, loc, value, permutation);
  }

  RankedTensorType withShape(Value value, ArrayRef<int64_t> shape) {
    return train::withShape(value.getType(), shape);
  }
};

} // namespace

Value AllReduceOp::buildLocal(OpBuilder &builder, Value part,
                              RankedTensorType resultPart, int64_t ranks,
                              llvm::function_ref<Value()>) {
  return AllReduceOp::create(builder, getLoc(), part, getAxesAttr(),
                             getTrafficAttr(), getHoldersAttr());
}

bool AllReduceOp::mayWorkInPlace() { return true; }

Value RoleSumOp::buildLocal(OpBuilder &builder, Value part,
                            RankedTensorType resultPart, int64_t ranks,
                            llvm::function_ref<Value()>) {
  return AllReduceOp::create(builder, getLoc(), part, getAxesAttr(),
                             getTrafficAttr(), getHoldersAttr());
}

bool BroadcastOp::mayWorkInPlace() { return true; }

Value AllGatherOp::buildLocal(OpBuilder &builder, Value part,
                              RankedTensorType resultPart, int64_t ranks,
                              llvm::function_ref<Value()>) {
  if (getDim() == 0)
    return AllGatherOp::create(builder, getLoc(), resultPart, part,
                               getAxesAttr(), 0, getTraffic());
  PartBuilder build{builder, getLoc()};
  // Parts one after another, then side by side.
  SmallVector<int64_t> row(train::shapeOf(part));
  row.insert(row.begin(), 1);
  Value stacked = train::reshape(builder, getLoc(), part, row);
  row[0] = ranks;
  stacked = AllGatherOp::create(builder, getLoc(), build.withShape(part, row),
                                stacked, getAxesAttr(), 0, getTraffic());
  return build.join(build.move(stacked, 0, getDim()), getDim());
}

Value ReduceScatterOp::buildLocal(OpBuilder &builder, Value part,
                                  RankedTensorType resultPart, int64_t ranks,
                                  llvm::function_ref<Value()>) {
  PartBuilder build{builder, getLoc()};
  if (getDim() != 0)
    part = build.move(build.divide(part, getDim(), ranks), getDim(), 0);
  SmallVector<int64_t> shape(train::shapeOf(part));
  shape[0] /= ranks;
  Value own =
      ReduceScatterOp::create(builder, getLoc(), build.withShape(part, shape),
                              part, getAxesAttr(), 0, getTraffic());
  return train::reshape(builder, getLoc(), own, resultPart.getShape());
}

Value AllToAllOp::buildLocal(OpBuilder &builder, Value part,
                             RankedTensorType resultPart, int64_t ranks,
                             llvm::function_ref<Value()>) {
  PartBuilder build{builder, getLoc()};
  // [ranks, ...], `to` cut in pieces: piece i goes to rank i.
  Value pieces = build.move(build.divide(part, getTo(), ranks), getTo(), 0);
  pieces = AllToAllOp::create(builder, getLoc(), pieces.getType(), pieces,
                              getAxesAttr(), 0, 0, getTraffic());
  return build.join(build.move(pieces, 0, getFrom()), getFrom());
}

Value TermsOp::buildLocal(OpBuilder &builder, Value part,
                          RankedTensorType resultPart, int64_t ranks,
                          llvm::function_ref<Value()>) {
  // Over the axes that the operand is not summed over, all have the same.
  auto operands = (*this)->getAttrOfType<ArrayAttr>(kOperandsAttr);
  if (operands)
    for (StringAttr axis : cast<ShardingAttr>(operands[0]).getUnreduced())
      ranks /= getGroupSize(getMesh(*this),
                            ArrayAttr::get(getContext(), {Attribute(axis)}));
  else
    ranks = 1;
  Value row = train::reshape(builder, getLoc(), part, resultPart.getShape());
  if (ranks == 1)
    return row;
  Value share = train::splat(builder, getLoc(), resultPart,
                             1.0 / static_cast<double>(ranks));
  return train::MulOp::create(builder, getLoc(), row, share);
}

Value SliceOp::buildLocal(OpBuilder &builder, Value part,
                          RankedTensorType resultPart, int64_t ranks,
                          llvm::function_ref<Value()> coordinate) {
  PartBuilder build{builder, getLoc()};
  Value pieces = build.divide(part, getDim(), ranks);
  Value index = train::reshape(builder, getLoc(), coordinate(), {1});
  SmallVector<int64_t> shape(train::shapeOf(pieces));
  shape[getDim()] = 1;
  Value own = train::GatherOp::create(
      builder, getLoc(), build.withShape(part, shape), pieces, index, getDim());
  return train::reshape(builder, getLoc(), own, resultPart.getShape());
}
