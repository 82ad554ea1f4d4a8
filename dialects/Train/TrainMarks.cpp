//===- TrainMarks.cpp - the discardable attributes of the train dialect ---===//
#include "dialects/Train/TrainDialect.h"

using namespace mlir;
using namespace zc;
using namespace zc::train;

/// TrainDialect.td describes those of programs, the headers that name them the
/// others.
const Marks &TrainDialect::getMarks() {
  constexpr unsigned kOnBoth = kOnArgument | kOnResult;
  static const Marks kMarks = {
      {"train.state", kSymbolMark.on(kOnBoth)},
      {"train.input", kStringMark.on(kOnArgument)},
      {"train.batch_dim", kIntegerMark.on(kOnBoth)},
      {"train.range", kIntegersMark.on(kOnArgument)},
      {"train.label", kUnitMark.on(kOnArgument)},
      {"train.sample_weight", kUnitMark.on(kOnArgument)},
      {"train.output", kStringMark.on(kOnResult)},
      {"train.metric", kStringMark.on(kOnResult)},
      {"train.gradient", kSymbolMark.on(kOnResult)},
      {"train.receive", kDictionaryMark.on(kOnArgument)},
      {"train.send", kDictionaryMark.on(kOnResult)},
      {"train.token_dim", kIntegerMark.on(kOnBoth)},
      {"train.no_tokens", kUnitMark.on(kOnArgument)},
      {"train.token_order", kStringMark.on(kOnModule | kOnResult)},

      {"train.chunks", kIntegerMark.on(kOnModule)},
      {"train.divided_residuals", kIntegerMark.on(kOnModule)},
      {"train.exact_encodings", kUnitMark.on(kOnModule)},
      {"train.experts", kListMark.on(kOnModule)},
      {"train.in_flight", kIntegerMark.on(kOnModule)},
      {"train.keep_whole", kUnitMark.on(kOnModule)},
      {"train.keeps_busy", kUnitMark.on(kOnModule)},
      {"train.layer_roles", kIntegersMark.on(kOnModule)},
      {"train.metric_types", kDictionaryMark.on(kOnModule)},
      {"train.no_flush", kUnitMark.on(kOnModule)},
      {"train.parameters", kIntegerMark.on(kOnModule)},
      {"train.plain_peak", kIntegerMark.on(kOnModule)},
      {"train.recomputed_work", kFloatsMark.on(kOnModule)},
      {"train.reshard_every", kIntegerMark.on(kOnModule)},
      {"train.ring_slots", kDictionaryMark.on(kOnModule)},
      {"train.role", kIntegerMark.on(kOnModule)},
      {"train.shares_units", kUnitMark.on(kOnModule)},
      {"train.split_weights", kUnitMark.on(kOnModule)},
      {"train.staying", kIntegerMark.on(kOnModule)},
      {"train.stage_replicas", kIntegersMark.on(kOnModule)},
      {"train.stage_seconds", kFloatsMark.on(kOnModule)},
      {"train.token_parts", kIntegerMark.on(kOnModule)},
      {"train.turn", kIntegerMark.on(kOnModule)},
      {"train.turns", kIntegerMark.on(kOnModule)},
      {"train.versions", kIntegerMark.on(kOnModule)},
      {"train.waiting", kFloatsMark.on(kOnModule)},

      // Any op may make a gradient, be of a stage or run late: until regions
      // are formed these facts stand beside it, then they are the region's.
      {"train.gradients", kIntegersMark.on(kOnOp)},
      {"train.kept_gradients", kIntegersMark.on(kOnOp)},
      {"train.late", kUnitMark.on(kOnOp)},
      {"train.number", kIntegerMark.on(kOnOp)},
      {"train.float8_again", kUnitMark.on(kOnOp)},
      {"train.of_other_ranks", kUnitMark.on(kOnOp)},
      {"train.repeated", kUnitMark.on(kOnOp)},
      {"train.stage", kIntegerMark.on(kOnOp)},
      {"train.staging", kUnitMark.on(kOnOp)}};
  return kMarks;
}
