// Products of matrices by our own register tiles on packed panels: at
// one rate for every transpose and every distance of rows, where the library's
// depends on both (rows a power of two apart meet in few sets of a cache).
// Threads share nothing that is written: each packs for itself. Which thread
// does a task, and how many there are, changes no bit.
#include "kernels/Cpu/TiledMatmul.h"
#include "kernels/Calls/Division/MatmulBlocks.h"
#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/MatmulSide.h"
#include "kernels/Cpu/OneDnn.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/ScratchSlots.h"
#include "kernels/Rounding.h"

#include <algorithm>

namespace zc::kernels {
namespace {

/// The tiles of AMX for bfloat16, or for float32 as sums of such.
std::optional<MatmulTiles> amxTilesOf([[maybe_unused]] const MatmulSpec &spec) {
#if defined(__x86_64__)
  if (!hasAmx())
    return std::nullopt;
  if (spec.a.type == ElementType::BF16)
    return MatmulTiles{amx::matmulTileFunctions(), "amx"};
  return MatmulTiles{amx::matmulTileFunctions(matmulParts(spec.precision)),
                     spec.precision == MatmulPrecision::Bf16x3 ? "amx:bf16x3"
                                                               : "amx:bf16x6"};
#else
  return std::nullopt;
#endif
}

} // namespace

/// Whether the library may use AVX-512: a user can limit it
/// (ONEDNN_MAX_CPU_ISA) where we are not limited.
[[maybe_unused]] static bool libraryHasAvx512() {
  static const bool answer =
      (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) ==
      dnnl_cpu_isa_avx512_core;
  return answer;
}

ProcessorKind processorKind() {
#if defined(__x86_64__)
  if (widestInstructionSet() != InstructionSet::Avx512 || !libraryHasAvx512())
    return ProcessorKind::Avx2;
#endif
  return isIntel() ? ProcessorKind::IntelWide : ProcessorKind::Other;
}

/// Whether vectors multiply bfloat16 as float32: nothing else does so there.
static bool multipliesBFloat16(ProcessorKind kind) {
  return kind == ProcessorKind::Avx2;
}

std::optional<MatmulTiles> matmulTilesOf(const MatmulSpec &spec) {
  const bool narrow = spec.a.type != ElementType::F32;
  if (spec.precision != MatmulPrecision::Highest ||
      (narrow && !multipliesBFloat16(processorKind())))
    return amxTilesOf(spec);
  InstructionSet set = widestInstructionSet();
#if defined(__x86_64__)
  if (set == InstructionSet::Baseline && !narrow)
    return std::nullopt; // no multiply and add in one
#endif
  return MatmulTiles{ZC_OF_INSTRUCTION_SET(set, matmulTileFunctions(narrow)),
                     nameOf(set)};
}

namespace {

class TiledMatmul final : public Primitive {
public:
  TiledMatmul(const MatmulSpec &spec, const MatmulTiles &tiles, int threads,
              uint64_t workspaceBytes)
      : blocks(divideMatmul(spec, processorKind(), threads,
                            workspaceBytes / threads)),
        tiles(tiles), narrow(spec.c.type != ElementType::F32),
        swapped(spec.c.strides[1] != 1), accumulate(spec.accumulate),
        depth(spec.a.dims[1]), threads(threads), slots(threads) {
    // c's transpose is the product of b's and a's.
    rows = swapped ? columnsOf(spec.b) : rowsOf(spec.a);
    columns = swapped ? rowsOf(spec.a) : columnsOf(spec.b);
    rowCount = spec.c.dims[swapped ? 1 : 0];
    columnCount = spec.c.dims[swapped ? 0 : 1];
    cRow = spec.c.strides[swapped ? 1 : 0];
  }

  bool execute(void *const *pointers, void *workspace,
               std::string *) noexcept override {
    a = static_cast<const char *>(pointers[swapped ? 1 : 0]);
    b = static_cast<const char *>(pointers[swapped ? 0 : 1]);
    c = static_cast<char *>(pointers[2]);
    scratch = static_cast<char *>(workspace);
    parallelForEach(ceilDivide(rowCount, blocks.rows) * columnTasks(), threads,
                    [this](int64_t task) { run(task); });
    return true;
  }

  std::string implementation() const override {
    return std::string("tiles:") + tiles.name;
  }
  uint64_t workspaceBytes() const override {
    return threads * blocks.taskBytes();
  }

private:
  int64_t columnTasks() const {
    return ceilDivide(columnCount, blocks.columns);
  }

  void run(int64_t task) {
    int64_t row = task / columnTasks() * blocks.rows;
    int64_t column = task % columnTasks() * blocks.columns;
    int slot = slots.take();
    for (int64_t begin = 0; begin < depth; begin += blocks.depth)
      addDepth(row, column, begin, scratch + slot * blocks.taskBytes());
    slots.give(slot);
  }

  /// The part of the task's products that a block of the depth makes.
  void addDepth(int64_t row, int64_t column, int64_t begin, char *own) const {
    char *columnPanels = own + blocks.rowBytes();
    MatmulPanels panels = {};
    panels.a = own;
    panels.b = columnPanels;
    panels.rows = std::min(blocks.rows, rowCount - row);
    panels.depth = std::min(blocks.depth, depth - begin);
    tiles.functions.packRows(rows.at(a, row, begin, blocks.elementBytes),
                             panels.rows, panels.depth, own);
    int64_t end = std::min(column + blocks.columns, columnCount);
    for (int64_t at = column; at < end; at += kMatmulGroup) {
      panels.columns = std::min(kMatmulGroup, end - at);
      tiles.functions.packColumns(columns.at(b, at, begin, blocks.elementBytes),
                                  panels.columns, panels.depth, columnPanels);
      char *sums = columnPanels + blocks.columnBytes() + 4 * (at - column);
      panels.soon = afterGroup(column, at, end, begin);
      setTarget(panels, row, at, begin, reinterpret_cast<float *>(sums));
      tiles.functions.multiply(panels);
    }
  }

  /// The columns of b that are packed after those at `at`: the next ones, or
  /// the first ones of the next block of the depth.
  SoonRead afterGroup(int64_t column, int64_t at, int64_t end,
                      int64_t begin) const {
    int64_t next = at + kMatmulGroup;
    if (next >= end) {
      next = column;
      begin += blocks.depth;
    }
    if (begin >= depth)
      return {};
    return readSoon(columns.at(b, next, begin, blocks.elementBytes),
                    std::min(kMatmulGroup, end - next),
                    std::min(blocks.depth, depth - begin), blocks.elementBytes);
  }

  /// Sums of several blocks meet in c, or where c has 16 bits beside it.
  void setTarget(MatmulPanels &panels, int64_t row, int64_t column,
                 int64_t begin, float *sums) const {
    bool isFirst = begin == 0, isLast = begin + panels.depth == depth;
    int64_t size = narrow ? 2 : 4;
    panels.c = c + (row * cRow + column) * size;
    panels.cRow = cRow;
    panels.narrow = narrow;
    panels.start = nullptr;
    if (blocks.keepsSums) {
      panels.startRow = (blocks.columns + 15) / 16 * 16;
      if (!isFirst)
        panels.start = sums;
      if (isLast)
        return;
      panels.c = sums;
      panels.cRow = panels.startRow;
      panels.narrow = false;
    } else if (accumulate || !isFirst) {
      panels.start = static_cast<const float *>(panels.c);
      panels.startRow = cRow;
    }
  }

  MatmulBlocks blocks;
  MatmulTiles tiles;
  MatmulSide rows, columns;
  int64_t rowCount, columnCount, cRow;
  bool narrow, swapped, accumulate;
  int64_t depth;
  int threads;
  ScratchSlots slots;
  // The operands and the workspace of the current call.
  const char *a = nullptr, *b = nullptr;
  char *c = nullptr, *scratch = nullptr;
};

} // namespace

std::unique_ptr<Primitive> createTiledMatmul(const MatmulSpec &spec,
                                             uint64_t workspaceBytes) {
  if (!canTileMatmul(spec))
    return nullptr;
  std::optional<MatmulTiles> tiles = matmulTilesOf(spec);
  if (!tiles)
    return nullptr;
  auto made =
      std::make_unique<TiledMatmul>(spec, *tiles, teamSize(), workspaceBytes);
  return made->workspaceBytes() <= workspaceBytes ? std::move(made) : nullptr;
}

} // namespace zc::kernels
