//===- DistAttrs.cpp - meshes and shardings -------------------------------===//
#include "dialects/Dist/DistDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace zc::dist;

#define GET_ATTRDEF_CLASSES
#include "dialects/Dist/DistAttrs.cpp.inc"

void DistDialect::registerAttrs() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Dist/DistAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// #dist.mesh
//===----------------------------------------------------------------------===//

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  auto parseAxis = [&]() -> ParseResult {
    StringRef name;
    int64_t size;
    if (parser.parseKeyword(&name) || parser.parseEqual() ||
        parser.parseInteger(size))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    sizes.push_back(size);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseAxis))
    return {};
  return parser.getChecked<MeshAttr>(parser.getContext(), names, sizes);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleave(
      llvm::zip(getNames(), getSizes()), printer.getStream(),
      [&](auto axis) {
        printer << std::get<0>(axis).getValue() << "=" << std::get<1>(axis);
      },
      ",");
  printer << ">";
}

LogicalResult
MeshAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                 ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes) {
  if (names.size() != sizes.size())
    return emitError() << "has " << names.size() << " names and "
                       << sizes.size() << " sizes";
  llvm::StringSet<> seen;
  for (auto [name, size] : llvm::zip(names, sizes)) {
    if (!seen.insert(name.getValue()).second)
      return emitError() << "names the axis '" << name.getValue() << "' twice";
    if (size < 1)
      return emitError() << "axis '" << name.getValue() << "' has the size "
                         << size << "; expected at least 1";
  }
  return success();
}

int64_t MeshAttr::getNumRanks() const {
  int64_t ranks = 1;
  for (int64_t size : getSizes())
    ranks *= size;
  return ranks;
}

int MeshAttr::findAxis(StringRef name) const {
  for (auto [index, axis] : llvm::enumerate(getNames()))
    if (axis.getValue() == name)
      return static_cast<int>(index);
  return -1;
}

SmallVector<int64_t> MeshAttr::getCoordinates(int64_t rank) const {
  SmallVector<int64_t> coordinates(getNumAxes());
  for (unsigned axis = getNumAxes(); axis-- > 0;) {
    coordinates[axis] = rank % getSizes()[axis];
    rank /= getSizes()[axis];
  }
  return coordinates;
}

//===----------------------------------------------------------------------===//
// #dist.sharding
//===----------------------------------------------------------------------===//

static ParseResult parseAxes(AsmParser &parser,
                             SmallVectorImpl<Attribute> &axes) {
  do {
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    axes.push_back(StringAttr::get(parser.getContext(), name));
  } while (succeeded(parser.parseOptionalPlus()));
  return success();
}

static ParseResult parseDim(AsmParser &parser,
                            SmallVectorImpl<ArrayAttr> &dims) {
  SmallVector<Attribute> axes;
  if (failed(parser.parseOptionalKeyword("_")) && parseAxes(parser, axes))
    return failure();
  dims.push_back(ArrayAttr::get(parser.getContext(), axes));
  return success();
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<ArrayAttr> dims;
  SmallVector<Attribute> unreduced;
  if (parser.parseLess())
    return {};
  bool onlyUnreduced = succeeded(parser.parseOptionalKeyword("unreduced"));
  if (!onlyUnreduced && failed(parser.parseOptionalGreater())) {
    do
      if (parseDim(parser, dims))
        return {};
    while (succeeded(parser.parseOptionalComma()));
    onlyUnreduced = succeeded(parser.parseOptionalKeyword("unreduced"));
    if (!onlyUnreduced && parser.parseGreater())
      return {};
  }
  if (onlyUnreduced && (parseAxes(parser, unreduced) || parser.parseGreater()))
    return {};
  auto names = llvm::map_to_vector(
      unreduced, [](Attribute axis) { return cast<StringAttr>(axis); });
  return ShardingAttr::get(parser.getContext(), dims, names);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  auto printAxis = [&](Attribute axis) {
    printer << cast<StringAttr>(axis).getValue();
  };
  printer << "<";
  llvm::interleave(
      getDims(), printer.getStream(),
      [&](ArrayAttr axes) {
        if (axes.empty())
          printer << "_";
        llvm::interleave(axes, printer.getStream(), printAxis, "+");
      },
      ",");
  if (!getUnreduced().empty()) {
    printer << (getDims().empty() ? "unreduced " : " unreduced ");
    llvm::interleave(getUnreduced(), printer.getStream(), printAxis, "+");
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Meshes and parts
//===----------------------------------------------------------------------===//

namespace zc::dist {

MeshAttr getMesh(Operation *op) {
  while (op && !isa<ModuleOp>(op))
    op = op->getParentOp();
  return op ? op->getAttrOfType<MeshAttr>(kMeshAttr) : MeshAttr();
}

int64_t getGroupSize(MeshAttr mesh, ArrayAttr axes) {
  int64_t size = 1;
  for (auto axis : axes.getAsRange<StringAttr>())
    if (int index = mesh ? mesh.findAxis(axis) : -1; index >= 0)
      size *= mesh.getSizes()[index];
  return size;
}

ShardingAttr getReplicated(MLIRContext *context, int64_t rank) {
  SmallVector<ArrayAttr> dims(rank, ArrayAttr::get(context, {}));
  return ShardingAttr::get(context, dims, {});
}

static RankedTensorType
mapDims(RankedTensorType type, ShardingAttr sharding,
        llvm::function_ref<int64_t(int64_t size, ArrayAttr axes)> map) {
  SmallVector<int64_t> shape(type.getShape());
  for (auto [size, axes] : llvm::zip(shape, sharding.getDims()))
    size = map(size, axes);
  return RankedTensorType::get(shape, type.getElementType());
}

RankedTensorType getPart(RankedTensorType type, ShardingAttr sharding,
                         MeshAttr mesh) {
  return mapDims(type, sharding, [&](int64_t size, ArrayAttr axes) {
    return llvm::divideCeil(size, getGroupSize(mesh, axes));
  });
}

RankedTensorType getWhole(RankedTensorType part, ShardingAttr sharding,
                          MeshAttr mesh) {
  return mapDims(part, sharding, [&](int64_t size, ArrayAttr axes) {
    return size * getGroupSize(mesh, axes);
  });
}

} // namespace zc::dist
