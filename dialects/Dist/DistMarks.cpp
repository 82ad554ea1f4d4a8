//===- DistMarks.cpp - the discardable attributes of the dist dialect -----===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Interfaces/Marks.h"

using namespace mlir;
using namespace zc;
using namespace zc::dist;

static bool isTraffic(Attribute value) {
  auto name = dyn_cast<StringAttr>(value);
  return name && symbolizeTraffic(name.getValue());
}

static bool isPass(Attribute value) {
  auto name = dyn_cast<StringAttr>(value);
  return name && (name == "forward" || name == "backward");
}

/// DistDialect.td and the headers that name them describe them.
static const Marks &getMarks() {
  static const Marks kMarks = {
      // on modules
      {"dist.algorithm", kStringMark},
      {"dist.divisions", kListMark},
      {"dist.mesh", markOf<MeshAttr>("a #dist.mesh")},
      {"dist.notes", kListMark},
      // on modules, results of programs and broadcasts
      {"dist.server", markOf<UnitAttr, FlatSymbolRefAttr>("a symbol, or no "
                                                          "value")},
      // on states, arguments and results of programs, and ops
      {"dist.blocks", kListMark},
      {"dist.coordinate", kStringMark},
      {"dist.moments", markOf<ShardingAttr>("a #dist.sharding")},
      {"dist.sharding", markOf<ShardingAttr>("a #dist.sharding")},
      {"dist.whole", kTypeMark},
      {"dist.why", kStringMark},
      {"dist.exchange", kIntegersMark},
      {"dist.gathered", kIntegersMark},
      {"dist.operands", kListMark},
      {"dist.results", kListMark},
      {"dist.pass", {isPass, "\"forward\" or \"backward\""}},
      {"dist.stays_whole", kUnitMark},
      {"dist.traffic",
       {isTraffic, "gradients, parameters, activations, statistics or "
                   "scalars"}}};
  return kMarks;
}

LogicalResult DistDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute mark) {
  return verifyMark(getMarks(), op, mark);
}

LogicalResult DistDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned,
                                                    NamedAttribute mark) {
  return verifyMark(getMarks(), op, mark);
}

LogicalResult DistDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                       unsigned,
                                                       NamedAttribute mark) {
  return verifyMark(getMarks(), op, mark);
}
