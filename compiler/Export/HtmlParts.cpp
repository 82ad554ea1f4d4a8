//===- HtmlParts.cpp - what pages are made of -----------------------------===//
#include "compiler/Export/HtmlParts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace zc::html {

const char *const kHead =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<style>body{font:15px sans-serif;max-width:1100px;margin:2em auto;"
    "padding:0 1em;color:#222}svg{width:100%;border:1px solid #ddd}"
    "table{border-collapse:collapse}td,th{padding:2px 10px;text-align:left;"
    "border-bottom:1px solid #eee}.n{text-align:right;font-variant-numeric:"
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

std::string openSvg(int height) {
  return "<svg viewBox=\"0 0 " + std::to_string(kWidth) + " " +
         std::to_string(height) + "\" preserveAspectRatio=\"none\">\n";
}

std::string legend() {
  std::string text = "<p class=\"legend\">";
  for (const ClassStyle &style : kClasses)
    text += std::string("<span style=\"background:") + style.color +
            "\"></span>" + style.name + " ";
  return text + "</p>\n";
}

std::string drawMemory(const ProgramMemory &memory) {
  uint64_t most = 1;
  for (const ClassBytes &bytes : memory.timeline) {
    uint64_t total = 0;
    for (uint64_t each : bytes)
      total += each;
    most = std::max(most, total);
  }
  std::string text = openSvg(kHeight);
  std::vector<double> base(memory.timeline.size(), 0);
  double step = double(kWidth) / double(std::max<size_t>(1, base.size()));
  for (const ClassStyle &style : kClasses) {
    std::string upper, lower;
    bool any = false;
    for (size_t i = 0; i < base.size(); ++i) {
      uint64_t bytes = memory.timeline[i][style.memoryClass];
      any |= bytes > 0;
      double low = base[i], high = low + double(bytes) / double(most) * kHeight;
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
  return text + "</svg>\n<p>most: " + printSize(memory.liveBytes) +
         (memory.liveAtLabel.empty() ? ""
                                     : " at " + escape(memory.liveAtLabel)) +
         "</p>\n";
}

} // namespace zc::html
