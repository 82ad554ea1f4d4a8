//===- TileProduct.cpp - one tile of a product, by a team -----------------===//
//
// While the strips of both factors that lie in shared memory are multiplied,
// the next ones are loaded into registers.
//
//===----------------------------------------------------------------------===//
#include "passes/Codegen/Cuda/TileProduct.h"
#include "passes/Codegen/Cuda/Warp.h"

#include "dialects/Train/Ops/OpSupport.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using zc::train::isNarrow;

namespace zc::cuda {

/// Rows and columns of a tile that a thread has, or so many elements of it.
static constexpr int64_t kOwn = 8;
/// Elements that one instruction loads from memory, where these are words.
static constexpr int64_t kChunk = 4;
/// A warp's part of a tile of the tensor cores, whose matrices are 16 x 8
/// by 16.
static constexpr int64_t kWarpRows = 64, kWarpColumns = 32;
static constexpr int64_t kMatrixRows = 16, kMatrixColumns = 8, kDepth = 16;
static constexpr unsigned kSharedSpace = 3;

TileProduct::TileProduct(Type element, Type result, int64_t rows,
                         int64_t columns, int64_t leftWidth, int64_t rightWidth)
    : element(element), result(result), tileRows(rows), tileColumns(columns),
      usesTensorCores(isNarrow(element) && leftWidth % (2 * kChunk) == 0 &&
                      rightWidth % (2 * kChunk) == 0) {}

int64_t TileProduct::threads() const {
  return tileRows * tileColumns / (kOwn * kOwn);
}

Type TileProduct::wordType() const {
  return usesTensorCores ? Type(IntegerType::get(element.getContext(), 32))
                         : element;
}

Type TileProduct::sumType() const {
  return isNarrow(element) ? Type(Float32Type::get(element.getContext()))
                           : element;
}

int64_t TileProduct::stepSize() const { return usesTensorCores ? 32 : 16; }

/// Elements behind each line in shared memory: lines below one another are in
/// other banks.
int64_t TileProduct::padding() const { return usesTensorCores ? 8 : 4; }

/// One strip of each factor, and where the thread is.
struct TileProduct::Step {
  Value left, right; // shared
  bool leftAlong, rightAlong;
  Value thread;
};

Value TileProduct::shareTile(DeviceCode &code, bool sumsAlong, int64_t extent) {
  int64_t lines = sumsAlong ? extent : stepSize();
  int64_t width = (sumsAlong ? stepSize() : extent) + padding();
  Type word = usesTensorCores ? wordType() : sumType();
  return code.share({lines, width / perWord()}, word);
}

/// Brings the strips of one factor.
class TileProduct::Loader {
public:
  Loader(const TileProduct &product, DeviceCode &code, const TileFactor &factor,
         Value tile, const Sum &sum, Value thread)
      : product(product), factor(factor), tile(tile), sum(sum) {
    auto type = cast<MemRefType>(tile.getType());
    int64_t lines = type.getDimSize(0);
    int64_t words = type.getDimSize(1) - product.padding() / product.perWord();
    int64_t perLine = words / kChunk;
    int64_t count = lines * perLine / product.threads();
    for (int64_t i = 0; i < count; ++i) {
      Value chunk = code.add(thread, i * product.threads());
      Chunk &own = chunks.emplace_back();
      own.line = code.div(chunk, perLine);
      own.word = code.mul(code.rem(chunk, perLine), kChunk);
      if (factor.sumsAlong)
        own.place = factor.line(own.line);
    }
  }

  /// The words of the thread, of the strip that begins at `begin`.
  SmallVector<Value> load(DeviceCode &code, Value begin) {
    SmallVector<Value> words;
    for (Chunk &chunk : chunks)
      factor.sumsAlong ? loadAlong(code, chunk, begin, words)
                       : loadLine(code, chunk, begin, words);
    return words;
  }

  void store(DeviceCode &code, ValueRange words) {
    Type wanted = cast<MemRefType>(tile.getType()).getElementType();
    for (auto [number, chunk] : llvm::enumerate(chunks))
      for (int64_t i = 0; i < kChunk; ++i) {
        Value word = words[number * kChunk + i];
        if (word.getType() != wanted)
          word = arith::ExtFOp::create(code.builder, code.loc, wanted, word);
        code.store(word, tile, {chunk.line, code.add(chunk.word, i)});
      }
  }

private:
  struct Chunk {
    Value line, word;         // in shared memory
    SmallVector<Value> place; // of a line that sums along
  };

  Value loadWord(DeviceCode &code, ArrayRef<Value> line, Value column) {
    SmallVector<Value> at(line);
    at.push_back(column);
    return code.load(factor.buffer, at);
  }

  /// The columns of a chunk of words from `column` on. Behind a line's last
  /// word there is nothing to load, so that words of the line stand in.
  SmallVector<Value> columnsFrom(DeviceCode &code, Value column) {
    int64_t words = factor.width / product.perWord();
    SmallVector<Value> columns;
    if (words % kChunk == 0) {
      Value first = code.min(column, code.index(words - kChunk));
      for (int64_t i = 0; i < kChunk; ++i)
        columns.push_back(code.add(first, i));
      return columns;
    }
    for (int64_t i = 0; i < kChunk; ++i)
      columns.push_back(code.min(code.add(column, i), code.index(words - 1)));
    return columns;
  }

  void loadAlong(DeviceCode &code, Chunk &chunk, Value begin,
                 SmallVectorImpl<Value> &words) {
    int64_t count = factor.width / product.perWord();
    Value from = code.add(code.div(begin, product.perWord()), chunk.word);
    for (auto [i, column] : llvm::enumerate(columnsFrom(code, from))) {
      Value word = loadWord(code, chunk.place, column);
      if (!sum.isWhole) {
        Value exists = code.less(code.add(from, int64_t(i)), code.index(count));
        word = code.select(exists, word, code.zero(word.getType()));
      }
      words.push_back(word);
    }
  }

  void loadLine(DeviceCode &code, Chunk &chunk, Value begin,
                SmallVectorImpl<Value> &words) {
    Value number = code.add(begin, chunk.line);
    SmallVector<Value> place = factor.line(number);
    Value exists = code.less(number, sum.end);
    Value from =
        code.add(code.div(factor.column, product.perWord()), chunk.word);
    for (Value column : columnsFrom(code, from)) {
      Value word = loadWord(code, place, column);
      if (!sum.isWhole)
        word = code.select(exists, word, code.zero(word.getType()));
      words.push_back(word);
    }
  }

  const TileProduct &product;
  const TileFactor &factor;
  Value tile;
  Sum sum;
  SmallVector<Chunk> chunks;
};

void TileProduct::build(DeviceCode code, const TileFactor &left,
                        const TileFactor &right, const Sum &sum, Writer write) {
  Step step;
  step.thread =
      gpu::ThreadIdOp::create(code.builder, code.loc, gpu::Dimension::x);
  step.leftAlong = left.sumsAlong;
  step.rightAlong = right.sumsAlong;
  step.left = shareTile(code, left.sumsAlong, tileRows);
  step.right = shareTile(code, right.sumsAlong, tileColumns);
  Loader fromLeft(*this, code, left, step.left, sum, step.thread);
  Loader fromRight(*this, code, right, step.right, sum, step.thread);
  SmallVector<Value> state(kOwn * kOwn, code.zero(sumType()));
  SmallVector<Value> words = fromLeft.load(code, sum.begin);
  const size_t ofLeft = words.size();
  llvm::append_range(words, fromRight.load(code, sum.begin));
  llvm::append_range(state, words);
  ValueRange done = code.loop(
      sum.begin, sum.end, stepSize(), state, [&](Value begin, ValueRange now) {
        ValueRange sums = now.take_front(kOwn * kOwn);
        ValueRange waiting = now.drop_front(kOwn * kOwn);
        fromLeft.store(code, waiting.take_front(ofLeft));
        fromRight.store(code, waiting.drop_front(ofLeft));
        code.barrier();
        Value next = code.add(begin, stepSize());
        SmallVector<Value> coming = fromLeft.load(code, next);
        llvm::append_range(coming, fromRight.load(code, next));
        SmallVector<Value> left = multiply(code, step, sums);
        code.barrier();
        llvm::append_range(left, coming);
        return left;
      });
  ValueRange sums = done.take_front(kOwn * kOwn);
  usesTensorCores ? writeMatrices(code, sums, write)
                  : writeElements(code, step, sums, write);
}

SmallVector<Value> TileProduct::multiply(DeviceCode &code, Step &step,
                                         ValueRange sums) {
  return usesTensorCores ? multiplyMatrices(code, step, sums)
                         : multiplyElements(code, step, sums);
}

Value TileProduct::rounded(DeviceCode &code, Value value) {
  if (value.getType() == result)
    return value;
  return arith::TruncFOp::create(code.builder, code.loc, result, value);
}

//===----------------------------------------------------------------------===//
// One element after another
//===----------------------------------------------------------------------===//

/// The places, of `extent`, of the thread `number` along a dim of the tile;
/// four neighbours each where these lie together.
static SmallVector<Value> ownPlaces(DeviceCode &code, Value number,
                                    int64_t extent, bool sumsAlong) {
  SmallVector<Value> places;
  for (int64_t i = 0; i < kOwn; ++i)
    places.push_back(
        sumsAlong
            ? code.add(number, i * (extent / kOwn))
            : code.add(code.mul(number, kChunk),
                       i % kChunk + i / kChunk * (extent / kOwn * kChunk)));
  return places;
}

/// The rows and the columns of the tile that the thread has.
std::pair<SmallVector<Value>, SmallVector<Value>>
TileProduct::ownElements(DeviceCode &code, Step &step) const {
  int64_t across = tileColumns / kOwn;
  return {
      ownPlaces(code, code.div(step.thread, across), tileRows, step.leftAlong),
      ownPlaces(code, code.rem(step.thread, across), tileColumns,
                step.rightAlong)};
}

SmallVector<Value> TileProduct::multiplyElements(DeviceCode &code, Step &step,
                                                 ValueRange sums) {
  const auto own = ownElements(code, step);
  auto load = [&](Value tile, bool along, Value place, Value depth) {
    return along ? code.load(tile, {place, depth})
                 : code.load(tile, {depth, place});
  };
  ValueRange left = code.loop(
      code.index(0), code.index(stepSize()), kChunk, sums,
      [&](Value first, ValueRange now) {
        SmallVector<Value> sums(now);
        for (int64_t turn = 0; turn < kChunk; ++turn) {
          Value depth = code.add(first, turn);
          SmallVector<Value> a, b;
          for (Value row : own.first)
            a.push_back(load(step.left, step.leftAlong, row, depth));
          for (Value column : own.second)
            b.push_back(load(step.right, step.rightAlong, column, depth));
          for (int64_t i = 0; i < kOwn; ++i)
            for (int64_t j = 0; j < kOwn; ++j) {
              Value &sum = sums[i * kOwn + j];
              sum =
                  math::FmaOp::create(code.builder, code.loc, a[i], b[j], sum);
            }
        }
        return sums;
      });
  return SmallVector<Value>(left);
}

void TileProduct::writeElements(DeviceCode &code, Step &step, ValueRange sums,
                                Writer write) {
  const auto [rows, columns] = ownElements(code, step);
  for (int64_t i = 0; i < kOwn; ++i) {
    SmallVector<Value> elements;
    for (int64_t j = 0; j < kOwn; ++j)
      elements.push_back(rounded(code, sums[i * kOwn + j]));
    write(rows[i], columns, elements);
  }
}

//===----------------------------------------------------------------------===//
// By the tensor cores
//===----------------------------------------------------------------------===//

/// Four matrices of 8 x 8 from shared memory, one register each: number i
/// begins at the line and the element that thread 8 i gives, and each of its
/// lines a thread gives. `transposed`: their lines are columns.
SmallVector<Value> TileProduct::loadMatrices(DeviceCode &code, Value tile,
                                             Value line, Value column,
                                             bool transposed) {
  OpBuilder &builder = code.builder;
  int64_t stride = cast<MemRefType>(tile.getType()).getDimSize(1) * 4;
  Value base =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, code.loc, tile);
  Value bytes =
      code.add(code.add(base, code.mul(line, stride)), code.mul(column, 2));
  Value number = arith::IndexCastOp::create(builder, code.loc,
                                            builder.getI64Type(), bytes);
  auto generic = LLVM::LLVMPointerType::get(builder.getContext());
  auto shared = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  Value pointer = LLVM::IntToPtrOp::create(builder, code.loc, generic, number);
  pointer = LLVM::AddrSpaceCastOp::create(builder, code.loc, shared, pointer);
  Type i32 = builder.getI32Type();
  auto four = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                               {i32, i32, i32, i32});
  Value loaded = NVVM::LdMatrixOp::create(
      builder, code.loc, four, pointer, 4u,
      transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(builder.getContext(), 8, 8),
      NVVM::LdStMatrixEltType::B16);
  SmallVector<Value> registers;
  for (int64_t i = 0; i < 4; ++i)
    registers.push_back(
        LLVM::ExtractValueOp::create(builder, code.loc, loaded, i));
  return registers;
}

SmallVector<Value> TileProduct::multiplyMatrices(DeviceCode &code, Step &step,
                                                 ValueRange before) {
  OpBuilder &builder = code.builder;
  SmallVector<Value> sums(before);
  Value warp = code.div(step.thread, kWarp),
        lane = code.rem(step.thread, kWarp);
  int64_t down = tileRows / kWarpRows;
  Value firstRow = code.mul(code.rem(warp, down), kWarpRows);
  Value firstColumn = code.mul(code.div(warp, down), kWarpColumns);
  Value within = code.rem(lane, 8), matrix = code.div(lane, 8);
  // Matrices 0 and 1 are the two halves along one dim, 2 and 3 along the other.
  Value odd = code.mul(code.rem(matrix, 2), 8);
  Value high = code.mul(code.div(matrix, 2), 8);
  Type f32 = builder.getF32Type();
  auto four = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                               {f32, f32, f32, f32});
  auto kind = element.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  auto asFactor = [&](Value word) -> Value {
    if (element.isBF16())
      return word;
    return LLVM::BitcastOp::create(builder, code.loc,
                                   VectorType::get({2}, element), word);
  };
  // `free` counts along the dim that stays, `summed` along the other.
  auto load = [&](Value tile, bool sumsAlong, Value free, Value summed) {
    return sumsAlong ? loadMatrices(code, tile, code.add(free, within), summed,
                                    /*transposed=*/false)
                     : loadMatrices(code, tile, code.add(summed, within), free,
                                    /*transposed=*/true);
  };
  for (int64_t depth = 0; depth < stepSize(); depth += kDepth) {
    SmallVector<SmallVector<Value>> a, b;
    for (int64_t row = 0; row < kWarpRows; row += kMatrixRows) {
      Value free = code.add(code.add(firstRow, row), odd);
      Value summed = code.add(high, depth);
      a.push_back(load(step.left, step.leftAlong, free, summed));
    }
    for (int64_t column = 0; column < kWarpColumns;
         column += 2 * kMatrixColumns) {
      Value free = code.add(code.add(firstColumn, column), high);
      Value summed = code.add(odd, depth);
      b.push_back(load(step.right, step.rightAlong, free, summed));
    }
    int64_t across = kWarpColumns / kMatrixColumns;
    for (auto [i, left] : llvm::enumerate(a))
      for (int64_t j = 0; j < across; ++j) {
        auto right = ArrayRef(b[j / 2]).slice(j % 2 * 2, 2);
        auto own = MutableArrayRef(sums).slice((i * across + j) * 4, 4);
        Value product = NVVM::MmaOp::create(
            builder, code.loc, four, llvm::map_to_vector(left, asFactor),
            llvm::map_to_vector(right, asFactor),
            ValueRange(ArrayRef<Value>(own)),
            {kMatrixRows, kMatrixColumns, kDepth}, std::nullopt, std::nullopt,
            std::array<NVVM::MMATypes, 2>{kind, kind},
            std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                           NVVM::MMALayout::col});
        for (int64_t e = 0; e < 4; ++e)
          own[e] = LLVM::ExtractValueOp::create(builder, code.loc, product, e);
      }
  }
  return sums;
}

void TileProduct::writeMatrices(DeviceCode &code, ValueRange sums,
                                Writer write) {
  Value thread =
      gpu::ThreadIdOp::create(code.builder, code.loc, gpu::Dimension::x);
  Value warp = code.div(thread, kWarp), lane = code.rem(thread, kWarp);
  int64_t down = tileRows / kWarpRows, across = kWarpColumns / kMatrixColumns;
  Value firstRow =
      code.add(code.mul(code.rem(warp, down), kWarpRows), code.div(lane, 4));
  Value firstColumn = code.add(code.mul(code.div(warp, down), kWarpColumns),
                               code.mul(code.rem(lane, 4), 2));
  for (int64_t i = 0; i < kWarpRows / kMatrixRows; ++i)
    for (int64_t half = 0; half < 2; ++half) {
      SmallVector<Value> columns, elements;
      for (int64_t j = 0; j < across; ++j)
        for (int64_t e = 0; e < 2; ++e) {
          columns.push_back(code.add(firstColumn, j * kMatrixColumns + e));
          elements.push_back(
              rounded(code, sums[(i * across + j) * 4 + half * 2 + e]));
        }
      write(code.add(firstRow, i * kMatrixRows + half * 8), columns, elements);
    }
}

} // namespace zc::cuda
