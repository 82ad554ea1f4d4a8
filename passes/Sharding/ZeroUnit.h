//===- ZeroUnit.h - parameters in one vector --------------------*- C++ -*-===//
#ifndef ZC_PASSES_SHARDING_ZEROUNIT_H
#define ZC_PASSES_SHARDING_ZEROUNIT_H

#include "dialects/Dist/Shares.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Analysis/Views.h"

#include <algorithm>
#include <optional>

namespace zc {

/// A parameter in a unit; offset and size are those in a share of the vector.
struct Member {
  train::StateOp state;
  dist::ShareRule shares;
  mlir::Attribute kind; // what those of one vector have in common
  int64_t offset = 0;

  int64_t size() {
    return state.getTensorType().getNumElements() / shares.count;
  }
  int64_t bytes() {
    return size() * (state.getTensorType().getElementTypeBitWidth() / 8);
  }
};

/// Parameters that follow one another in one vector.
struct Unit {
  llvm::SmallVector<Member> members;
  std::optional<int64_t> dim; // that is divided, of a parameter in its shape
  train::StateOp state;
  dist::ShardingAttr whole; // of a parameter in its shape, what others divide
  train::StateOp
      copy;         // in 16 bits, which the step reads; null: it reads `state`
  int64_t size = 0; // of a share, without padding

  void add(Member member) {
    member.offset = size;
    members.push_back(member);
    size += member.size();
  }
  Member &front() { return members.front(); }

  /// Members whose lengths keep those behind them aligned come first, so that
  /// as many as may be are read in place.
  void align() {
    std::stable_partition(members.begin(), members.end(), [](Member &member) {
      return member.bytes() % kPartAlignment == 0;
    });
    size = 0;
    for (Member &member : members) {
      member.offset = size;
      size += member.size();
    }
  }

  int64_t numShares() { return front().shares.count; }
  /// Elements of a share.
  int64_t length() { return state.getTensorType().getDimSize(0) / numShares(); }
  int64_t bytes() {
    return size * (front().state.getTensorType().getElementTypeBitWidth() / 8);
  }
};

} // namespace zc

#endif // ZC_PASSES_SHARDING_ZEROUNIT_H
