//===- Float8Options.h - options of --precision fp8 -------------*- C++ -*-===//
#ifndef ZC_COMPILER_DRIVER_FLOAT8OPTIONS_H
#define ZC_COMPILER_DRIVER_FLOAT8OPTIONS_H

#include "compiler/Driver/Options.h"
#include "passes/Contents/Contents.h"

#include <CLI/CLI.hpp>

namespace zc {

/// The tensors, or parts of them, that share a scale.
struct Float8Scaling {
  std::string kind = "current"; // or delayed, block
  int64_t history = 1024;       // steps, of delayed
};

/// Parses "current", "delayed", "delayed:16" or "block"; none for other texts.
std::optional<Float8Scaling> parseFloat8Scaling(const std::string &text);

/// Whether scales follow the steps before, which checkpoints hold.
bool scalesByHistory(const CompileOptions &options);

/// Adds --fp8-scaling and --fp8-exclude.
void addFloat8Options(CLI::App &command, CompileOptions &options);

/// The options of the passes; none unless --precision is fp8.
std::optional<PassOptions::Float8>
getFloat8Options(const CompileOptions &options);

/// Rows, inputs and outputs of such products are multiples of it; 1 unless
/// --precision is fp8.
int64_t getFloat8Divisor(const CompileOptions &options);

} // namespace zc

#endif // ZC_COMPILER_DRIVER_FLOAT8OPTIONS_H
