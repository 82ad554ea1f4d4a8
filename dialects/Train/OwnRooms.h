//===- OwnRooms.h - rooms that a model's file has for experts ---*- C++ -*-===//
#ifndef ZC_DIALECTS_TRAIN_OWNROOMS_H
#define ZC_DIALECTS_TRAIN_OWNROOMS_H

#include "llvm/ADT/StringRef.h"

namespace zc::train {

/// On a train.grouped_matmul of rows, i64: in how many groups, of equally many
/// tokens in a row, tokens share room, and how many rows of an expert find some
/// in each. --zc-dispatch-experts makes these rooms, or those that it is told.
inline constexpr llvm::StringLiteral kRoomGroupsAttr = "train.room_groups";
inline constexpr llvm::StringLiteral kRoomCapacityAttr = "train.room_capacity";

} // namespace zc::train

#endif // ZC_DIALECTS_TRAIN_OWNROOMS_H
