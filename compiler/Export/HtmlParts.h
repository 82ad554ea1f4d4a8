//===- HtmlParts.h - what pages are made of ---------------------*- C++ -*-===//
//
// Drawings are SVG in the page itself: nothing is fetched and no script runs.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_EXPORT_HTMLPARTS_H
#define ZC_COMPILER_EXPORT_HTMLPARTS_H

#include "compiler/Export/Inspect.h"

#include <string>
#include <vector>

namespace zc::html {

/// The size of a drawing, in its own units.
constexpr int kWidth = 1000, kHeight = 220;

struct ClassStyle {
  plan::MemoryClass memoryClass;
  const char *name, *color;
};
inline constexpr ClassStyle kClasses[] = {
    {plan::PARAMETERS, "parameters", "#4c72b0"},
    {plan::GRADIENTS, "gradients", "#dd8452"},
    {plan::OPTIMIZER_STATE, "optimizer", "#55a868"},
    {plan::ACTIVATIONS, "activations", "#8172b3"},
    {plan::COMMUNICATION, "communication", "#c44e52"},
    {plan::WORKSPACE, "workspace", "#937860"}};

/// The beginning of a page, up to its title.
extern const char *const kHead;

/// HTML for a text that an author wrote.
std::string escape(const std::string &text);

/// With two decimals.
std::string number(double value);

/// Begins a drawing of this height, with room for names and sizes on its left,
/// numbers and their unit below it.
std::string openSvg(int height);

/// Words in a drawing; `anchor`: "start", "middle" or "end" stands at x.
std::string word(double x, double y, const char *anchor,
                 const std::string &words);

/// A rectangle of a drawing; `title` is said of it where a pointer rests on it.
std::string rectangle(double x, double y, double width, double height,
                      const char *color, const std::string &title);

/// A place on an axis, and what stands there.
struct Tick {
  double value;
  std::string text;
};

/// Round numbers from 0 to `most`, about `count` of them: multiples of 1, 2 or
/// 5 times a power of ten, no closer than `least` (1 where things are counted).
std::vector<Tick> roundTicks(double most, int count, double least = 0);

/// The same of bytes, in the unit that suits `most`: "20 MiB".
std::vector<Tick> sizeTicks(uint64_t most, int count);

/// The colors of memory classes.
std::string legend();

/// The upper end of a drawing of the memory: the most bytes of all classes.
uint64_t mostBytes(const ProgramMemory &memory);

/// Bytes live at each instruction, classes on top of one another, between axes,
/// and what the most are. A buffer that is seen as two classes at once stands
/// in both. `scale`: the bytes at the top, at least mostBytes(). `columns`: the
/// instructions that there is room for, at least those of `memory`.
std::string drawMemory(const ProgramMemory &memory, uint64_t scale,
                       size_t columns);

/// The transient tensors that are there where the memory is at its most, the
/// largest first, as a table.
std::string tableOfLive(const plan::Program &program,
                        const ProgramMemory &memory);

} // namespace zc::html

#endif // ZC_COMPILER_EXPORT_HTMLPARTS_H
