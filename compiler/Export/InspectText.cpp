//===- InspectText.cpp - the report for people ----------------------------===//
#include "compiler/Export/InspectOverview.h"
#include "compiler/Export/InspectPictures.h"
#include "compiler/Export/InspectSections.h"
#include "compiler/Export/InspectUse.h"
#include "runtime/Plan/Mesh.h"
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
  int states = 0;
  for (const plan::Role &role : manifest.roles()) {
    states += role.states_size();
    for (const plan::State &state : role.states())
      parameters += state.kind() == plan::PARAMETER;
    if (hasParameterServer(manifest))
      break; // workers have the same
  }
  std::string text =
      format("%s of %s by zc %s, for %s, at most %u thread%s",
             manifest.mode() == "train" ? "training" : "inference",
             manifest.model_name().c_str(), manifest.zc_version().c_str(),
             manifest.target().device().c_str(), manifest.target().threads(),
             manifest.target().threads() == 1 ? "" : "s");
  for (const plan::CodeObject &code : manifest.target().code())
    text += format(", %s", code.arch().c_str());
  for (const plan::CodeObject &code : manifest.target().host_code())
    text += format(", %s for its host", code.arch().c_str());
  text += format("\n%zu parameter tensors, %d states", parameters, states);
  if (manifest.roles_size() > 1)
    text += format(" of %d roles", manifest.roles_size());
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

/// "persistent + transient", of which the peak consists.
static std::string printRegions(const MemoryReport &report) {
  std::string text = printSize(report.persistentBytes) + " persistent + ";
  if (report.flightBytes > 0)
    text += printSize(report.flightBytes) + " of micro-batches in flight + ";
  return text +
         printSize(report.peak - report.persistentBytes - report.flightBytes) +
         " transient";
}

static std::string printMemory(const std::string &whose,
                               const MemoryReport &report) {
  std::string text =
      "\nmemory per rank" + whose + ", each class at its own maximum\n";
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
  text += format("  %-14s %12s = %s\n", "peak", printSize(report.peak).c_str(),
                 printRegions(report).c_str());
  text += printPeak(report);
  if (report.peak > 0)
    text += format("  model states %s, residual states %s; %.2f %% of the peak "
                   "is of no use\n",
                   printSize(report.modelStates()).c_str(),
                   printSize(report.peak - report.modelStates()).c_str(),
                   100 * double(report.unusedAtPeak) / double(report.peak));
  if (report.trained > 0)
    text += format("  bytes a trained parameter: %.4g of parameters, %.4g of "
                   "gradients, %.4g of the optimizer\n",
                   report.perParameter(plan::PARAMETERS),
                   report.perParameter(plan::GRADIENTS),
                   report.perParameter(plan::OPTIMIZER_STATE));
  if (report.optimizerBytesPerParameter > 0)
    text += format("  the optimizer keeps %.4g bytes a trained parameter\n",
                   report.optimizerBytesPerParameter);
  if (report.historyBytes > 0)
    text += format("  largest magnitudes of steps before, for scales of 8-bit "
                   "floats: %s of the optimizer's class beside that\n",
                   printSize(report.historyBytes).c_str());
  if (report.offloadedBytes > 0)
    text += format("  %-14s %12s, beside the peak\n", "offloaded",
                   printSize(report.offloadedBytes).c_str());
  if (report.peakIsBesideSteps)
    text += format("  the peak is that of program '%s', which runs beside the "
                   "steps\n",
                   report.peakName.c_str());
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

/// Nothing of one rank, which has one of each.
static std::string printCopies(const plan::Manifest &manifest) {
  if (manifest.mesh().empty())
    return "";
  const ResidentCopies copies = countCopies(manifest);
  return format("  all ranks hold %.2f copies of the parameters, at most %.2f "
                "of gradients, %.2f of the optimizer's states\n",
                copies.parameters, copies.gradients, copies.optimizer);
}

/// If there are several roles, prints the largest, then each.
static std::string printMemory(const plan::Manifest &manifest) {
  MemoryReport largest = measureMemory(manifest);
  if (manifest.roles_size() < 2)
    return printMemory("", largest) + printUse(manifest, 0) +
           printCopies(manifest);
  std::string text =
      printMemory(format(" of the largest role, %d", largest.role), largest) +
      printCopies(manifest);
  for (int role = 0; role < manifest.roles_size(); ++role)
    text += printMemory(format(" of role %d", role),
                        measureMemory(manifest, role)) +
            printUse(manifest, role);
  return text;
}

static std::string printTraffic(const CommReport &report) {
  std::string text;
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
  return text;
}

static std::string printFactor(const DataParallelTraffic &traffic) {
  if (traffic.sentByOne <= 0)
    return "";
  return format("  gradients and parameters over dp: %.3f times what ZeRO-1 "
                "sends%s\n",
                traffic.factor(),
                traffic.reshardEvery > 1
                    ? format("; units stay gathered for %u micro-batches",
                             traffic.reshardEvery)
                          .c_str()
                    : "");
}

static std::string printRoles(const CommReport &report) {
  std::string text;
  for (size_t i = 0; i < report.roles.size(); ++i)
    text += format("\n  role %zu, whose ranks send at most %s in a step\n", i,
                   printSize(report.roles[i].sentBytes).c_str()) +
            printTraffic(report.roles[i]) +
            printFactor(report.roles[i].dataParallel);
  if (!report.messages.empty())
    text += "\n  messages of a step\n";
  for (const MessageTraffic &message : report.messages)
    text += format("  role %d to %d: %12s %5llu times, %s %s\n", message.from,
                   message.to, printSize(message.bytes).c_str(),
                   static_cast<unsigned long long>(message.count),
                   message.isGradient ? "gradient of" : "activation",
                   message.name.c_str());
  return text;
}

static std::string printComm(const std::string &title,
                             const CommReport &report) {
  std::string text = "\n" + title;
  if (!report.roles.empty())
    text += format(", of the role that sends most, %d", report.role);
  text += "\n";
  if (report.perRank.size() < 2)
    return text + "  one rank: nothing is sent\n";
  text += printTraffic(report);
  text += format("  %-14s %12s by the rank that sends most", "together",
                 printSize(report.sentBytes).c_str());
  if (report.parameterBytes > 0)
    text += format(", %.3f times the parameters",
                   double(report.sentBytes) / double(report.parameterBytes));
  return text + "\n" + printFactor(report.dataParallel) + printRoles(report);
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
    auto &flops = report.flops[program];
    if (auto grouped = flops.find("grouped_matmul"); grouped != flops.end()) {
      double all = 0;
      for (const auto &[kind, number] : flops)
        all += number;
      text += format("    experts: %.3f of %.3f MFLOP, of the chosen alone\n",
                     grouped->second / 1e6, all / 1e6);
    }
  }
  return text + format("  %llu distinct generated kernels\n",
                       static_cast<unsigned long long>(report.kernels));
}

static std::string printProgram(const std::string &name,
                                const plan::Program &program) {
  std::string text = format("\nschedule of %s\n  %5s %-11s %9s %9s  %s\n",
                            name.c_str(), "", "kind", "MFLOP", "MB", "what");
  for (int i = 0; i < program.instructions_size(); ++i) {
    const plan::Instruction &instruction = program.instructions(i);
    text += format("  %5d %-11s %9.3f %9.3f  %s\n", i,
                   getKind(instruction).c_str(), instruction.flops() / 1e6,
                   instruction.bytes() / 1e6, instruction.label().c_str());
  }
  return text;
}

static std::string printPipeline(const PipelineReport &report) {
  std::string text =
      report.steps == 1 ? "\norder of a step: " + report.order + "\n"
                        : format("\norder of the first %u steps of a run: %s\n",
                                 report.steps, report.order.c_str());
  for (size_t role = 0; role < report.timeline.size(); ++role)
    text += format("  role %-3zu |%s|\n", role, report.timeline[role].c_str());
  text +=
      format("  bubble: %.1f %% of the total time, %.1f %% of the ideal; "
             "were stages equal: %.1f %% and %.1f %%\n",
             100 * report.bubbleOfTotal, 100 * report.bubbleOfIdeal,
             100 * report.equalBubbleOfTotal, 100 * report.equalBubbleOfIdeal);
  text += "  micro-batches in flight by role:";
  for (uint32_t depth : report.inFlight)
    text += format(" %u", depth);
  if (report.steps > 1) {
    text += "\n  versions of the parameters by role:";
    for (uint32_t versions : report.versions)
      text += format(" %u", versions);
  }
  return text + format("\n  imbalance: the largest role has %.3f times the "
                       "mean time\n",
                       report.imbalance);
}

static std::string printSchedule(const plan::Manifest &manifest) {
  std::string text;
  if (std::optional<PipelineReport> report = measurePipeline(manifest))
    text += printPipeline(*report);
  for (int role = 0; role < manifest.roles_size(); ++role)
    for (const plan::Program &program : manifest.roles(role).programs())
      text += printProgram(nameProgram(manifest, role, program), program);
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

static std::string printSharding(const std::string &whose,
                                 const plan::Role &role) {
  std::string text = "\nhow tensors" + whose + " are divided, and why\n";
  for (const plan::TensorDivision &division : role.divisions())
    text += format("  %-10s %-40s %-18s %-14s %s\n", division.kind().c_str(),
                   division.name().c_str(),
                   printDims(division.type().dims()).c_str(),
                   printDivision(division).c_str(), division.why().c_str());
  return text;
}

static std::string printSharding(const plan::Manifest &manifest) {
  std::string text;
  for (int role = 0; role < manifest.roles_size(); ++role)
    if (!manifest.roles(role).divisions().empty())
      text += printSharding(
          manifest.roles_size() > 1 ? format(" of role %d", role) : "",
          manifest.roles(role));
  return text.empty() ? "\none rank: every tensor is whole\n" : text;
}

std::string inspectAsText(const plan::Manifest &manifest,
                          const InspectOptions &options) {
  std::string text =
      printHeader(manifest) + printOverview(describeOverview(manifest));
  if (options.memory)
    text += printMemory(manifest);
  if (options.comm)
    text += printComm(manifest);
  if (options.ops)
    text +=
        printOps(manifest) + printProducts(manifest) + printExperts(manifest);
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
