//===- HtmlParts.cpp - what pages are made of -----------------------------===//
#include "compiler/Export/HtmlParts.h"
#include "runtime/Plan/Types.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <numeric>
#include <set>

namespace zc::html {

const char *const kHead =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<style>body{font:15px sans-serif;max-width:1100px;margin:2em auto;"
    "padding:0 1em;color:#222}svg{width:100%;border:1px solid #ddd}"
    "table{border-collapse:collapse}td,th{padding:2px 10px;text-align:left;"
    "border-bottom:1px solid "
    "#eee}td.n,th.n{text-align:right;font-variant-numeric:"
    "tabular-nums}.legend span{display:inline-block;width:12px;height:12px;"
    "margin:0 4px 0 12px}</style>\n";

std::string escape(const std::string &text) {
  std::string out;
  for (char c : text)
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  return out;
}

std::string number(double value) {
  char text[32];
  value = std::round(100 * value) / 100 + 0.0; // no -0
  std::snprintf(text, sizeof(text), "%.2f", value);
  return text;
}

/// Left of a drawing stand its sizes or names, below it numbers and a unit.
static constexpr int kLeft = 90, kBelow = 40, kAbove = 12;

std::string openSvg(int height) {
  return strCat("<svg viewBox=\"", -kLeft, " ", -kAbove, " ",
                kWidth + kLeft + 4, " ", height + kAbove + kBelow, "\">\n");
}

std::string word(double x, double y, const char *anchor,
                 const std::string &words) {
  return "<text font-size=\"12\" text-anchor=\"" + std::string(anchor) +
         "\" x=\"" + number(x) + "\" y=\"" + number(y) + "\">" + escape(words) +
         "</text>\n";
}

std::string rectangle(double x, double y, double width, double height,
                      const char *color, const std::string &title) {
  return "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" +
         number(width) + "\" height=\"" + number(height) + "\" fill=\"" +
         color + "\"><title>" + escape(title) + "</title></rect>\n";
}

std::string legend() {
  std::string text = "<p class=\"legend\">";
  for (const ClassStyle &style : kClasses)
    text += std::string("<span style=\"background:") + style.color +
            "\"></span>" + style.name + " ";
  return text + "</p>\n";
}

uint64_t mostBytes(const ProgramMemory &memory) {
  uint64_t most = 1;
  for (const ClassBytes &bytes : memory.timeline)
    most = std::max(most,
                    std::accumulate(bytes.begin(), bytes.end(), uint64_t(0)));
  return most;
}

std::vector<Tick> roundTicks(double most, int count, double least) {
  const double rough = std::max(most / count, 1e-300);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (double factor : {5.0, 2.0, 1.0})
    if (factor * power >= rough * 0.75)
      step = factor * power;
  step = std::max(step, least);
  std::vector<Tick> ticks;
  for (int i = 0; i * step <= most * (1 + 1e-9); ++i) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.6g", i * step);
    ticks.push_back({i * step, text});
  }
  return ticks;
}

std::vector<Tick> sizeTicks(uint64_t most, int count) {
  double unit = 1;
  const char *const names[] = {" B", " KiB", " MiB", " GiB", " TiB"};
  size_t name = 0;
  for (; name + 1 < std::size(names) && double(most) >= 1024 * unit; ++name)
    unit *= 1024;
  std::vector<Tick> ticks = roundTicks(double(most) / unit, count);
  for (Tick &tick : ticks) {
    tick.value *= unit;
    tick.text += names[name];
  }
  return ticks;
}

/// Bytes upwards, instructions to the right, with lines of equal bytes.
static std::string drawAxes(uint64_t scale, size_t columns) {
  std::string text;
  for (const Tick &tick : sizeTicks(scale, 4)) {
    const double y = kHeight - kHeight * tick.value / double(scale);
    text += "<path fill=\"none\" stroke=\"#ddd\" d=\"M0 " + number(y) + "H" +
            std::to_string(kWidth) + "\"/>\n" +
            word(-6, y + 4, "end", tick.text);
  }
  const double width = kWidth / double(std::max<size_t>(1, columns));
  for (const Tick &tick : roundTicks(double(columns) - 1, 8, 1))
    text += word((tick.value + 0.5) * width, kHeight + 16, "middle", tick.text);
  return text + word(kWidth / 2.0, kHeight + 32, "middle", "instruction");
}

std::string drawMemory(const ProgramMemory &memory, uint64_t scale,
                       size_t columns) {
  std::string text = openSvg(kHeight) + drawAxes(scale, columns);
  std::vector<double> base(memory.timeline.size(), 0);
  double step = double(kWidth) / double(std::max<size_t>(1, columns));
  for (const ClassStyle &style : kClasses) {
    std::string upper, lower;
    bool any = false;
    for (size_t i = 0; i < base.size(); ++i) {
      uint64_t bytes = memory.timeline[i][style.memoryClass];
      any |= bytes > 0;
      double low = base[i],
             high = low + double(bytes) / double(scale) * kHeight;
      base[i] = high;
      for (double x : {double(i) * step, double(i + 1) * step}) {
        upper += number(x) + "," + number(kHeight - high) + " ";
        lower = number(x) + "," + number(kHeight - low) + " " + lower;
      }
    }
    if (any)
      text += "<polygon fill=\"" + std::string(style.color) + "\" points=\"" +
              upper + lower + "\"><title>" + style.name +
              "</title></polygon>\n";
  }
  text += "</svg>\n<p>most: " + printSize(memory.liveBytes);
  if (memory.liveAt >= 0)
    text += " at instruction " + std::to_string(memory.liveAt);
  if (!memory.liveAtLabel.empty())
    text += ", " + escape(memory.liveAtLabel);
  return text + "</p>\n";
}

/// Views of the same bytes are one tensor, called as the first of them.
static std::vector<const plan::Buffer *> findLive(const plan::Program &program,
                                                  const ProgramMemory &memory) {
  std::set<std::pair<uint64_t, uint64_t>> seen;
  std::vector<const plan::Buffer *> live;
  for (const plan::Buffer &buffer : program.buffers()) {
    Result<uint64_t> bytes = byteCount(buffer.type());
    if (buffer.space() == plan::TRANSIENT && bytes.ok() && *bytes > 0 &&
        int(buffer.first_use()) <= memory.liveAt &&
        int(buffer.last_use()) >= memory.liveAt &&
        seen.insert({buffer.offset(), *bytes}).second)
      live.push_back(&buffer);
  }
  std::stable_sort(live.begin(), live.end(), [](auto *left, auto *right) {
    return *byteCount(left->type()) > *byteCount(right->type());
  });
  return live;
}

std::string tableOfLive(const plan::Program &program,
                        const ProgramMemory &memory) {
  constexpr size_t kMostRows = 40;
  std::vector<const plan::Buffer *> live = findLive(program, memory);
  if (live.empty())
    return "";
  std::string text = "<details><summary>" + std::to_string(live.size()) +
                     " tensors alive there</summary><table><tr><th>bytes</th>"
                     "<th>class</th><th>type</th><th>from</th><th>to</th>"
                     "<th>what</th></tr>\n";
  for (size_t i = 0; i < std::min(live.size(), kMostRows); ++i) {
    const plan::Buffer &buffer = *live[i];
    text += "<tr><td class=\"n\">" + printSize(*byteCount(buffer.type())) +
            "</td><td>";
    for (const ClassStyle &style : kClasses)
      if (style.memoryClass == buffer.memory_class())
        text += style.name;
    text += "</td><td>" + escape(printType(buffer.type())) +
            "</td><td class=\"n\">" + std::to_string(buffer.first_use()) +
            "</td><td class=\"n\">" + std::to_string(buffer.last_use()) +
            "</td><td>" + escape(buffer.name()) + "</td></tr>\n";
  }
  text += "</table>";
  if (live.size() > kMostRows)
    text += "<p>and " + std::to_string(live.size() - kMostRows) +
            " smaller ones</p>";
  return text + "</details>\n";
}

} // namespace zc::html
