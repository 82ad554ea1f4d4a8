// Products with one of several matrices per row by the library, but for those
// that our own tiles do: the rows of each matrix are put together, in their
// order, and multiplied tile by tile. Nothing depends on which thread does a
// part.
#include "kernels/Calls/Division/GroupedBlocks.h"
#include "kernels/Calls/Division/GroupedTiles.h"
#include "kernels/Cpu/ExpertRows.h"
#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Primitive.h"
#include "kernels/Cpu/TiledGroupedMatmul.h"
#include "kernels/Cpu/TiledMatmul.h"
#include "kernels/Cpu/WorkHint.h"

#include <algorithm>
#include <cstring>

namespace zc::kernels {
namespace {

/// Rows of `width` bytes from one place to another, by a list of places.
struct RowCopy {
  char *rows, *tile;
  const int32_t *places;
  int64_t width;
  bool gather; // rows to the tile; else back

  void run(int64_t count) const {
    parallelForEach(count, teamSize(), [this](int64_t i) {
      char *row = rows + places[i] * width;
      char *packed = tile + i * width;
      std::memcpy(gather ? packed : row, gather ? row : packed, width);
    });
  }
};

class GroupedMatmul final : public Primitive {
public:
  explicit GroupedMatmul(const GroupedMatmulSpec &spec)
      : spec(spec), sizes(groupedTileSizes(spec.rows)),
        firstTile(chooseGroupedTiles(sizes)), experts(spec) {}

  bool create(uint64_t workspaceBytes, std::string *error) {
    innerBytes = groupedInnerBytes(spec);
    columnBytes = groupedColumnBytes(spec);
    if (innerBytes + columnBytes > workspaceBytes) {
      *error = "grouped matmul: needs " +
               std::to_string(innerBytes + columnBytes) +
               " bytes of scratch memory for its rows, of the " +
               std::to_string(workspaceBytes) + " planned for it";
      return false;
    }
    uint64_t left = workspaceBytes - innerBytes - columnBytes;
    for (int64_t size : sizes)
      for (bool accumulate : {false, true}) {
        if (accumulate && !spec.gradient)
          continue;
        auto made = createPrimitive(groupedTileProduct(spec, size, accumulate),
                                    left, error);
        if (!made)
          return false;
        scratchBytes = std::max(scratchBytes, made->workspaceBytes());
        (accumulate ? adding : products).push_back(std::move(made));
      }
    return true;
  }

  bool execute(void *const *pointers, void *workspace,
               std::string *error) noexcept override {
    a = static_cast<char *>(pointers[0]);
    b = static_cast<char *>(pointers[1]);
    c = static_cast<char *>(pointers[2]);
    innerTile = static_cast<char *>(workspace);
    columnTile = innerTile + innerBytes;
    scratch = columnTile + columnBytes;
    experts.sort(pointers[3], pointers[4]);
    if (!spec.gradient)
      experts.clearOthers(c, resultRowBytes());
    for (int64_t expert = 0; expert < spec.experts; ++expert)
      if (!multiply(expert, error))
        return false;
    return true;
  }

  std::string implementation() const override {
    return "grouped " + products.back()->implementation();
  }
  bool mayMeet() const override {
    auto meets = [](const auto &product) { return product->mayMeet(); };
    return std::any_of(products.begin(), products.end(), meets) ||
           std::any_of(adding.begin(), adding.end(), meets);
  }
  uint64_t workspaceBytes() const override {
    return innerBytes + columnBytes + scratchBytes;
  }

private:
  bool multiply(int64_t expert, std::string *error) {
    int64_t begin = experts.begin(expert), end = experts.end(expert);
    if (spec.gradient && begin == end)
      std::memset(c + expert * resultMatrixBytes(), 0, resultMatrixBytes());
    bool isFirst = true;
    while (begin < end) {
      int64_t left = std::min(end - begin, sizes.back());
      int tile = firstTile[left];
      int64_t count = std::min(left, sizes[tile]);
      if (!(spec.gradient ? addTile(expert, begin, count, tile, isFirst, error)
                          : multiplyTile(expert, begin, count, tile, error)))
        return false;
      isFirst = false;
      begin += count;
    }
    return true;
  }

  bool multiplyTile(int64_t expert, int64_t begin, int64_t count, int tile,
                    std::string *error) {
    bool whole = experts.isRun(begin, count) && count == sizes[tile];
    char *rows = whole ? a + *experts.at(begin) * rowBytes()
                       : pack(a, innerTile, rowBytes(), begin, count, tile);
    char *result =
        whole ? c + *experts.at(begin) * resultRowBytes() : columnTile;
    int64_t matrix = spec.inner * spec.columns * elementBytes(spec.type);
    void *operands[] = {rows, b + expert * matrix, result};
    if (!products[tile]->execute(operands, scratch, error))
      return false;
    if (!whole)
      RowCopy{c, columnTile, experts.at(begin), resultRowBytes(), false}.run(
          count);
    return true;
  }

  bool addTile(int64_t expert, int64_t begin, int64_t count, int tile,
               bool isFirst, std::string *error) {
    bool whole = experts.isRun(begin, count) && count == sizes[tile];
    int64_t width = spec.columns * elementBytes(spec.type);
    void *operands[] = {
        whole ? a + *experts.at(begin) * rowBytes()
              : pack(a, innerTile, rowBytes(), begin, count, tile),
        whole ? b + *experts.at(begin) * width
              : pack(b, columnTile, width, begin, count, tile),
        c + expert * resultMatrixBytes()};
    return (isFirst ? products : adding)[tile]->execute(operands, scratch,
                                                        error);
  }

  /// Copies rows to a tile, zeros behind them.
  char *pack(char *rows, char *to, int64_t width, int64_t begin, int64_t count,
             int tile) {
    RowCopy{rows, to, experts.at(begin), width, true}.run(count);
    std::memset(to + count * width, 0, (sizes[tile] - count) * width);
    return to;
  }

  int64_t rowBytes() const { return spec.inner * elementBytes(spec.type); }
  int64_t resultRowBytes() const {
    return spec.columns * elementBytes(spec.resultType);
  }
  int64_t resultMatrixBytes() const { return spec.inner * resultRowBytes(); }

  GroupedMatmulSpec spec;
  std::vector<int64_t> sizes;
  std::vector<int> firstTile;
  std::vector<std::unique_ptr<Primitive>> products, adding; // by size
  uint64_t innerBytes = 0, columnBytes = 0, scratchBytes = 0;
  // The operands and the workspace of the current call.
  ExpertRows experts;
  char *a = nullptr, *b = nullptr, *c = nullptr;
  char *innerTile = nullptr, *columnTile = nullptr, *scratch = nullptr;
};

} // namespace

std::unique_ptr<Primitive> createPrimitive(const GroupedMatmulSpec &spec,
                                           uint64_t workspaceBytes,
                                           std::string *error, Way) noexcept {
  if (tilesGroupedMatmul(spec, processorKind()))
    if (auto tiled = createTiledGroupedMatmul(spec, workspaceBytes))
      return tiled;
  auto made = std::make_unique<GroupedMatmul>(spec);
  return made->create(workspaceBytes, error) ? std::move(made) : nullptr;
}

WorkHint hintOf(const GroupedMatmulSpec &spec, const Primitive &chosen) {
  double flops = 2 * double(spec.rows * spec.inner) * double(spec.columns);
  return {secondsOfProducts(flops), chosen.mayMeet(), false};
}

std::vector<void *> operandsOf(const GroupedMatmulLaunch &launch) {
  return {launch.a, launch.b, launch.c, launch.groups, launch.ids};
}

} // namespace zc::kernels
