#include "compiler/Plan/Layouts.h"

#include "runtime/Plan/Axes.h"
#include "runtime/Plan/LibraryCalls.h"
#include "runtime/Plan/StepPhases.h"
#include "runtime/Plan/Types.h"
#include "runtime/Simulate/CollectiveTimes.h"

#include <algorithm>
#include <numeric>

namespace zc {

std::string StepLayout::mesh() const {
  std::string text;
  for (auto [name, size] :
       {std::pair(axes::kRole, pp), std::pair(axes::kSample, dp),
        std::pair(axes::kExpert, ep), std::pair(axes::kToken, sp),
        std::pair(axes::kTensor, tp)})
    if (size > 1)
      text += strCat(text.empty() ? "" : ",", name, "=", size);
  return text;
}

std::string StepLayout::arguments() const {
  std::string text;
  auto add = [&](const std::string &option) {
    text += (text.empty() ? "" : " ") + option;
  };
  if (ranks() > 1)
    add("--mesh " + mesh());
  if (zero > 0)
    add(strCat("--zero ", zero));
  if (accumulate > 1 || pp > 1) // zc compile gives pipelines more than one
    add(strCat("--accumulate ", accumulate));
  if (pp > 1 && schedule != "1f1b")
    add("--schedule " + schedule);
  if (chunks > 0)
    add(strCat("--chunks ", chunks));
  if (dividesMessages())
    add("--divide-messages");
  if (recompute != "none")
    add("--recompute " + recompute);
  if (offload != "none")
    add("--offload " + offload);
  return text;
}

std::string StepLayout::options() const {
  const std::string text = arguments();
  return text.empty() ? "one rank, nothing else" : text;
}

namespace {

std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t each = 1; each <= number; ++each)
    if (number % each == 0)
      divisors.push_back(each);
  return divisors;
}

/// Meshes of so many ranks: tensors are divided only among neighbours.
std::vector<StepLayout> listMeshes(const LayoutSpace &space) {
  if (space.mesh)
    return {*space.mesh};
  std::vector<StepLayout> meshes;
  for (int64_t tp : divisorsOf(space.ranks))
    for (int64_t pp : divisorsOf(space.ranks / tp))
      for (int64_t sp : divisorsOf(space.ranks / tp / pp)) {
        const int64_t rest = space.ranks / tp / pp / sp;
        if (tp > space.neighbours || pp > space.layers ||
            sp > space.neighbours || (sp > 1 && pp > 1))
          continue;
        for (int64_t ep :
             space.hasExperts ? divisorsOf(rest) : std::vector<int64_t>{1}) {
          StepLayout layout;
          layout.tp = tp;
          layout.pp = pp;
          layout.sp = sp;
          layout.ep = ep;
          layout.dp = rest / ep;
          if (space.batch == 0 || space.batch % (layout.dp * ep) == 0)
            meshes.push_back(layout);
        }
      }
  return meshes;
}

/// Micro-batches: as many samples each. Few leave a pipeline empty for long,
/// but cost fewer launches: where these take most of a step, one may be
/// quickest.
std::vector<int64_t> listMicroBatches(const LayoutSpace &space,
                                      const StepLayout &mesh) {
  if (!space.accumulate.empty())
    return space.accumulate;
  const int64_t samples =
      space.batch == 0 ? 1 : space.batch / (mesh.dp * mesh.ep);
  std::vector<int64_t> counts;
  for (int64_t count : divisorsOf(samples))
    if ((count & (count - 1)) == 0 &&
        count <= 8 * std::max<int64_t>(mesh.pp, 2))
      counts.push_back(count);
  return counts;
}

void addSchedules(const LayoutSpace &space, StepLayout layout,
                  std::vector<StepLayout> &layouts) {
  if (layout.pp == 1) {
    layouts.push_back(layout);
    return;
  }
  for (const std::string &schedule : space.schedules) {
    layout.schedule = schedule;
    layout.chunks = 0;
    if (schedule != "interleaved") {
      layouts.push_back(layout);
      continue;
    }
    if (layout.accumulate % layout.pp != 0)
      continue;
    for (int64_t chunks : {2, 4, 8})
      if (chunks * layout.pp <= space.layers) {
        layout.chunks = chunks;
        layouts.push_back(layout);
      }
  }
}

} // namespace

std::vector<StepLayout> listLayouts(const LayoutSpace &space) {
  std::vector<StepLayout> layouts;
  for (StepLayout layout : listMeshes(space))
    for (int64_t count : listMicroBatches(space, layout))
      for (int64_t zero : space.zero) {
        if (zero > 0 && layout.dp * layout.sp == 1 && space.zero.size() > 1)
          continue;
        for (const std::string &recompute : space.recompute) {
          layout.accumulate = count;
          layout.zero = zero;
          layout.recompute = recompute;
          for (const std::string &offload : space.offload) {
            layout.offload = offload;
            addSchedules(space, layout, layouts);
          }
        }
      }
  return layouts;
}

/// The bytes that most products give, by the middle one.
static double findBoundary(const plan::Manifest &manifest) {
  std::vector<double> sizes;
  for (const plan::Program &program : manifest.roles(0).programs())
    for (const plan::Instruction &instruction : program.instructions())
      if (isCall<kernels::MatmulCall>(instruction)) {
        Result<uint64_t> bytes = byteCount(
            program.buffers(int(instruction.library().outputs(0))).type());
        if (bytes.ok())
          sizes.push_back(double(*bytes));
      }
  if (sizes.empty())
    return 0;
  std::nth_element(sizes.begin(), sizes.begin() + ptrdiff_t(sizes.size() / 2),
                   sizes.end());
  return sizes[sizes.size() / 2];
}

namespace {

/// Seconds of one rank's step, whatever its instructions compute: their
/// launches, those of the update apart, and the calls of programs.
struct HostSeconds {
  double launches = 0, updates = 0, calls = 0;
  double sum() const { return launches + updates + calls; }
};

} // namespace

static HostSeconds hostSecondsOf(const plan::Manifest &manifest,
                                 const SimulatedDevice &device) {
  HostSeconds seconds;
  const plan::Role &role = manifest.roles(0);
  const RunCounts runs = countRuns(manifest, 0, /*isLate=*/false);
  for (int i = 0; i < role.programs_size(); ++i) {
    const double times = double(runs.programs[size_t(i)]);
    seconds.calls += times * device.callSeconds;
    for (StepPhase phase : phasesOf(role.programs(i)))
      (phase == StepPhase::Optimizer ? seconds.updates : seconds.launches) +=
          times * device.launchSeconds;
  }
  return seconds;
}

LayoutBasis LayoutBasis::of(const plan::Manifest &manifest,
                            const PlanReport &report, const Cluster &cluster) {
  LayoutBasis basis;
  const MemoryReport &memory = report.roles.front().memory;
  const HostSeconds host = hostSecondsOf(manifest, cluster.device);
  basis.seconds = std::max(0., report.stepSeconds - host.sum());
  basis.launchSeconds =
      host.launches / double(std::max<int64_t>(1, manifest.accumulate()));
  basis.updateLaunchSeconds = host.updates;
  basis.callSeconds = cluster.device.callSeconds;
  basis.parameterBytes = 4 * report.parameters;
  basis.optimizerBytes = double(memory.classes[plan::OPTIMIZER_STATE]);
  basis.persistentBytes = double(memory.classes[plan::PARAMETERS]) +
                          double(memory.classes[plan::GRADIENTS]) +
                          basis.optimizerBytes;
  basis.activationBytes = double(memory.classes[plan::ACTIVATIONS]);
  basis.boundaryBytes = findBoundary(manifest);
  basis.layers = countLayers(manifest);
  return basis;
}

/// A collective over neighbouring ranks that are `stride` apart.
static double secondsOf(const Cluster &cluster, plan::CollectiveKind kind,
                        int64_t ranks, int64_t stride, double bytes) {
  if (ranks < 2)
    return 0;
  GroupPlace place;
  for (const LinkLevel &level : cluster.levels)
    place.members.push_back(std::clamp<int64_t>(level.size / stride, 1, ranks));
  place.members.back() = ranks;
  return costOnCluster(cluster, kind, plan::AUTO, place, bytes)
      .seconds(cluster);
}

/// Programs that a rank calls for each micro-batch. A stage has its forward and
/// its backward in two.
static double callsOf(const StepLayout &layout) {
  if (layout.pp == 1)
    return 1;
  const double parts = layout.schedule == "zero-bubble=h1" ? 3 : 2;
  return parts * double(std::max<int64_t>(1, layout.chunks));
}

/// Seconds of an update, beside what it computes. One micro-batch without
/// stages has it in the same program.
static double secondsOfUpdate(const StepLayout &layout,
                              const LayoutBasis &basis) {
  const bool isApart = layout.accumulate > 1 || layout.pp > 1;
  return basis.updateLaunchSeconds / double(layout.pp) +
         (isApart ? basis.callSeconds : 0);
}

LayoutEstimate estimateLayout(const StepLayout &layout,
                              const LayoutBasis &basis,
                              const Cluster &cluster) {
  const bool again = layout.recompute != "none";
  const double m = double(layout.accumulate), pp = double(layout.pp);
  const double samples = double(layout.dp * layout.ep * layout.sp);
  const double layers = double(basis.layers) / pp;
  // A rank launches the kernels of its layers for every micro-batch, however
  // small its parts of them are, and calls as many programs as any other.
  const double compute =
      (basis.seconds / double(layout.ranks()) + basis.launchSeconds * m / pp) *
          (again ? 4. / 3 : 1) +
      callsOf(layout) * basis.callSeconds * m;
  // Two sums each way a layer (Shoeybi et al. 2019).
  const double sums = (again ? 6 : 4) * layers * m *
                      secondsOf(cluster, plan::ALL_REDUCE, layout.tp, 1,
                                basis.boundaryBytes / samples / m);
  const double gradients =
      basis.parameterBytes / double(layout.tp * layout.pp * layout.ep);
  // The same whether reduced at once or scattered and gathered; stage 3 gathers
  // for every micro-batch, twice.
  double states = secondsOf(cluster, plan::ALL_REDUCE, layout.dp * layout.sp,
                            layout.tp, gradients);
  if (layout.zero == 3)
    states *= 1.5 * m;
  else if (layout.zero == 2)
    states *= (m + 1) / 2;
  const double hidden = .6 * compute; // behind the backward, or a gather ahead
  const double stage = compute + sums;
  const double chunks = double(std::max<int64_t>(1, layout.chunks));
  const double split = layout.schedule == "zero-bubble=h1" ? .6 : 1;
  const double bubble = stage * split * (pp - 1) / (chunks * m);
  LayoutEstimate estimate;
  estimate.seconds = stage + bubble + std::max(0., states - hidden) +
                     secondsOfUpdate(layout, basis);
  const double shares = double(layout.tp * layout.pp * layout.ep);
  const double over = double(layout.dp * layout.sp);
  double kept = basis.persistentBytes;
  const double moments = basis.optimizerBytes / (layout.zero >= 1 ? over : 1);
  kept -= basis.optimizerBytes - moments;
  if (layout.offload == "optimizer") {
    kept -= moments;
    // They come and go around the update, which hides little of that: both ways
    // at once where the second memory is a host's.
    const double ways = cluster.device.copiesOneWayAtATime() ? 2 : 1;
    if (cluster.device.hostBytesPerSecond > 0)
      estimate.seconds +=
          ways * moments / shares / cluster.device.hostBytesPerSecond;
  }
  if (layout.zero >= 2)
    kept -= basis.parameterBytes * (1 - 1 / over);
  if (layout.zero >= 3)
    kept -= basis.parameterBytes * (1 - 1 / over);
  const double inFlight = std::min(m, pp) * (layout.chunks > 0 ? 1.5 : 1);
  const double activations = basis.activationBytes /
                             (samples * double(layout.tp) * m * pp) *
                             (layout.pp > 1 ? inFlight : 1);
  estimate.bytes = kept / shares + activations * (again ? .2 : 1);
  return estimate;
}

} // namespace zc
