//===- InspectText.cpp - the report for people ----------------------------===//
#include "compiler/Export/InspectSections.h"
#include "runtime/Plan/Types.h"

#include <cstdarg>
#include <cstdio>

namespace zc {

static std::string format(const char *pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  std::string text(std::vsnprintf(nullptr, 0, pattern, arguments), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  va_end(arguments);
  return text;
}

std::string printSize(uint64_t bytes) {
  constexpr double kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
  auto size = static_cast<double>(bytes);
  if (size >= kGiB)
    return format("%.2f GiB", size / kGiB);
  if (size >= kMiB)
    return format("%.2f MiB", size / kMiB);
  if (size >= 10 * kKiB)
    return format("%.1f KiB", size / kKiB);
  return format("%llu B", static_cast<unsigned long long>(bytes));
}

static std::string printHeader(const plan::Manifest &manifest) {
  size_t parameters = 0;
  for (const plan::State &state : manifest.roles(0).states())
    parameters += state.kind() == plan::PARAMETER;
  std::string text =
      format("%s of %s by zc %s, for %s, at most %u threads",
             manifest.mode() == "train" ? "training" : "inference",
             manifest.model_name().c_str(), manifest.zc_version().c_str(),
             manifest.target().device().c_str(), manifest.target().threads());
  for (const plan::CodeObject &code : manifest.target().code())
    text += format(", %s", code.arch().c_str());
  text += format("\n%zu parameter tensors, %d states", parameters,
                 manifest.roles(0).states_size());
  if (manifest.batch() > 0)
    text += format(", batch %lld", static_cast<long long>(manifest.batch()));
  if (!manifest.loss().empty())
    text += ", loss " + manifest.loss();
  if (!manifest.optimizer().empty())
    text += ", optimizer " + manifest.optimizer();
  return text + "\n";
}

/// "at the peak: 4 MiB of parameters, ...", which adds up.
static std::string printPeak(const MemoryReport &report) {
  std::string text;
  auto part = [&](const char *name, uint64_t bytes) {
    if (bytes > 0)
      text += format("%s%s %s", text.empty() ? "  at the peak: " : " + ",
                     printSize(bytes).c_str(), name);
  };
  part("parameters", report.atPeak[plan::PARAMETERS]);
  part("gradients", report.atPeak[plan::GRADIENTS]);
  part("optimizer", report.atPeak[plan::OPTIMIZER_STATE]);
  part("activations", report.atPeak[plan::ACTIVATIONS]);
  part("communication", report.atPeak[plan::COMMUNICATION]);
  part("workspace", report.atPeak[plan::WORKSPACE]);
  part("unused", report.unusedAtPeak);
  return text + "\n";
}

static std::string printMemory(const plan::Manifest &manifest) {
  MemoryReport report = measureMemory(manifest);
  std::string text = "\nmemory per rank, each class at its own maximum\n";
  auto line = [&](const char *name, plan::MemoryClass memoryClass) {
    text += format("  %-14s %12s\n", name,
                   printSize(report.classes[memoryClass]).c_str());
  };
  line("parameters", plan::PARAMETERS);
  line("gradients", plan::GRADIENTS);
  line("optimizer", plan::OPTIMIZER_STATE);
  line("activations", plan::ACTIVATIONS);
  line("communication", plan::COMMUNICATION);
  line("workspace", plan::WORKSPACE);
  text += format("  %-14s %12s = %s persistent + %s transient\n", "peak",
                 printSize(report.peak).c_str(),
                 printSize(report.persistentBytes).c_str(),
                 printSize(report.peak - report.persistentBytes).c_str());
  text += printPeak(report);
  if (report.optimizerBytesPerParameter > 0)
    text += format("  the optimizer keeps %.4g bytes a trained parameter\n",
                   report.optimizerBytesPerParameter);
  if (report.offloadedBytes > 0)
    text += format("  %-14s %12s, beside the peak\n", "offloaded",
                   printSize(report.offloadedBytes).c_str());
  for (const ProgramMemory &memory : report.programs) {
    text += format("  %s: %s transient", memory.name.c_str(),
                   printSize(memory.transientBytes).c_str());
    if (memory.liveAt >= 0)
      text += format("; most live at instruction %d (%s), %s", memory.liveAt,
                     memory.liveAtLabel.c_str(),
                     printSize(memory.liveBytes).c_str());
    text += "\n";
  }
  return text;
}

static std::string printComm(const std::string &title,
                             const CommReport &report) {
  std::string text = "\n" + title + "\n";
  if (report.perRank.size() < 2)
    return text + "  one rank: nothing is sent\n";
  auto line = [&](const std::string &name, const CommTraffic &traffic) {
    if (traffic.count > 0)
      text += format("  %-14s %12s in %llu collectives of %llu steps\n",
                     name.c_str(), printSize(traffic.bytes).c_str(),
                     static_cast<unsigned long long>(traffic.count),
                     static_cast<unsigned long long>(traffic.steps));
  };
  for (const auto &[kind, traffic] : report.byKind)
    line(kind, traffic);
  for (const auto &[axes, traffic] : report.byAxis)
    line("along " + axes, traffic);
  for (const auto &[algorithm, traffic] : report.byAlgorithm)
    line("by " + algorithm, traffic);
  text += format("  %-14s %12s by the rank that sends most", "together",
                 printSize(report.sentBytes).c_str());
  if (report.parameterBytes > 0)
    text += format(", %.3f times the parameters",
                   double(report.sentBytes) / double(report.parameterBytes));
  return text + "\n";
}

static std::string printComm(const plan::Manifest &manifest) {
  std::string text = printComm("communication per step", measureComm(manifest));
  std::optional<CommReport> later = measureCompressedComm(manifest);
  if (!later)
    return text;
  return text + printComm("communication per step, after step " +
                              std::to_string(manifest.freeze_step()),
                          *later);
}

static std::string printOps(const plan::Manifest &manifest) {
  OpsReport report = countOps(manifest);
  std::string text = "\ninstructions\n";
  for (const auto &[program, kinds] : report.byProgram) {
    text += "  " + program + ":";
    const char *separator = " ";
    for (const auto &[kind, count] : kinds) {
      text += format("%s%llu %s", separator,
                     static_cast<unsigned long long>(count), kind.c_str());
      separator = ", ";
    }
    text += kinds.empty() ? " none\n" : "\n";
  }
  return text + format("  %llu distinct generated kernels\n",
                       static_cast<unsigned long long>(report.kernels));
}

static std::string printSchedule(const plan::Manifest &manifest) {
  std::string text;
  for (const plan::Program &program : manifest.roles(0).programs()) {
    text += format("\nschedule of %s\n  %5s %-11s %9s %9s  %s\n",
                   program.name().c_str(), "", "kind", "MFLOP", "MB", "what");
    for (int i = 0; i < program.instructions_size(); ++i) {
      const plan::Instruction &instruction = program.instructions(i);
      text += format("  %5d %-11s %9.3f %9.3f  %s\n", i,
                     getKind(instruction).c_str(), instruction.flops() / 1e6,
                     instruction.bytes() / 1e6, instruction.label().c_str());
    }
  }
  return text;
}

/// "tp,-": for each dim the axes that divide it.
static std::string printDivision(const plan::TensorDivision &division) {
  std::string text;
  for (const plan::DimSharding &dim : division.sharding().dims()) {
    text += text.empty() ? "" : ",";
    for (int i = 0; i < dim.axes_size(); ++i)
      text += (i ? "+" : "") + dim.axes(i);
    text += dim.axes().empty() ? "-" : "";
  }
  for (int i = 0; i < division.unreduced_size(); ++i)
    text += (i ? "+" : " sum over ") + division.unreduced(i);
  return text;
}

static std::string printSharding(const plan::Manifest &manifest) {
  if (manifest.roles(0).divisions().empty())
    return "\none rank: every tensor is whole\n";
  std::string text = "\nhow tensors are divided, and why\n";
  for (const plan::TensorDivision &division : manifest.roles(0).divisions())
    text += format("  %-10s %-40s %-18s %-14s %s\n", division.kind().c_str(),
                   division.name().c_str(),
                   printDims(division.type().dims()).c_str(),
                   printDivision(division).c_str(), division.why().c_str());
  return text;
}

std::string inspectAsText(const plan::Manifest &manifest,
                          const InspectOptions &options) {
  std::string text = printHeader(manifest);
  if (options.memory)
    text += printMemory(manifest);
  if (options.comm)
    text += printComm(manifest);
  if (options.ops)
    text += printOps(manifest);
  if (options.sharding)
    text += printSharding(manifest);
  if (options.schedule)
    text += printSchedule(manifest);
  return text;
}

std::string inspect(const plan::Manifest &manifest, InspectOptions options) {
  if (!options.memory && !options.comm && !options.ops && !options.schedule &&
      !options.sharding)
    options.memory = options.comm = options.ops = true;
  return options.json ? inspectAsJson(manifest, options)
                      : inspectAsText(manifest, options);
}

} // namespace zc
