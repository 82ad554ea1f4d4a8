// Grouped products by our own register tiles on packed panels: of each expert
// exactly its rows are multiplied, which come from where they lie into a panel
// and go from a block in the cache to where they lie in c. All experts' tasks
// are dealt to the threads at once. Which thread does a task, and how many
// there are, changes no bit.
#include "kernels/Cpu/TiledGroupedMatmul.h"
#include "kernels/Calls/Division/GroupedBlocks.h"
#include "kernels/Calls/Division/GroupedTiles.h"
#include "kernels/Cpu/ExpertRows.h"
#include "kernels/Cpu/MatmulSide.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/ScratchSlots.h"
#include "kernels/Cpu/TiledMatmul.h"
#include "kernels/Rounding.h"

#include <algorithm>
#include <cstring>

namespace zc::kernels {
namespace {

class TiledGroupedMatmul final : public Primitive {
public:
  TiledGroupedMatmul(const GroupedMatmulSpec &spec, const MatmulTiles &tiles,
                     int threads)
      : spec(spec), tiles(tiles),
        blocks(divideGroupedMatmul(spec, processorKind())),
        size(elementBytes(spec.type)), cSize(elementBytes(spec.resultType)),
        narrow(spec.resultType != ElementType::F32), threads(threads),
        slots(threads), experts(spec) {
    MatmulSpec product = groupedProduct(spec);
    columns = columnsOf(product.b);
    columnCount = product.c.dims[1];
  }

  bool execute(void *const *pointers, void *workspace,
               std::string *) noexcept override {
    a = static_cast<const char *>(pointers[0]);
    b = static_cast<const char *>(pointers[1]);
    c = static_cast<char *>(pointers[2]);
    scratch = static_cast<char *>(workspace);
    experts.sort(pointers[3], pointers[4]);
    if (!spec.gradient)
      experts.clearOthers(c, spec.columns * cSize);
    divide();
    parallelForEach(static_cast<int64_t>(tasks.size()), threads,
                    [this](int64_t task) { run(tasks[task]); });
    return true;
  }

  std::string implementation() const override {
    return std::string("grouped tiles:") + tiles.name;
  }
  uint64_t workspaceBytes() const override {
    return threads * blocks.taskBytes();
  }

private:
  /// Rows and columns of one expert's product.
  struct Task {
    int64_t expert, row, rows, column, columns, depth;

    int64_t work() const { return rows * columns * depth; }
  };

  /// Where a task works.
  struct Scratch {
    char *rowPanels, *columnPanels, *gathered;
    float *sums;
    char *results;
  };

  //===--------------------------------------------------------------------===//
  // Tasks
  //===--------------------------------------------------------------------===//

  /// The largest tasks come first, so that no thread is left with one.
  void divide() {
    tasks.clear();
    int64_t products = 0;
    for (int64_t expert = 0; expert < spec.experts; ++expert)
      products += whole(expert).work();
    int64_t share = std::max<int64_t>(1, products / (4 * threads));
    for (int64_t expert = 0; expert < spec.experts; ++expert) {
      Task all = whole(expert);
      if (all.depth > 0 && all.rows > 0)
        divide(all, share);
      else if (spec.gradient)
        std::memset(matrixOf(expert), 0, spec.inner * spec.columns * cSize);
    }
    std::stable_sort(tasks.begin(), tasks.end(),
                     [](const Task &one, const Task &two) {
                       return one.work() > two.work();
                     });
  }

  Task whole(int64_t expert) const {
    int64_t rows = experts.end(expert) - experts.begin(expert);
    return spec.gradient ? Task{expert, 0, spec.inner, 0, columnCount, rows}
                         : Task{expert, 0, rows, 0, columnCount, spec.inner};
  }

  /// Into equal tasks of about a share each, unless packing would then take
  /// longer than multiplying.
  void divide(const Task &all, int64_t share) {
    constexpr int64_t kFewColumns = 4 * kMatmulGroup, kFewRows = 64;
    const MatmulBlocks &most = blocks.panels;
    int64_t rowParts = ceilDivide(all.rows, most.rows);
    int64_t columnParts = ceilDivide(all.columns, most.columns);
    int64_t rows = 0, width = 0;
    for (;;) {
      rows = roundUp(ceilDivide(all.rows, rowParts), most.inTiles ? 32 : 2);
      rows = std::min(rows, most.rows);
      width = roundUp(ceilDivide(all.columns, columnParts), kMatmulGroup);
      width = std::min(width, most.columns);
      if (rows * width * all.depth <= share)
        break;
      if (width > kFewColumns)
        ++columnParts;
      else if (rows > kFewRows)
        ++rowParts;
      else
        break;
    }
    for (int64_t row = 0; row < all.rows; row += rows)
      for (int64_t column = 0; column < all.columns; column += width)
        tasks.push_back({all.expert, row, std::min(rows, all.rows - row),
                         column, std::min(width, all.columns - column),
                         all.depth});
  }

  //===--------------------------------------------------------------------===//
  // A task
  //===--------------------------------------------------------------------===//

  void run(const Task &task) {
    int slot = slots.take();
    char *own = scratch + slot * blocks.taskBytes();
    Scratch mine;
    mine.rowPanels = own;
    mine.columnPanels = mine.rowPanels + blocks.panels.rowBytes();
    mine.gathered = mine.columnPanels + blocks.panels.columnBytes();
    mine.sums = reinterpret_cast<float *>(mine.gathered + blocks.gatherBytes);
    mine.results = mine.gathered + blocks.gatherBytes + blocks.sumBytes;
    int64_t parts = ceilDivide(task.depth, blocks.panels.depth);
    int64_t step = roundUp(ceilDivide(task.depth, parts), 32);
    for (int64_t begin = 0; begin < task.depth; begin += step)
      addDepth(task, begin, std::min(step, task.depth - begin), mine);
    if (isScattered(task) && blocks.panels.inTiles)
      spread(task, mine.results);
    slots.give(slot);
  }

  /// The part of the task's products that a block of the depth makes.
  void addDepth(const Task &task, int64_t begin, int64_t depth,
                const Scratch &mine) const {
    MatmulPanels panels = {};
    panels.a = mine.rowPanels;
    panels.b = mine.columnPanels;
    panels.rows = task.rows;
    panels.depth = depth;
    tiles.functions.packRows(rowsOfTask(task, begin, depth, mine.gathered),
                             task.rows, depth, mine.rowPanels);
    int64_t end = task.column + task.columns;
    for (int64_t at = task.column; at < end; at += kMatmulGroup) {
      panels.columns = std::min(kMatmulGroup, end - at);
      tiles.functions.packColumns(
          columnsOfTask(task, at, panels.columns, begin, depth, mine.gathered),
          panels.columns, depth, mine.columnPanels);
      panels.soon = afterGroup(task, at, end, begin, depth);
      setTarget(panels, task, at, begin, mine);
      tiles.functions.multiply(panels);
    }
  }

  MatmulLines rowsOfTask(const Task &task, int64_t begin, int64_t depth,
                         char *gathered) const {
    int64_t first = experts.begin(task.expert);
    if (spec.gradient)
      return depthOf(a, spec.inner, first + begin, depth, task.row, task.rows,
                     gathered);
    first += task.row;
    if (experts.isRun(first, task.rows))
      return {a + (*experts.at(first) * spec.inner + begin) * size, spec.inner,
              1};
    gather(a, spec.inner, first, task.rows, begin, depth, gathered);
    return {gathered, depth, 1};
  }

  MatmulLines columnsOfTask(const Task &task, int64_t column, int64_t count,
                            int64_t begin, int64_t depth,
                            char *gathered) const {
    if (spec.gradient)
      return depthOf(b, spec.columns, experts.begin(task.expert) + begin, depth,
                     column, count, gathered);
    return columns.at(b + task.expert * spec.inner * spec.columns * size,
                      column, begin, size);
  }

  /// Lines of which each row of an expert holds an element.
  MatmulLines depthOf(const char *matrix, int64_t width, int64_t place,
                      int64_t depth, int64_t line, int64_t lines,
                      char *gathered) const {
    if (experts.isRun(place, depth))
      return {matrix + (*experts.at(place) * width + line) * size, 1, width};
    gather(matrix, width, place, depth, line, lines, gathered);
    return {gathered, 1, lines};
  }

  /// `count` elements of some rows, from `first` on. Those some rows ahead are
  /// asked for: processors foresee the lines of a row, but not the next row.
  void gather(const char *matrix, int64_t width, int64_t place, int64_t rows,
              int64_t first, int64_t count, char *to) const {
    constexpr int64_t kAhead = 8, kLine = 64;
    const int32_t *row = experts.at(place);
    for (int64_t i = 0; i < rows; ++i, to += count * size) {
      if (i + kAhead < rows) {
        const char *soon = matrix + (row[i + kAhead] * width + first) * size;
        for (int64_t at = 0; at < count * size; at += kLine)
          __builtin_prefetch(soon + at);
      }
      std::memcpy(to, matrix + (row[i] * width + first) * size, count * size);
    }
  }

  /// The columns of an expert's matrix that are packed after those at `at`.
  SoonRead afterGroup(const Task &task, int64_t at, int64_t end, int64_t begin,
                      int64_t depth) const {
    if (spec.gradient)
      return {};
    int64_t next = at + kMatmulGroup;
    if (next >= end) {
      next = task.column;
      begin += depth;
    }
    if (begin >= task.depth)
      return {};
    int64_t count = std::min(kMatmulGroup, end - next);
    depth = std::min(depth, task.depth - begin);
    return readSoon(columnsOfTask(task, next, count, begin, depth, nullptr),
                    count, depth, size);
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  char *matrixOf(int64_t expert) const {
    return c + expert * spec.inner * spec.columns * cSize;
  }

  /// Whether the rows of c do not lie one behind the other. Vectors put them
  /// where they lie, AMX beside c.
  bool isScattered(const Task &task) const {
    return !spec.gradient &&
           !experts.isRun(experts.begin(task.expert) + task.row, task.rows);
  }

  int64_t waitingRow(const Task &task) const {
    return roundUp(task.columns, kGroupedRowMultiple);
  }

  /// Sums of several blocks meet where c goes, or where c has 16 bits beside
  /// it.
  void setTarget(MatmulPanels &panels, const Task &task, int64_t column,
                 int64_t begin, const Scratch &mine) const {
    bool isFirst = begin == 0, isLast = begin + panels.depth == task.depth;
    int64_t waiting = waitingRow(task), inTask = column - task.column;
    int64_t first = experts.begin(task.expert) + task.row;
    if (isScattered(task) && !blocks.panels.inTiles) {
      panels.places = experts.at(first);
      panels.c = c + column * cSize;
      panels.cRow = columnCount;
    } else if (isScattered(task)) {
      panels.c = mine.results + inTask * cSize;
      panels.cRow = waiting;
    } else {
      char *base = spec.gradient
                       ? matrixOf(task.expert) + task.row * columnCount * cSize
                       : c + *experts.at(first) * columnCount * cSize;
      panels.c = base + column * cSize;
      panels.cRow = columnCount;
    }
    panels.narrow = narrow;
    panels.start = nullptr;
    if (isFirst && isLast)
      return;
    if (!narrow) {
      panels.start = isFirst ? nullptr : static_cast<const float *>(panels.c);
      panels.startRow = panels.cRow;
      return;
    }
    panels.start = isFirst ? nullptr : mine.sums + inTask;
    panels.startRow = waiting;
    if (!isLast) {
      panels.c = mine.sums + inTask;
      panels.cRow = waiting;
      panels.narrow = false;
    }
  }

  /// Rows of results to where they lie in c.
  void spread(const Task &task, const char *results) const {
    const int32_t *row = experts.at(experts.begin(task.expert) + task.row);
    for (int64_t i = 0; i < task.rows; ++i)
      std::memcpy(c + (row[i] * columnCount + task.column) * cSize,
                  results + i * waitingRow(task) * cSize, task.columns * cSize);
  }

  GroupedMatmulSpec spec;
  MatmulTiles tiles;
  GroupedBlocks blocks;
  MatmulSide columns;
  int64_t columnCount = 0, size, cSize;
  bool narrow;
  int threads;
  ScratchSlots slots;
  // The operands, tasks and workspace of the current call.
  ExpertRows experts;
  std::vector<Task> tasks;
  const char *a = nullptr, *b = nullptr;
  char *c = nullptr, *scratch = nullptr;
};

} // namespace

std::unique_ptr<Primitive>
createTiledGroupedMatmul(const GroupedMatmulSpec &spec,
                         uint64_t workspaceBytes) {
  MatmulSpec product = groupedProduct(spec);
  if (!canTileMatmul(product))
    return nullptr;
  std::optional<MatmulTiles> tiles = matmulTilesOf(product);
  if (!tiles)
    return nullptr;
  auto made = std::make_unique<TiledGroupedMatmul>(spec, *tiles, teamSize());
  return made->workspaceBytes() <= workspaceBytes ? std::move(made) : nullptr;
}

} // namespace zc::kernels
