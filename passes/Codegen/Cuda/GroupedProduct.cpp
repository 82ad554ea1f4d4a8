//===- GroupedProduct.cpp - products of experts' rows on GPUs -------------===//
//
// For a product, a team multiplies a tile of rows of one expert, which an order
// of all rows lists one behind the other, by a tile of columns of its matrix.
// For the gradient it multiplies all rows of an expert to a tile of its matrix.
// So experts cost as much as rows chose them, and no two teams add to one
// element.
//
//===----------------------------------------------------------------------===//
#include "passes/Codegen/Cuda/ExpertTiles.h"

using namespace mlir;

namespace zc::cuda {

namespace {

constexpr unsigned kRows = 0, kMatrices = 1, kOrder = 4, kEnds = 5, kResult = 6;
/// Elements that are summed in a step divide it.
constexpr int64_t kStep = 32;
/// Tiles of columns that one tile of rows is multiplied by before the next is:
/// teams that run at once then share rows and matrices in the cache.
constexpr int64_t kBand = 8;

/// Rows of a tile; an expert's few rows would leave most of a large one empty.
int64_t chooseRows(double expected) { return expected > 96 ? 128 : 64; }

int64_t chooseColumns(int64_t columns) {
  return columns > 96 ? 128 : columns > 32 ? 64 : 32;
}

/// Both ops have rows, an order of them, and its ends.
class RowProduct : public TiledOp {
public:
  RowProduct(Operation *op, TileProduct tile)
      : op(op), tile(tile), count(typeOf(op->getOperand(kOrder)).getDimSize(0)),
        experts(typeOf(op->getOperand(kEnds)).getDimSize(0)) {}

  int64_t threads() const override { return tile.threads(); }

protected:
  RankedTensorType typeAt(unsigned number) const {
    return typeOf(number < kResult ? op->getOperand(number)
                                   : Value(op->getResult(0)));
  }

  /// A factor's buffer: [.., width], in words.
  MemRefType factorType(unsigned number, bool matrices) const {
    ArrayRef<int64_t> shape = cast<ShapedType>(typeAt(number)).getShape();
    int64_t words = shape.back() / tile.perWord();
    if (matrices)
      return MemRefType::get({shape[0], shape[1], words}, tile.wordType());
    return MemRefType::get({count, words}, tile.wordType());
  }

  /// The row at `place` of the order, or the last one.
  Value rowAt(DeviceCode &code, Value order, Value place) const {
    return code.loadIndex(order, code.min(place, code.index(count - 1)));
  }

  /// Writes the elements that exist.
  static void writeElements(DeviceCode &code, Value buffer, ValueRange line,
                            Value firstColumn, int64_t columns, bool isWhole,
                            ArrayRef<Value> places, ArrayRef<Value> elements) {
    for (auto [place, element] : llvm::zip(places, elements)) {
      Value column = code.add(firstColumn, place), stored = element;
      auto write = [&] {
        SmallVector<Value> at(line);
        at.push_back(column);
        code.store(stored, buffer, at);
      };
      if (isWhole)
        write();
      else
        code.ifTrue(code.less(column, code.index(columns)), write);
    }
  }

  Operation *op;
  TileProduct tile;
  int64_t count, experts;
};

class GroupedProduct : public RowProduct {
public:
  explicit GroupedProduct(train::GroupedMatmulOp op)
      : RowProduct(op, makeTile(op)), transposed(op.getTransposeWeights()),
        inner(typeOf(op.getRows()).getShape().back()),
        columns(op.getType().getShape().back()) {}

  int64_t teams() const override {
    return rowTiles() * llvm::alignTo(columnTiles(), band());
  }

  MemRefType bufferType(unsigned number) const override {
    if (number == kResult)
      return MemRefType::get({count, columns},
                             getElementTypeOrSelf(typeAt(kResult)));
    return number > kMatrices ? flatBuffer(typeAt(number))
                              : factorType(number, number == kMatrices);
  }

  void build(DeviceCode code, ValueRange buffers, Value team) override {
    Value place = code.rem(team, rowTiles() * band());
    Value columnTile =
        code.add(code.mul(code.div(team, rowTiles() * band()), band()),
                 code.rem(place, band()));
    RowTile rows = findTile(code, buffers[kEnds], code.div(place, band()));
    Value isColumn = code.less(columnTile, code.index(columnTiles()));
    code.ifTrue(code.both(rows.exists, isColumn), [&] {
      buildTile(code, buffers, rows, code.mul(columnTile, tile.columns()));
    });
  }

private:
  static TileProduct makeTile(train::GroupedMatmulOp op) {
    RankedTensorType rows = typeOf(op.getRows()), result = op.getType();
    double expected = double(rows.getNumElements() / rows.getShape().back()) /
                      double(typeOf(op.getIds()).getDimSize(0)) *
                      op.getFilled().convertToDouble();
    return TileProduct(
        rows.getElementType(), result.getElementType(), chooseRows(expected),
        chooseColumns(result.getShape().back()), rows.getShape().back(),
        typeOf(op.getWeights()).getShape().back());
  }

  /// The most there can be: each expert's last tile has one row at the least,
  /// and rows of none, which get zeros, have tiles too.
  int64_t rowTiles() const { return count / tile.rows() + experts + 1; }
  int64_t columnTiles() const {
    return llvm::divideCeil(columns, tile.columns());
  }
  int64_t band() const { return std::min(columnTiles(), kBand); }

  /// A tile of rows: its expert, or the number of experts where the rows are of
  /// none, the place of its first row and the end of its expert's rows.
  struct RowTile {
    Value exists, expert, first, end;
  };

  /// Tile `number`, of those of the first expert, of the second, and so on.
  RowTile findTile(DeviceCode &code, Value ends, Value number) {
    Value none = code.index(0);
    Type i1 = code.builder.getI1Type();
    SmallVector<Value> initial = {code.zero(i1), none, none, none, none, none};
    ValueRange found = code.loop(
        none, code.index(experts + 1), 1, initial,
        [&](Value expert, ValueRange now) {
          Value begin = now[4], tiles = now[5];
          Value isLast = code.equal(expert, code.index(experts));
          Value end = code.select(isLast, code.index(count),
                                  code.loadIndex(ends, known(code, expert)));
          Value past =
              code.add(tiles, code.ceilDiv(code.sub(end, begin), tile.rows()));
          Value isBefore = code.less(number, tiles);
          Value isHere = code.both(
              code.less(number, past),
              code.equal(isBefore, code.zero(code.builder.getI1Type())));
          Value first =
              code.add(begin, code.mul(code.sub(number, tiles), tile.rows()));
          return SmallVector<Value>{
              arith::OrIOp::create(code.builder, code.loc, now[0], isHere),
              code.select(isHere, expert, now[1]),
              code.select(isHere, first, now[2]),
              code.select(isHere, end, now[3]),
              end,
              past};
        });
    return {found[0], found[1], found[2], found[3]};
  }

  /// `expert`, or the last one where it is none.
  Value known(DeviceCode &code, Value expert) const {
    return code.min(expert, code.index(experts - 1));
  }

  void buildTile(DeviceCode code, ValueRange buffers, RowTile rows,
                 Value firstColumn) {
    Value order = buffers[kOrder];
    Value isOne = code.less(rows.expert, code.index(experts));
    Value matrix = known(code, rows.expert);
    auto row = [&](Value place) {
      return SmallVector<Value>{
          rowAt(code, order, code.add(rows.first, place))};
    };
    TileFactor left{buffers[kRows], inner, /*sumsAlong=*/true, Value(), row};
    TileFactor right;
    right.buffer = buffers[kMatrices];
    right.sumsAlong = transposed;
    right.width = transposed ? inner : columns;
    right.column = firstColumn;
    right.line = [&](Value place) {
      Value line = transposed ? code.add(firstColumn, place) : place;
      int64_t last = (transposed ? columns : inner) - 1;
      return SmallVector<Value>{matrix, code.min(line, code.index(last))};
    };
    // Rows of no expert are sums of nothing.
    TileProduct::Sum sum{code.index(0),
                         code.select(isOne, code.index(inner), code.index(0)),
                         inner % kStep == 0};
    tile.build(
        code, left, right, sum,
        [&](Value place, ArrayRef<Value> places, ArrayRef<Value> elements) {
          Value at = code.add(rows.first, place);
          code.ifTrue(code.less(at, rows.end), [&] {
            writeElements(code, buffers[kResult], code.loadIndex(order, at),
                          firstColumn, columns, columns % tile.columns() == 0,
                          places, elements);
          });
        });
  }

  bool transposed;
  int64_t inner, columns;
};

class GroupedGradient : public RowProduct {
public:
  explicit GroupedGradient(train::GroupedMatmulGradOp op)
      : RowProduct(op, makeTile(op)), height(op.getType().getDimSize(1)),
        columns(op.getType().getDimSize(2)) {}

  int64_t teams() const override {
    return experts * rowTiles() * columnTiles();
  }

  MemRefType bufferType(unsigned number) const override {
    if (number == kResult)
      return MemRefType::get({experts, height, columns},
                             getElementTypeOrSelf(typeAt(kResult)));
    return number > kMatrices ? flatBuffer(typeAt(number))
                              : factorType(number, /*matrices=*/false);
  }

  void build(DeviceCode code, ValueRange buffers, Value team) override {
    Value columnTile = code.rem(team, columnTiles());
    Value rest = code.div(team, columnTiles());
    Value rowTile = code.rem(rest, rowTiles());
    Value expert = code.div(rest, rowTiles());
    Value firstRow = code.mul(rowTile, tile.rows());
    Value firstColumn = code.mul(columnTile, tile.columns());
    auto row = [&](Value place) {
      return SmallVector<Value>{rowAt(code, buffers[kOrder], place)};
    };
    TileFactor left{buffers[0], height, /*sumsAlong=*/false, firstRow, row};
    TileFactor right{buffers[1], columns, /*sumsAlong=*/false, firstColumn,
                     row};
    TileProduct::Sum sum{findBegin(code, buffers[kEnds], expert),
                         code.loadIndex(buffers[kEnds], expert),
                         /*isWhole=*/false};
    tile.build(
        code, left, right, sum,
        [&](Value place, ArrayRef<Value> places, ArrayRef<Value> elements) {
          Value at = code.add(firstRow, place);
          auto write = [&] {
            writeElements(code, buffers[kResult], {expert, at}, firstColumn,
                          columns, columns % tile.columns() == 0, places,
                          elements);
          };
          if (height % tile.rows() == 0)
            write();
          else
            code.ifTrue(code.less(at, code.index(height)), write);
        });
  }

private:
  static TileProduct makeTile(train::GroupedMatmulGradOp op) {
    RankedTensorType result = op.getType();
    return TileProduct(getElementTypeOrSelf(op.getLhs().getType()),
                       result.getElementType(),
                       chooseRows(double(result.getDimSize(1))),
                       chooseColumns(result.getDimSize(2)),
                       result.getDimSize(1), result.getDimSize(2));
  }

  int64_t rowTiles() const { return llvm::divideCeil(height, tile.rows()); }
  int64_t columnTiles() const {
    return llvm::divideCeil(columns, tile.columns());
  }

  int64_t height, columns;
};

} // namespace

std::unique_ptr<TiledOp> makeGroupedProduct(train::GroupedMatmulOp op) {
  return std::make_unique<GroupedProduct>(op);
}

std::unique_ptr<TiledOp> makeGroupedGradient(train::GroupedMatmulGradOp op) {
  return std::make_unique<GroupedGradient>(op);
}

} // namespace zc::cuda
