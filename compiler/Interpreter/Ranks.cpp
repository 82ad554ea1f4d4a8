//===- Ranks.cpp - one program on all ranks of a mesh ---------------------===//
#include "compiler/Interpreter/Ranks.h"
#include "dialects/Train/StateLookup.h"
#include "dialects/Train/Tokens.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace zc::interpreter {

//===----------------------------------------------------------------------===//
// Parts of tensors
//===----------------------------------------------------------------------===//

namespace {

/// Where a rank's part lies in a whole tensor; parts may reach beyond its end.
class Place {
public:
  Place(ArrayRef<int64_t> shape, Division division, dist::MeshAttr mesh,
        int64_t rank)
      : shape(shape), part(shape), places(shape.size()) {
    SmallVector<int64_t> coordinates = mesh.getCoordinates(rank);
    dist::ShardingAttr sharding = division.sharding;
    for (auto [dim, axes] : llvm::enumerate(sharding.getDims())) {
      int64_t ranks = dist::getGroupSize(mesh, axes), number = 0;
      for (auto axis : axes.getAsRange<StringAttr>()) {
        int index = mesh.findAxis(axis);
        number = number * mesh.getSizes()[index] + coordinates[index];
      }
      part[dim] = llvm::divideCeil(part[dim], ranks);
      if (ranks > 1 && int64_t(dim) == division.zigzagDim) {
        const int64_t half = part[dim] / 2;
        for (int64_t first : {number, 2 * ranks - 1 - number})
          for (int64_t i = 0; i < half; ++i)
            places[dim].push_back(first * half + i);
        continue;
      }
      SmallVector<int64_t> whole = {part[dim] * ranks};
      ArrayRef<int64_t> blocks = division.state
                                     ? dist::getBlocks(division.state, dim)
                                     : ArrayRef<int64_t>();
      int64_t begin = 0;
      for (int64_t block : blocks.empty() ? ArrayRef(whole) : blocks) {
        int64_t count = block / ranks;
        for (int64_t i = 0; i < count; ++i)
          places[dim].push_back(begin + number * count + i);
        begin += block;
      }
    }
    for (StringAttr axis : sharding.getUnreduced()) {
      const int index = mesh.findAxis(axis);
      isFirst &= coordinates[index] == 0;
      share *= shareOfTerm(coordinates[index], mesh.getSizes()[index]);
    }
  }

  /// Calls `visit` with each element's index in the part and in the whole; -1
  /// beyond the end.
  void forEach(llvm::function_ref<void(int64_t, int64_t)> visit) const {
    int64_t count = ShapedType::getNumElements(part);
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, place = 0, stride = 1;
      for (size_t dim = part.size(); dim-- > 0;) {
        int64_t at = places[dim][rest % part[dim]];
        rest /= part[dim];
        place = at < shape[dim] && place >= 0 ? place + at * stride : -1;
        stride *= shape[dim];
      }
      visit(i, place);
    }
  }

  ArrayRef<int64_t> shape;
  SmallVector<int64_t> part;
  /// For each dim, the indices in the whole of the part's elements.
  SmallVector<SmallVector<int64_t>> places;
  /// Whether no other rank holds the same place's first term.
  bool isFirst = true;
  double share = 1; // of a sum, that is this rank's term
};

} // namespace

double shareOfTerm(int64_t rank, int64_t ranks) {
  if (ranks == 1)
    return 1;
  const double lastTwo = std::ldexp(1, int(2 - ranks));
  return rank < ranks - 2    ? std::ldexp(1, int(-1 - rank))
         : rank == ranks - 2 ? lastTwo * 3 / 4
                             : lastTwo / 4;
}

Tensor takePart(const Tensor &whole, Division division, dist::MeshAttr mesh,
                int64_t rank) {
  Place place(whole.shape, division, mesh, rank);
  Tensor part = whole;
  part.shape = place.part;
  size_t count = ShapedType::getNumElements(place.part);
  part.floats.assign(whole.isFloat() ? count : 0, 0);
  part.integers.assign(whole.isFloat() ? 0 : count, 0);
  if (!place.isFirst && !whole.isFloat())
    return part;
  place.forEach([&](int64_t mine, int64_t theirs) {
    if (theirs < 0)
      return;
    if (whole.isFloat())
      part.floats[mine] = place.share * whole.floats[theirs];
    else
      part.integers[mine] = whole.integers[theirs];
  });
  return part;
}

/// Whether the rank has the coordinate 0 on every axis that neither divides the
/// tensor nor is unreduced: the others hold copies.
static bool isCopy(int64_t rank, dist::ShardingAttr sharding,
                   dist::MeshAttr mesh) {
  SmallVector<int64_t> coordinates = mesh.getCoordinates(rank);
  for (auto [index, name] : llvm::enumerate(mesh.getNames())) {
    bool used = llvm::is_contained(sharding.getUnreduced(), name);
    for (ArrayAttr axes : sharding.getDims())
      used |= llvm::is_contained(axes.getValue(), Attribute(name));
    if (!used && coordinates[index] != 0)
      return true;
  }
  return false;
}

bool areAlike(const Tensor &a, const Tensor &b) {
  return a.integers == b.integers && a.floats.size() == b.floats.size() &&
         llvm::all_of(llvm::zip_equal(a.floats, b.floats), [](auto pair) {
           auto [left, right] = pair;
           return left == right || (std::isnan(left) && std::isnan(right));
         });
}

FailureOr<Tensor> joinParts(ArrayRef<Tensor> parts, ArrayRef<int64_t> shape,
                            Division division, dist::MeshAttr mesh,
                            std::string &error) {
  dist::ShardingAttr sharding = division.sharding;
  Tensor whole = parts.front();
  whole.shape.assign(shape.begin(), shape.end());
  size_t count = ShapedType::getNumElements(shape);
  whole.floats.assign(whole.isFloat() ? count : 0, 0);
  whole.integers.assign(whole.isFloat() ? 0 : count, 0);
  for (auto [rank, part] : llvm::enumerate(parts)) {
    if (isCopy(rank, sharding, mesh))
      continue;
    Place(shape, division, mesh, rank)
        .forEach([&, &part = part](int64_t mine, int64_t theirs) {
          if (theirs >= 0 && whole.isFloat())
            whole.floats[theirs] += part.floats[mine];
          else if (theirs >= 0)
            whole.integers[theirs] += part.integers[mine];
        });
  }
  if (!sharding.getUnreduced().empty())
    return whole;
  for (auto [rank, part] : llvm::enumerate(parts)) {
    Tensor expected = takePart(whole, division, mesh, rank);
    if (isCopy(rank, sharding, mesh) && !areAlike(expected, part)) {
      error = ("rank " + Twine(rank) + kNotACopy).str();
      return failure();
    }
  }
  return whole;
}

static RankedTensorType wholeType(Type part, Attribute whole) {
  auto type = dyn_cast_or_null<TypeAttr>(whole);
  return cast<RankedTensorType>(type ? type.getValue() : part);
}

RankedTensorType wholeArgumentType(func::FuncOp func, unsigned index) {
  return wholeType(func.getArgumentTypes()[index],
                   func.getArgAttr(index, dist::kWholeAttr));
}

RankedTensorType wholeResultType(func::FuncOp func, unsigned index) {
  return wholeType(func.getResultTypes()[index],
                   func.getResultAttr(index, dist::kWholeAttr));
}

static Division divisionOf(Attribute sharding, Type type,
                           train::StateOp state) {
  auto given = dyn_cast_or_null<dist::ShardingAttr>(sharding);
  if (!given)
    given = dist::getReplicated(type.getContext(),
                                cast<RankedTensorType>(type).getRank());
  return {given, state};
}

Division argumentDivision(func::FuncOp func, unsigned index,
                          train::StateOp state) {
  return divisionOf(func.getArgAttr(index, dist::kShardingAttr),
                    func.getArgumentTypes()[index], state);
}

Division resultDivision(func::FuncOp func, unsigned index,
                        train::StateOp state) {
  Division division = divisionOf(func.getResultAttr(index, dist::kShardingAttr),
                                 func.getResultTypes()[index], state);
  auto tokens = func.getResultAttrOfType<IntegerAttr>(index, kTokenDimAttr);
  if (tokens && func.getResultAttr(index, kTokenOrderAttr))
    division.zigzagDim = tokens.getInt();
  return division;
}

StringAttr coordinateAxis(train::StateOp state) {
  return state ? state.getCoordinateAttr() : StringAttr();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

SmallVector<int64_t> groupOf(int64_t rank, ArrayAttr axes,
                             dist::MeshAttr mesh) {
  SmallVector<int64_t> own = mesh.getCoordinates(rank);
  int64_t size = dist::getGroupSize(mesh, axes);
  SmallVector<int64_t> ranks;
  for (int64_t number = 0; number < size; ++number) {
    SmallVector<int64_t> coordinates = own;
    int64_t rest = number;
    for (auto axis : llvm::reverse(axes.getAsRange<StringAttr>())) {
      int index = mesh.findAxis(axis);
      coordinates[index] = rest % mesh.getSizes()[index];
      rest /= mesh.getSizes()[index];
    }
    int64_t member = 0;
    for (auto [at, extent] : llvm::zip(coordinates, mesh.getSizes()))
      member = member * extent + at;
    ranks.push_back(member);
  }
  return ranks;
}

using Given = ArrayRef<const std::vector<Slot> *>;

static std::vector<Slot> addAll(Given given, bool isFloat) {
  std::vector<Slot> sum = *given.front();
  for (const std::vector<Slot> *term : given.drop_front())
    for (size_t i = 0; i < sum.size(); ++i)
      if (isFloat)
        sum[i].f += (*term)[i].f;
      else
        sum[i].i += (*term)[i].i;
  return sum;
}

/// Computes collectives with a root rank. Results that only the root has are
/// left as they are on other ranks.
static void exchangeRooted(dist::CollectiveOpInterface op, Given given,
                           MutableArrayRef<std::vector<Slot> *> taken,
                           bool isFloat) {
  size_t root = op.getRootNumber(), ranks = given.size();
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](dist::BroadcastOp) {
        for (std::vector<Slot> *result : taken)
          *result = *given[root];
      })
      .Case([&](dist::ReduceOp) { *taken[root] = addAll(given, isFloat); })
      .Case([&](dist::GatherOp) {
        taken[root]->clear();
        for (const std::vector<Slot> *part : given)
          taken[root]->insert(taken[root]->end(), part->begin(), part->end());
      })
      .Case([&](dist::ScatterOp) {
        size_t part = given[root]->size() / ranks;
        for (auto [number, result] : llvm::enumerate(taken))
          result->assign(given[root]->begin() + number * part,
                         given[root]->begin() + (number + 1) * part);
      });
}

LogicalResult exchange(dist::CollectiveOpInterface op, Given given,
                       MutableArrayRef<std::vector<Slot> *> taken) {
  auto type = cast<ShapedType>(op->getOperand(0).getType());
  bool isFloat = isa<FloatType>(type.getElementType());
  size_t ranks = given.size();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](dist::AllReduceOp) {
        for (std::vector<Slot> *result : taken)
          *result = addAll(given, isFloat);
        return success();
      })
      .Case([&](dist::AllGatherOp) {
        std::vector<Slot> all;
        for (const std::vector<Slot> *part : given)
          all.insert(all.end(), part->begin(), part->end());
        for (std::vector<Slot> *result : taken)
          *result = all;
        return success();
      })
      .Case([&](dist::ReduceScatterOp) {
        std::vector<Slot> sum = addAll(given, isFloat);
        size_t part = sum.size() / ranks;
        for (auto [number, result] : llvm::enumerate(taken))
          result->assign(sum.begin() + number * part,
                         sum.begin() + (number + 1) * part);
        return success();
      })
      .Case([&](dist::AllToAllOp) {
        size_t part = given.front()->size() / ranks;
        for (auto [number, result] : llvm::enumerate(taken)) {
          result->clear();
          for (const std::vector<Slot> *from : given)
            result->insert(result->end(), from->begin() + number * part,
                           from->begin() + (number + 1) * part);
        }
        return success();
      })
      .Case<dist::BroadcastOp, dist::ReduceOp, dist::GatherOp, dist::ScatterOp>(
          [&](auto) {
            exchangeRooted(op, given, taken, isFloat);
            return success();
          })
      .Case([&](dist::SendReceiveOp send) {
        int64_t size = static_cast<int64_t>(ranks);
        for (int64_t number = 0; number < size; ++number) {
          int64_t to = (number + send.getDistance()) % size;
          *taken[to < 0 ? to + size : to] = *given[number];
        }
        return success();
      })
      .Default([](Operation *op) {
        return op->emitOpError("is no collective on parts; run --zc-localize");
      });
}

} // namespace zc::interpreter
