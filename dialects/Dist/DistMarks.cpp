//===- DistMarks.cpp - the discardable attributes of the dist dialect -----===//
#include "dialects/Dist/DistDialect.h"

using namespace mlir;
using namespace zc;
using namespace zc::dist;

static bool isTraffic(Attribute value) {
  auto name = dyn_cast<StringAttr>(value);
  return name && symbolizeTraffic(name.getValue());
}

static bool isPass(Attribute value) {
  auto name = dyn_cast<StringAttr>(value);
  return name && symbolizeStepPass(name.getValue());
}

static bool isShardingList(Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  return list && llvm::all_of(list, llvm::IsaPred<ShardingAttr>);
}

/// DistDialect.td and the headers that name them describe them. How tensors are
/// divided is said of the ops of other dialects, as in Shardy: no property of
/// theirs can hold it.
const Marks &DistDialect::getMarks() {
  static const Mark kShardings = {isShardingList, "a list of #dist.sharding"};
  static const Mark kSharding = markOf<ShardingAttr>("a #dist.sharding");
  static const Mark kServer =
      markOf<UnitAttr, FlatSymbolRefAttr>("a symbol, or no value");
  static const Mark kPass = {isPass, "\"forward\" or \"backward\""};
  static const Mark kTraffic = {isTraffic,
                                "gradients, parameters, activations, "
                                "statistics or scalars"};
  static const Marks kMarks = {
      {"dist.algorithm", kStringMark.on(kOnModule)},
      {"dist.divisions", kListMark.on(kOnModule)},
      {"dist.mesh", markOf<MeshAttr>("a #dist.mesh").on(kOnModule)},
      {"dist.notes", kListMark.on(kOnModule)},
      {"dist.server", kServer.on(kOnModule | kOnResult)},
      {"dist.sharding",
       kSharding.on(kOnArgument | kOnResult | kOnState | kOnBuffer | kOnOp)},
      {"dist.whole",
       kTypeMark.on(kOnArgument | kOnResult | kOnState | kOnBuffer)},
      {"dist.moments", kSharding.on(kOnState)},
      {"dist.exchange", kIntegersMark.on(kOnOp)},
      {"dist.gathered", kIntegersMark.on(kOnOp)},
      {"dist.operands", kShardings.on(kOnOp)},
      {"dist.results", kShardings.on(kOnOp)},
      {"dist.pass", kPass.on(kOnOp)},
      {"dist.traffic", kTraffic.on(kOnOp)}};
  return kMarks;
}
