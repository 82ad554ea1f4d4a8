#include "kernels/Cpu/Ways.h"
#include "kernels/Calls/Division/PointwiseProduct.h"
#include "kernels/Cpu/ConvolutionWays.h"
#include "kernels/Cpu/FilterGradient.h"
#include "kernels/Cpu/InstructionSet.h"
#include "kernels/Cpu/OneDnn.h"
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/TileConvolution.h"
#include "kernels/Cpu/TiledMatmul.h"
#include "kernels/Cpu/Winograd.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace zc::kernels {
namespace {

constexpr Way kWays[] = {Way::Rule,           Way::Library,     Way::Tiles,
                         Way::LibraryProduct, Way::TileProduct, Way::Winograd};

const char *nameOf(ConvolutionKind kind) {
  switch (kind) {
  case ConvolutionKind::Forward:
    return "convolution";
  case ConvolutionKind::BackwardInput:
    return "input gradient";
  case ConvolutionKind::BackwardFilter:
    break;
  }
  return "filter gradient";
}

std::string join(const std::vector<int64_t> &values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

std::string printScratch(uint64_t bytes) {
  return ", scratch " + std::to_string(bytes);
}

#if defined(__x86_64__)
/// "family 25 model 1": virtual machines call processors of several
/// generations alike, one of which may be twice as fast as another.
std::string generation() {
  constexpr uint32_t kExtended = 15;
  uint32_t eax = 0, other = 0;
  __get_cpuid(1, &eax, &other, &other, &other);
  uint32_t family = eax >> 8 & 15, model = eax >> 4 & 15;
  if (family == 6 || family == kExtended)
    model += (eax >> 16 & 15) << 4;
  if (family == kExtended)
    family += eax >> 20 & 255;
  return "family " + std::to_string(family) + " model " + std::to_string(model);
}
#endif

std::string processorName() {
#if defined(__x86_64__)
  // The brand string, 48 characters in three leaves of cpuid.
  uint32_t words[12] = {};
  for (uint32_t i = 0; i < 3; ++i)
    __get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1],
                &words[4 * i + 2], &words[4 * i + 3]);
  char text[sizeof(words) + 1] = {};
  std::memcpy(text, words, sizeof(words));
  std::string name = text;
  name.erase(0, name.find_first_not_of(' '));
  return name.substr(0, name.find_last_not_of(' ') + 1) + " " + generation();
#else
  std::ifstream file("/proc/cpuinfo");
  std::string name;
  for (std::string line; std::getline(file, line) && !line.empty();)
    for (const char *field : {"CPU implementer", "CPU part", "CPU variant"})
      if (line.rfind(field, 0) == 0)
        name += (name.empty() ? "" : " ") + line.substr(line.find(": ") + 2);
  return name.empty() ? "unknown processor" : name;
#endif
}

} // namespace

const char *nameOf(Way way) {
  switch (way) {
  case Way::Library:
    return "library";
  case Way::Tiles:
    return "tiles";
  case Way::LibraryProduct:
    return "library-product";
  case Way::TileProduct:
    return "tile-product";
  case Way::Winograd:
    return "winograd";
  case Way::Rule:
    break;
  }
  return "rule";
}

std::optional<Way> findWay(std::string_view name) {
  for (Way way : kWays)
    if (name == nameOf(way))
      return way;
  return std::nullopt;
}

std::vector<Way> waysOf(const MatmulSpec &spec) {
  const bool hasTiles = canTileMatmul(spec) && matmulTilesOf(spec);
  if (!hasTiles)
    return {Way::Library};
  // Nobody who asks for less precision gets more of it, more slowly.
  if (spec.precision != MatmulPrecision::Highest)
    return {Way::Tiles};
  if (tilesMatmul(spec, processorKind(), teamSize()) ||
      !onednn::computesByVectors())
    return {Way::Tiles, Way::Library};
  return {Way::Library, Way::Tiles};
}

std::vector<Way> waysOf(const ConvolutionSpec &spec) {
  std::vector<Way> ways, products;
  if (std::optional<MatmulSpec> product = pointwiseProduct(spec))
    for (Way way : waysOf(*product))
      products.push_back(way == Way::Tiles ? Way::TileProduct
                                           : Way::LibraryProduct);
  if (pointwiseByProduct(spec.kind))
    ways = products;
  const bool hasTiles = mayTileConvolution(spec) ||
                        (widestInstructionSet() != InstructionSet::Baseline &&
                         isTiledFilterGradient(spec));
  const bool byRule =
      !onednn::computesByVectors() || filterGradientByTiles(spec);
  // Scratch memory is planned only where the rule takes it.
  if (spec.winograd && winogradIsQuicker(spec) &&
      widestInstructionSet() != InstructionSet::Baseline)
    ways.push_back(Way::Winograd);
  if (hasTiles && byRule)
    ways.push_back(Way::Tiles);
  ways.push_back(Way::Library);
  if (hasTiles && !byRule)
    ways.push_back(Way::Tiles);
  if (!pointwiseByProduct(spec.kind))
    ways.insert(ways.end(), products.begin(), products.end());
  return ways;
}

std::string keyOf(const MatmulSpec &spec, uint64_t workspaceBytes) {
  std::string key = "matmul of " + onednn::print(spec.a) + " and " +
                    onednn::print(spec.b) + " to " + onednn::print(spec.c);
  if (spec.accumulate)
    key += ", added";
  if (spec.precision == MatmulPrecision::Bf16x3)
    key += ", bf16x3";
  if (spec.precision == MatmulPrecision::Bf16x6)
    key += ", bf16x6";
  return key + printScratch(workspaceBytes);
}

std::string keyOf(const ConvolutionSpec &spec, uint64_t workspaceBytes) {
  return std::string(nameOf(spec.kind)) + " of " + onednn::print(spec.source) +
         ", filter " + onednn::print(spec.filter) + ", " +
         onednn::print(spec.destination) + ", steps " + join(spec.strides) +
         ", dilations " + join(spec.dilations) + ", pads " +
         join(spec.padsLow) + " and " + join(spec.padsHigh) + ", groups " +
         std::to_string(spec.groups) + (spec.winograd ? ", winograd" : "") +
         printScratch(workspaceBytes);
}

std::string describeMachine() {
  static const std::string text = [] {
    const dnnl_version_t *version = dnnl_version();
    std::string made = processorName() + ", " + nameOf(widestInstructionSet());
    if (hasAmx())
      made += " with amx";
    return made + ", oneDNN " + std::to_string(version->major) + "." +
           std::to_string(version->minor) + "." +
           std::to_string(version->patch) + " isa " +
           std::to_string(int(dnnl_get_effective_cpu_isa()));
  }();
  return text;
}

} // namespace zc::kernels
