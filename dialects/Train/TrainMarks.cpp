//===- TrainMarks.cpp - the discardable attributes of the train dialect ---===//
#include "dialects/Interfaces/Marks.h"
#include "dialects/Train/TrainDialect.h"

using namespace mlir;
using namespace zc;
using namespace zc::train;

/// TrainDialect.td describes those of programs, the headers that name them the
/// others.
static const Marks &getMarks() {
  static const Marks kMarks = {
      // on arguments and results of programs
      {"train.state", kSymbolMark},
      {"train.input", kStringMark},
      {"train.batch_dim", kIntegerMark},
      {"train.range", kIntegersMark},
      {"train.label", kUnitMark},
      {"train.sample_weight", kUnitMark},
      {"train.output", kStringMark},
      {"train.metric", kStringMark},
      {"train.gradient", kSymbolMark},
      {"train.receive", kDictionaryMark},
      {"train.send", kDictionaryMark},
      {"train.token_dim", kIntegerMark},
      {"train.no_tokens", kUnitMark},
      {"train.token_order", kStringMark},
      // on modules
      {"train.chunks", kIntegerMark},
      {"train.in_flight", kIntegerMark},
      {"train.keep_whole", kUnitMark},
      {"train.layer_roles", kIntegersMark},
      {"train.metric_types", kDictionaryMark},
      {"train.no_flush", kUnitMark},
      {"train.reshard_every", kIntegerMark},
      {"train.ring_slots", kDictionaryMark},
      {"train.role", kIntegerMark},
      {"train.shares_units", kUnitMark},
      {"train.split_weights", kUnitMark},
      {"train.stage_replicas", kIntegersMark},
      {"train.stage_seconds", markOf<DenseF64ArrayAttr>("an array<f64>")},
      {"train.divided_residuals", kIntegerMark},
      {"train.token_parts", kIntegerMark},
      {"train.turn", kIntegerMark},
      {"train.turns", kIntegerMark},
      {"train.versions", kIntegerMark},
      // on states
      {"train.group", kDictionaryMark},
      // on ops
      {"train.float8", kListMark},
      {"train.float8_again", kUnitMark},
      {"train.gradients", kIntegersMark},
      {"train.in_loops", kUnitMark},
      {"train.in_place", kUnitMark},
      {"train.kept_gradients", kIntegersMark},
      {"train.late", kUnitMark},
      {"train.number", kIntegerMark},
      {"train.of_other_ranks", kUnitMark},
      {"train.repeated", kUnitMark},
      {"train.room_capacity", kIntegerMark},
      {"train.room_groups", kIntegerMark},
      {"train.rounds_parameter",
       markOf<UnitAttr, StringAttr>("\"backward\", or no value")},
      {"train.rounds_result", kUnitMark},
      {"train.running_sum", kUnitMark},
      {"train.stage", kIntegerMark},
      {"train.staging", kUnitMark},
      {"train.stays_term", kUnitMark},
      {"train.tokens", kStringMark},
      {"train.winograd", kUnitMark}};
  return kMarks;
}

LogicalResult TrainDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute mark) {
  return verifyMark(getMarks(), op, mark);
}

LogicalResult TrainDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                     unsigned,
                                                     NamedAttribute mark) {
  return verifyMark(getMarks(), op, mark);
}

LogicalResult TrainDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                        unsigned,
                                                        NamedAttribute mark) {
  return verifyMark(getMarks(), op, mark);
}
