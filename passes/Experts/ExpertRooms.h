//===- ExpertRooms.h - rows of tokens as rooms of experts -------*- C++ -*-===//
#ifndef ZC_PASSES_EXPERTS_EXPERTROOMS_H
#define ZC_PASSES_EXPERTS_EXPERTROOMS_H

#include "dialects/Train/ExpertOps.h"
#include "mlir/IR/Builders.h"

namespace zc {

/// How the rows of one layer of experts are sorted.
struct RoomShape {
  int64_t groups;  // of tokens that share room
  int64_t rows;    // of a group
  int64_t choices; // of a token
  int64_t experts;
  int64_t capacity; // rows of an expert and group
  bool divided;     // ranks have some of the experts each
};

/// The rooms of the rows whose experts one value says, [rows]. A value of rows
/// [rows, ..] is [experts, groups capacity, ..] in rooms.
class ExpertRooms {
public:
  ExpertRooms(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value groups,
              RoomShape shape);

  const RoomShape &shape() const { return rooms; }

  /// Rows to rooms: empty places are zeros. Where ranks have some of the
  /// experts each and `marksEmpty`, the places of the first rows that enter
  /// hold minus infinity instead, by which the experts' ranks know them: only
  /// products that skip empty places may read these.
  mlir::Value enter(mlir::OpBuilder &builder, mlir::Value rows,
                    bool marksEmpty);
  /// The rows that entered, with zeros in empty places.
  mlir::Value clear(mlir::Value entered);
  /// Rooms to rows: zeros where there was no room.
  mlir::Value leave(mlir::OpBuilder &builder, mlir::Value rooms);

  /// The product of what is in rooms with the weights that `product` has, whose
  /// empty places are not multiplied where `skipsEmpty`.
  mlir::Value multiply(mlir::OpBuilder &builder, mlir::Value in,
                       train::GroupedMatmulOp product, bool skipsEmpty);

  /// The type in rooms of what has `type` in rows.
  mlir::RankedTensorType typeOf(mlir::Type type) const;

private:
  mlir::Value place(mlir::OpBuilder &builder, mlir::Value value,
                    bool toExperts);
  mlir::Value getUsed(mlir::OpBuilder &builder);
  mlir::Value ofExperts(mlir::OpBuilder &builder, mlir::Value isEmpty,
                        llvm::ArrayRef<int64_t> shape, int64_t dim);
  void findUsed(mlir::OpBuilder &builder);

  mlir::Location loc;
  RoomShape rooms;
  mlir::Value slots, places;
  mlir::Value used;            // [experts, groups capacity]: the expert, or -1
  mlir::Value marked, cleared; // the rows whose empty places are marked
};

} // namespace zc

#endif // ZC_PASSES_EXPERTS_EXPERTROOMS_H
