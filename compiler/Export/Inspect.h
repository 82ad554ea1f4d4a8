//===- Inspect.h - what an artifact will do ---------------------*- C++ -*-===//
//
// `zc inspect`: everything is read from the manifest, nothing is run. Sizes are
// exact bytes in JSON, MiB and GiB for people.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_EXPORT_INSPECT_H
#define ZC_COMPILER_EXPORT_INSPECT_H

#include "runtime/Plan/Manifest.pb.h"
#include "runtime/Plan/Order/Schedules.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zc {

struct InspectOptions {
  bool memory = false;
  bool comm = false;
  bool schedule = false;
  bool ops = false;
  bool sharding = false;
  bool json = false;
};

/// The report; without a section chosen, all but the schedule and
/// the shardings.
std::string inspect(const plan::Manifest &manifest, InspectOptions options);

/// The report as one page that needs no other file: memory over each program,
/// its instructions on their streams, tables.
std::string inspectAsHtml(const plan::Manifest &manifest);

/// An artifact among others, and what to call it.
struct NamedManifest {
  std::string name;
  plan::Manifest manifest;
};

/// Several artifacts as one page: tables of memory and of what they send,
/// memory over the step of each, and, where their models differ in layers,
/// activations and peak by these with the power of them that fits best.
/// Artifacts of equal settings are one curve, in whatever order they come.
std::string compareAsHtml(const std::vector<NamedManifest> &artifacts);

/// How many layers a model has, by the numbers in its parameters' names: 2 of
/// "h.0.fc.weight", "h.0.fc.bias" and "h.1.fc.weight"; at least 1.
int countLayers(const plan::Manifest &manifest);

/// values = offset + slope points^exponent by least squares of the relative
/// errors, whose root of the mean square is `error`; a given exponent, or the
/// best one.
struct PowerFit {
  double offset = 0, slope = 0, exponent = 1, error = 0;
};
PowerFit fitPower(const std::vector<double> &points,
                  const std::vector<double> &values, double exponent);
PowerFit fitPower(const std::vector<double> &points,
                  const std::vector<double> &values);

// --- What the report is made of
// --------------------------------------------------

/// Bytes per plan::MemoryClass.
using ClassBytes = std::array<uint64_t, plan::MemoryClass_ARRAYSIZE>;

struct ProgramMemory {
  std::string name;
  uint64_t transientBytes = 0;
  /// Each class at its own maximum over the program, transient buffers only.
  ClassBytes classes{};
  /// The most transient bytes live at once, and the instruction where.
  uint64_t liveBytes = 0;
  int liveAt = -1;
  /// These bytes by class: where two values share some, of the newer one.
  ClassBytes liveClasses{};
  std::string liveAtLabel;
  /// Live transient bytes of each class, at each instruction.
  std::vector<ClassBytes> timeline;
};

struct MemoryReport {
  int role = 0;
  /// Each class at its own maximum over all programs, states included.
  ClassBytes classes{};
  uint64_t persistentBytes = 0;
  uint64_t flightBytes = 0;    // of micro-batches under way
  uint64_t offloadedBytes = 0; // in the second memory, beside the peak
  /// Allocated bytes: all regions, with the transient one as large as the
  /// largest program needs it.
  uint64_t peak = 0;
  std::vector<ProgramMemory> programs;
  int peakProgram = -1;
  std::string peakName;           // empty: there is none
  bool peakIsBesideSteps = false; // as `init` and `eval` are
  /// Bytes by class at the peak, and their sum: each byte counts in one class,
  /// states included; those without a value are unused.
  ClassBytes atPeak{};
  uint64_t unusedAtPeak = 0;
  /// Bytes of the optimizer for each element of trained parameters, whole ones,
  /// with float32 copies of narrower weights.
  double optimizerBytesPerParameter = 0;
  /// Elements of what is trained, in whole.
  uint64_t trained = 0;
  /// Largest magnitudes of the steps before, for scales of 8-bit floats. They
  /// are of the optimizer's class, but no bytes a parameter.
  uint64_t historyBytes = 0;

  /// Bytes of a class, at its own maximum, for each trained element.
  double perParameter(plan::MemoryClass memoryClass) const {
    uint64_t bytes = classes[memoryClass];
    if (memoryClass == plan::OPTIMIZER_STATE)
      bytes -= std::min(bytes, historyBytes);
    return trained > 0 ? double(bytes) / double(trained) : 0;
  }
  /// Parameters, gradients and the optimizer's state at the peak; the rest of
  /// it is residual (Rajbhandari et al. 2020).
  uint64_t modelStates() const {
    return atPeak[plan::PARAMETERS] + atPeak[plan::GRADIENTS] +
           atPeak[plan::OPTIMIZER_STATE];
  }
};

/// Memory of the role with the highest peak; and of one role.
MemoryReport measureMemory(const plan::Manifest &manifest);
MemoryReport measureMemory(const plan::Manifest &manifest, int role);

/// A program among those of all roles: its name, and behind its role's where
/// there are several ("role1.forward").
std::string nameProgram(const plan::Manifest &manifest, int role,
                        const plan::Program &program);

struct OpsReport {
  std::map<std::string, uint64_t> byKind; // all programs together
  std::map<std::string, std::map<std::string, uint64_t>> byProgram;
  /// Floating-point operations of one execution, by program and kind.
  std::map<std::string, std::map<std::string, double>> flops;
  uint64_t kernels = 0;    // distinct generated functions
  uint64_t ptxEntries = 0; // those among them for a GPU
};

OpsReport countOps(const plan::Manifest &manifest);

/// Collectives of a step, and the bytes that the busiest rank of each sends.
struct CommTraffic {
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t steps = 0; // rounds of messages, one after another
};

/// A message from a role to another: how often each rank of it sends one in a
/// step, and how many bytes it has.
struct MessageTraffic {
  int from = 0, to = 0;
  std::string name;
  bool isGradient = false;
  uint64_t bytes = 0, count = 0;
};

/// Gradients and parameters along the axes of data parallelism (dp, ep, sp), in
/// bytes of a rank and a step. ZeRO-1 sends (N-1)/N of the gradients and
/// (N-1)/N of the parameters (Rajbhandari et al. 2020, section 7); each is as
/// wide as the plan sends it. Several roles are added up.
struct DataParallelTraffic {
  double sent = 0;      // by the rank of a role that sends most
  double sentByOne = 0; // in stage 1
  /// Micro-batches for which units of ZeRO-3 stay gathered; of several roles
  /// the fewest.
  uint32_t reshardEvery = 1;

  double factor() const { return sentByOne > 0 ? sent / sentByOne : 0; }
};

struct CommReport {
  uint64_t sentBytes = 0; // by the rank that sends most
  DataParallelTraffic dataParallel;
  std::vector<uint64_t> perRank;                  // of the first 1024 ranks
  std::map<std::string, CommTraffic> byKind;      // gradients, parameters, ...
  std::map<std::string, CommTraffic> byAxis;      // "dp", "dp+tp"
  std::map<std::string, CommTraffic> byAlgorithm; // "ring"
  std::map<std::string, CommTraffic> byOperation; // "all-reduce", "message"
  uint64_t parameterBytes = 0;                    // of the whole model
  std::vector<MessageTraffic> messages;           // of all roles
  /// With several roles: the one whose ranks send most, to which the traffic
  /// above by kind, axis and algorithm belongs; and the reports of all.
  int role = 0;
  std::vector<CommReport> roles;
};

/// How often a step runs each program of a role, and sends each message.
struct RunCounts {
  std::vector<uint64_t> programs, messages; // by index
};

/// `isLate`: of a step behind the manifest's freeze_step.
RunCounts countRuns(const plan::Manifest &manifest, int role, bool isLate);

/// Traffic of one optimizer step; if steps end in two ways, of one that ends in
/// the first.
CommReport measureComm(const plan::Manifest &manifest);

/// And in one behind the manifest's freeze_step; nothing where there is none.
std::optional<CommReport> measureCompressedComm(const plan::Manifest &manifest);

/// The cost of one micro-batch in a stage. Time is in units that compare roles:
/// the larger of flops and ten times the bytes.
struct StageCost {
  int role = 0;
  uint32_t replicas = 1;       // roles from that one on, which take turns
  double flops = 0, bytes = 0; // of the whole step
  double forward = 0, backward = 0, weights = 0; // units of a micro-batch
};

/// The order of a pipeline's roles, and how well they keep each other busy;
/// messages take no time.
struct PipelineReport {
  std::string order; // as --schedule had it
  // In the timeline; several where they overlap. Bubbles are then of one in the
  // midst of a long run.
  uint32_t steps = 1;
  double bubbleOfTotal = 0, bubbleOfIdeal = 0;
  double equalBubbleOfTotal = 0, equalBubbleOfIdeal = 0; // were stages equal
  std::vector<uint32_t> inFlight;                        // by role
  std::vector<uint32_t> versions;                        // of parameters
  std::vector<StageCost> stages;
  double imbalance = 0;              // the largest role's time by the mean
  std::vector<std::string> timeline; // a line for each role
};

/// The cost of a micro-batch in each stage of a pipeline; none as below.
std::optional<WorkCosts> measureWorkCosts(const plan::Manifest &manifest);

/// Nothing where there is one role, or no order.
std::optional<PipelineReport> measurePipeline(const plan::Manifest &manifest);

/// "kernel", "collective", "matmul", ...
std::string getKind(const plan::Instruction &instruction);

/// "3.25 MiB", "712 B".
std::string printSize(uint64_t bytes);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_INSPECT_H
