#include "runtime/Device/Cpu/CallWays.h"
#include "runtime/Device/Cpu/Executables.h"
#include "runtime/Device/Cpu/Pages.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace zc::cpu {
namespace {

using kernels::Way;
using Clock = std::chrono::steady_clock;

/// The rule's way stays unless another takes less than this share of its time:
/// what comes out should not depend on noise.
constexpr double kWorthIt = 0.97;
/// A way that takes so many times as long in its first rounds is out.
constexpr double kHopeless = 1.5;
constexpr int kLeastRounds = 2, kMostRounds = 15;

/// Bytes from the first element of a tensor to behind its last.
uint64_t extentOf(const kernels::StridedTensor &tensor) {
  int64_t last = 0;
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    last += (tensor.dims[i] - 1) * tensor.strides[i];
  return uint64_t((last + 1) * kernels::elementBytes(tensor.type));
}

/// Numbers of magnitude one to two in float32 and bfloat16, of either sign.
void fill(char *bytes, uint64_t count) {
  constexpr uint64_t kPattern = 1 << 16;
  uint32_t state = 1;
  auto *words = reinterpret_cast<uint16_t *>(bytes);
  for (uint64_t i = 0; i < std::min(kPattern, count) / 2; ++i) {
    state = state * 1664525 + 1013904223;
    words[i] = uint16_t(0x3F80 | (state >> 25) | (state & 0x80000000) >> 16);
  }
  for (uint64_t done = kPattern; done < count; done *= 2)
    std::memcpy(bytes + done, bytes, std::min(done, count - done));
}

/// Memory for the operands of one call and its scratch, filled with numbers.
class Operands {
public:
  static Result<Operands> of(const std::vector<uint64_t> &extents) {
    constexpr uint64_t kLine = 64;
    Operands made;
    std::vector<uint64_t> begins;
    for (uint64_t extent : extents) {
      begins.push_back(made.bytes);
      made.bytes += (extent + kLine - 1) / kLine * kLine;
    }
    made.bytes = std::max<uint64_t>(made.bytes, kLine);
    ZC_ASSIGN_OR_RETURN(void *memory, allocatePages(made.bytes));
    made.memory = static_cast<char *>(memory);
    fill(made.memory, made.bytes);
    for (uint64_t begin : begins)
      made.places.push_back(made.memory + begin);
    return made;
  }
  Operands(Operands &&other) noexcept { *this = std::move(other); }
  Operands &operator=(Operands &&other) noexcept {
    std::swap(memory, other.memory);
    std::swap(bytes, other.bytes);
    std::swap(places, other.places);
    return *this;
  }
  ~Operands() {
    if (memory)
      releasePages(memory, bytes);
  }

  void *operator[](size_t index) const { return places[index]; }

private:
  Operands() = default;

  char *memory = nullptr;
  uint64_t bytes = 0;
  std::vector<void *> places;
};

struct Candidate {
  Way way;
  std::unique_ptr<Executable> executable;
  double seconds = -1; // the least; below 0: not measured yet
  bool isOut = false;

  Status run() {
    const auto begin = Clock::now();
    ZC_RETURN_IF_ERROR(static_cast<CpuExecutable &>(*executable).run());
    const double took =
        std::chrono::duration<double>(Clock::now() - begin).count();
    seconds = seconds < 0 ? took : std::min(seconds, took);
    return Status();
  }
};

/// Leaves out who takes much longer than the quickest; the rule's way stays.
void leaveOutHopeless(std::vector<Candidate> &candidates) {
  double least = candidates.front().seconds;
  for (const Candidate &each : candidates)
    least = std::min(least, each.seconds);
  for (size_t i = 1; i < candidates.size(); ++i)
    candidates[i].isOut = candidates[i].seconds > kHopeless * least;
}

/// Runs the candidates in turn until time is up. The first round also brings
/// code and numbers into caches; after the second it shows who is hopeless.
Status race(std::vector<Candidate> &candidates, double seconds) {
  const auto begin = Clock::now();
  auto spent = [&] {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  for (int round = 0; round < kMostRounds; ++round) {
    if (round == kLeastRounds)
      leaveOutHopeless(candidates);
    if (round >= kLeastRounds && spent() > seconds)
      break;
    for (Candidate &each : candidates)
      if (!each.isOut)
        ZC_RETURN_IF_ERROR(each.run());
  }
  return Status();
}

/// The quickest; the first is the rule's.
Way decide(const std::vector<Candidate> &candidates) {
  const Candidate *best = &candidates.front();
  for (const Candidate &each : candidates)
    if (each.seconds < best->seconds &&
        each.seconds < kWorthIt * candidates.front().seconds)
      best = &each;
  return best->way;
}

/// `make` makes the call's executable in a way; it fails where that is not
/// open.
template <typename Make>
Result<MeasuredWays> measure(const std::vector<Way> &ways, double seconds,
                             const Make &make) {
  std::vector<Candidate> candidates;
  for (Way way : ways)
    if (ExecutableResult made = make(way); made.ok())
      candidates.push_back({way, std::move(*made)});
  MeasuredWays measured;
  measured.quickest = nameOf(Way::Rule);
  if (candidates.empty())
    return measured;
  measured.quickest = nameOf(candidates.front().way);
  if (candidates.size() == 1) { // nothing to compare with
    measured.seconds.emplace_back(measured.quickest, 0.0);
    return measured;
  }
  ZC_RETURN_IF_ERROR(race(candidates, seconds));
  measured.quickest = nameOf(decide(candidates));
  for (const Candidate &each : candidates)
    measured.seconds.emplace_back(nameOf(each.way), each.seconds);
  return measured;
}

Result<MeasuredWays> measureCall(kernels::MatmulLaunch call, double seconds,
                                 kernels::MatmulPrecision precision) {
  ZC_ASSIGN_OR_RETURN(
      Operands operands,
      Operands::of({extentOf(call.spec.a), extentOf(call.spec.b),
                    extentOf(call.spec.c), call.workspaceBytes}));
  call.a = operands[0];
  call.b = operands[1];
  call.c = operands[2];
  call.workspace = operands[3];
  return measure(kernels::waysOf(call.spec), seconds, [&](Way way) {
    return makeCall(call, precision, {way, true});
  });
}

Result<MeasuredWays> measureCall(kernels::ConvolutionLaunch call,
                                 double seconds,
                                 kernels::MatmulPrecision precision) {
  ZC_ASSIGN_OR_RETURN(
      Operands operands,
      Operands::of({extentOf(call.spec.source), extentOf(call.spec.filter),
                    extentOf(call.spec.destination), call.workspaceBytes}));
  call.source = operands[0];
  call.filter = operands[1];
  call.destination = operands[2];
  call.workspace = operands[3];
  return measure(kernels::waysOf(call.spec), seconds, [&](Way way) {
    return makeCall(call, precision, {way, true});
  });
}

template <typename Call>
Result<MeasuredWays> measureCall(const Call &, double,
                                 kernels::MatmulPrecision) {
  return Status(StatusCode::Internal, "there is one way of such a call");
}

std::string keyOfCall(kernels::MatmulLaunch call,
                      kernels::MatmulPrecision precision) {
  call.spec.precision = precision;
  const bool isPlain = call.spec.epilogue.isEmpty();
  return isPlain && kernels::waysOf(call.spec).size() > 1
             ? keyOf(call.spec, call.workspaceBytes)
             : "";
}

std::string keyOfCall(const kernels::ConvolutionLaunch &call,
                      kernels::MatmulPrecision) {
  return kernels::waysOf(call.spec).size() > 1
             ? keyOf(call.spec, call.workspaceBytes)
             : "";
}

template <typename Call>
std::string keyOfCall(const Call &, kernels::MatmulPrecision) {
  return "";
}

} // namespace

std::string keyOfWays(const Launch &launch, int threads,
                      kernels::MatmulPrecision precision) {
  const std::string key = std::visit(
      [&](const auto &call) { return keyOfCall(call, precision); }, launch);
  return key.empty() ? key
                     : strCat(kernels::describeMachine(), ", ", threads,
                              threads == 1 ? " thread: " : " threads: ", key);
}

Way chosenWay(const ChosenWays &ways, const std::string &key) {
  auto found = ways.find(key);
  return found == ways.end()
             ? Way::Rule
             : kernels::findWay(found->second).value_or(Way::Rule);
}

Result<MeasuredWays> measureWays(const Launch &launch, double seconds,
                                 kernels::MatmulPrecision precision) {
  return std::visit(
      [&](const auto &call) { return measureCall(call, seconds, precision); },
      launch);
}

} // namespace zc::cpu
