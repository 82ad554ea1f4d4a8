//===- WindowWalk.h - windows of images, walked in one piece ----*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_WINDOWWALK_H
#define ZC_COMPILER_INTERPRETER_WINDOWWALK_H

#include "dialects/Train/Ops/WindowSupport.h"

#include <array>

namespace zc::interpreter {

/// The sizes of a kernel over windows, dim by dim, and where elements lie.
struct WindowWalk {
  /// Spatial dims; where there are fewer the others have size 1.
  static constexpr int kDims = 3;
  using Sizes = std::array<int64_t, kDims>;

  /// How a tensor is walked: by sample, or a filter's output, by channel, by
  /// the spatial dims. In elements.
  struct Steps {
    int64_t outer = 0, inner = 0;
    Sizes spatial = {0, 0, 0};
  };

  Sizes image = {1, 1, 1}, places = {1, 1, 1}, window = {1, 1, 1};
  Sizes strides = {1, 1, 1}, dilations = {1, 1, 1}, pads = {0, 0, 0};
  Steps ofImage, ofPlaces;

  /// Takes over dim number `from` of `given`, whose sizes these are, as dim
  /// `to`.
  void setDim(int to, const train::Window &given, size_t from,
              int64_t imageSize, int64_t placeSize, int64_t windowSize) {
    image[to] = imageSize;
    places[to] = placeSize;
    window[to] = windowSize;
    strides[to] = given.strides[from];
    dilations[to] = given.dilations[from];
    pads[to] = given.padsLow[from];
  }
};

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_WINDOWWALK_H
