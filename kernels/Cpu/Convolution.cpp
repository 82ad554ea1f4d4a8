// Convolutions by oneDNN. Activations keep the layout they have; the filter may
// be copied into the layout an implementation wants, inside the workspace, so
// that no layout that depends on the instruction set leaves this file.
#include "kernels/Cpu/ConvolutionWays.h"
#include "kernels/Cpu/OneDnn.h"
#include "kernels/Cpu/Primitive.h"
#include "kernels/Cpu/TileConvolution.h"
#include "kernels/Cpu/Winograd.h"
#include "kernels/Cpu/WorkHint.h"

#include <algorithm>

namespace zc::kernels {
namespace {

using namespace onednn;
using Desc = dnnl::memory::desc;
using Forward = dnnl::convolution_forward;
using BackwardInput = dnnl::convolution_backward_data;
using BackwardFilter = dnnl::convolution_backward_weights;

/// The arguments that the three kinds of convolution share.
struct Geometry {
  Desc source, filter, destination;
  dnnl::memory::dims strides, dilations, padsLow, padsHigh;
  KeptOperations operations;
};

dnnl::primitive_attr userScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

/// The filter with its groups as a dim of their own, as the library wants it.
StridedTensor splitGroups(const ConvolutionSpec &spec) {
  StridedTensor filter = spec.filter;
  if (spec.groups == 1)
    return filter;
  int64_t perGroup = filter.dims[0] / spec.groups;
  filter.dims[0] = perGroup;
  filter.dims.insert(filter.dims.begin(), spec.groups);
  filter.strides.insert(filter.strides.begin(), filter.strides[0] * perGroup);
  return filter;
}

Geometry makeGeometry(const ConvolutionSpec &spec, bool anyFilter) {
  Geometry geometry;
  StridedTensor filter = splitGroups(spec);
  geometry.source = describe(spec.source);
  geometry.destination = describe(spec.destination);
  geometry.filter = anyFilter ? Desc(filter.dims, dataType(filter.type),
                                     dnnl::memory::format_tag::any)
                              : describe(filter);
  geometry.strides = spec.strides;
  for (int64_t dilation : spec.dilations)
    geometry.dilations.push_back(dilation - 1); // the library counts gaps
  geometry.padsLow = spec.padsLow;
  geometry.padsHigh = spec.padsHigh;
  return geometry;
}

Forward::primitive_desc makeForward(Geometry &g) {
  const auto kind = dnnl::prop_kind::forward_training;
  const auto algorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  return Forward::primitive_desc(
      cpuEngine(), kind, algorithm, g.source, g.filter, g.destination,
      g.strides, g.dilations, g.padsLow, g.padsHigh, userScratchpad());
#else
  return Forward::primitive_desc(
      g.operations.keep(Forward::desc(kind, algorithm, g.source, g.filter,
                                      g.destination, g.strides, g.dilations,
                                      g.padsLow, g.padsHigh)),
      userScratchpad(), cpuEngine());
#endif
}

template <typename Kind>
typename Kind::primitive_desc
makeBackward(Geometry &g, const Desc &first, const Desc &second,
             const Desc &third, const Forward::primitive_desc &hint) {
  const auto algorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  return typename Kind::primitive_desc(cpuEngine(), algorithm, first, second,
                                       third, g.strides, g.dilations, g.padsLow,
                                       g.padsHigh, hint, userScratchpad());
#else
  return typename Kind::primitive_desc(
      g.operations.keep(typename Kind::desc(algorithm, first, second, third,
                                            g.strides, g.dilations, g.padsLow,
                                            g.padsHigh)),
      userScratchpad(), cpuEngine(), hint);
#endif
}

/// One chosen implementation: the library's kernel, the filter's layout in it
/// and where its scratch memory lies in the workspace.
struct Choice {
  dnnl::primitive kernel;
  std::string name;
  Desc source, filter, destination, scratchpad;
  int sourceArgument, filterArgument, destinationArgument;
  bool filterIsOutput;
};

Choice choose(const Forward::primitive_desc &d) {
  return {Forward(d),   d.impl_info_str(),
          d.src_desc(), d.weights_desc(),
          d.dst_desc(), d.scratchpad_desc(),
          DNNL_ARG_SRC, DNNL_ARG_WEIGHTS,
          DNNL_ARG_DST, false};
}

Choice choose(const BackwardInput::primitive_desc &d) {
  return {BackwardInput(d),  d.impl_info_str(),
          d.diff_src_desc(), d.weights_desc(),
          d.diff_dst_desc(), d.scratchpad_desc(),
          DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS,
          DNNL_ARG_DIFF_DST, false};
}

Choice choose(const BackwardFilter::primitive_desc &d) {
  return {BackwardFilter(d), d.impl_info_str(),
          d.src_desc(),      d.diff_weights_desc(),
          d.diff_dst_desc(), d.scratchpad_desc(),
          DNNL_ARG_SRC,      DNNL_ARG_DIFF_WEIGHTS,
          DNNL_ARG_DIFF_DST, true};
}

/// The library's kernel and, where it wants the filter in another layout, the
/// copy into that layout (or out of it, for the filter's gradient).
class Convolution final : public Primitive {
public:
  Convolution(const Choice &choice, const Desc &plainFilter)
      : kernel(choice.kernel), stream(cpuEngine()), chosen(choice.name),
        filterIsOutput(choice.filterIsOutput),
        reorders(choice.filter != plainFilter), source(unbound(choice.source)),
        filter(unbound(choice.filter)),
        destination(unbound(choice.destination)),
        scratchpad(unbound(choice.scratchpad)), plain(unbound(plainFilter)) {
    filterAt = alignUp(choice.scratchpad.get_size());
    totalBytes = filterAt;
    if (reorders)
      prepareReorder(choice.filter, plainFilter);
    arguments = {{choice.sourceArgument, source},
                 {choice.filterArgument, filter},
                 {choice.destinationArgument, destination},
                 {DNNL_ARG_SCRATCHPAD, scratchpad}};
  }

  bool execute(void *const *pointers, void *workspace,
               std::string *error) noexcept override try {
    char *base = static_cast<char *>(workspace);
    bind(source, pointers[0]);
    bind(destination, pointers[2]);
    bind(scratchpad, base);
    bind(filter, reorders ? base + filterAt : pointers[1]);
    if (reorders) {
      bind(plain, pointers[1]);
      bind(reorderScratchpad, base + reorderAt);
    }
    if (reorders && !filterIsOutput)
      reorder.execute(stream, reorderArguments);
    kernel.execute(stream, arguments);
    if (reorders && filterIsOutput)
      reorder.execute(stream, reorderArguments);
    stream.wait();
    return true;
  } catch (const std::exception &failure) {
    *error = std::string("oneDNN: convolution: ") + failure.what();
    return false;
  }

  std::string implementation() const override { return chosen; }
  uint64_t workspaceBytes() const override { return totalBytes; }

private:
  void prepareReorder(const Desc &wanted, const Desc &plainFilter) {
    const Desc &from = filterIsOutput ? wanted : plainFilter;
    const Desc &to = filterIsOutput ? plainFilter : wanted;
    dnnl::reorder::primitive_desc descriptor(cpuEngine(), from, cpuEngine(), to,
                                             userScratchpad());
    reorder = dnnl::reorder(descriptor);
    reorderScratchpad = unbound(descriptor.scratchpad_desc());
    reorderArguments = {{DNNL_ARG_FROM, filterIsOutput ? filter : plain},
                        {DNNL_ARG_TO, filterIsOutput ? plain : filter},
                        {DNNL_ARG_SCRATCHPAD, reorderScratchpad}};
    reorderAt = filterAt + alignUp(wanted.get_size());
    totalBytes = reorderAt + alignUp(descriptor.scratchpad_desc().get_size());
  }

  dnnl::primitive kernel;
  dnnl::reorder reorder;
  dnnl::stream stream;
  std::string chosen;
  bool filterIsOutput, reorders;
  dnnl::memory source, filter, destination, scratchpad, plain,
      reorderScratchpad;
  Arguments arguments, reorderArguments;
  uint64_t filterAt = 0, reorderAt = 0, totalBytes = 0;
};

/// The first implementation of a list that keeps within the workspace.
template <typename Descriptor>
std::unique_ptr<Primitive>
firstThatFits(Descriptor descriptor, const Desc &plainFilter,
              uint64_t workspaceBytes, uint64_t &least) {
  do {
    // Creating a kernel compiles it, so those that cannot fit are skipped
    // first.
    uint64_t bytes = descriptor.scratchpad_desc().get_size();
    if (bytes <= workspaceBytes) {
      auto kernel =
          std::make_unique<Convolution>(choose(descriptor), plainFilter);
      bytes = kernel->workspaceBytes();
      if (bytes <= workspaceBytes)
        return kernel;
    }
    least = std::min(least, bytes);
  } while (descriptor.next_impl());
  return nullptr;
}

std::unique_ptr<Primitive> search(const ConvolutionSpec &spec, bool anyFilter,
                                  uint64_t workspaceBytes, uint64_t &least) {
  Geometry g = makeGeometry(spec, anyFilter);
  Desc plainFilter = describe(splitGroups(spec));
  Forward::primitive_desc forward = makeForward(g);
  switch (spec.kind) {
  case ConvolutionKind::Forward:
    return firstThatFits(forward, plainFilter, workspaceBytes, least);
  case ConvolutionKind::BackwardInput:
    return firstThatFits(makeBackward<BackwardInput>(g, g.source, g.filter,
                                                     g.destination, forward),
                         plainFilter, workspaceBytes, least);
  case ConvolutionKind::BackwardFilter:
    return firstThatFits(makeBackward<BackwardFilter>(g, g.source, g.filter,
                                                      g.destination, forward),
                         plainFilter, workspaceBytes, least);
  }
  return nullptr;
}

/// By one of zc's own ways, or as a product, where that is the way or the rule
/// says so; else null.
std::unique_ptr<Primitive> createOtherThanLibrary(const ConvolutionSpec &spec,
                                                  uint64_t workspaceBytes,
                                                  Way way) {
  const bool byRule = way == Way::Rule;
  std::unique_ptr<Primitive> kernel;
  if (byRule && pointwiseByProduct(spec.kind))
    kernel = createPointwiseConvolution(spec, workspaceBytes, way);
  else if (way == Way::TileProduct || way == Way::LibraryProduct)
    kernel = createPointwiseConvolution(spec, workspaceBytes,
                                        way == Way::TileProduct ? Way::Tiles
                                                                : Way::Library);
  if (!kernel && spec.winograd &&
      (byRule ? winogradIsQuicker(spec) : way == Way::Winograd))
    kernel = createWinograd(spec, workspaceBytes);
  if (!kernel && (byRule || way == Way::Tiles))
    kernel = createFilterGradient(spec, workspaceBytes, byRule);
  if (!kernel && (byRule ? !computesByVectors() : way == Way::Tiles))
    kernel = createTileConvolution(spec, workspaceBytes);
  return kernel;
}

std::string describeFailure(const ConvolutionSpec &spec,
                            const std::string &reason) {
  return "oneDNN: convolution of source " + print(spec.source) + ", filter " +
         print(spec.filter) + ", destination " + print(spec.destination) +
         ", groups " + std::to_string(spec.groups) + ": " + reason;
}

} // namespace

bool onednn::computesByVectors() {
#if defined(__x86_64__)
  return true;
#else
  static const bool answer = [] {
    StridedTensor image{ElementType::F32, {1, 64, 8, 8}, {4096, 1, 512, 64}};
    StridedTensor filter{ElementType::F32, {64, 64, 3, 3}, {576, 9, 3, 1}};
    Geometry geometry = makeGeometry({ConvolutionKind::Forward,
                                      image,
                                      filter,
                                      image,
                                      {1, 1},
                                      {1, 1},
                                      {1, 1},
                                      {1, 1}},
                                     /*anyFilter=*/true);
    std::string name = makeForward(geometry).impl_info_str();
    return name.find("acl") != std::string::npos ||
           name.find("sve") != std::string::npos;
  }();
  return answer;
#endif
}

std::unique_ptr<Primitive> createPrimitive(const ConvolutionSpec &spec,
                                           uint64_t workspaceBytes,
                                           std::string *error, Way way) noexcept
    try {
  if (auto kernel = createOtherThanLibrary(spec, workspaceBytes, way))
    return kernel;
  if (way != Way::Rule && way != Way::Library) {
    *error = describeFailure(
        spec, std::string("there is no way '") + nameOf(way) + "' within " +
                  std::to_string(workspaceBytes) + " bytes of scratch memory");
    return nullptr;
  }
  uint64_t least = UINT64_MAX;
  for (bool anyFilter : {true, false})
    if (auto kernel = search(spec, anyFilter, workspaceBytes, least))
      return kernel;
  *error = describeFailure(
      spec, "every implementation needs more scratch memory than the " +
                std::to_string(workspaceBytes) +
                " bytes planned for it; the least is " + std::to_string(least));
  return nullptr;
} catch (const std::exception &failure) {
  *error = describeFailure(spec, failure.what());
  return nullptr;
}

/// The product of all dims.
static double countElements(const std::vector<int64_t> &dims) {
  double product = 1;
  for (int64_t dim : dims)
    product *= double(dim);
  return product;
}

static bool isNamed(const Primitive &chosen, const char *part) {
  return chosen.implementation().find(part) != std::string::npos;
}

/// In oneDNN threads that compute parts of a filter's gradient meet to add them
/// up, and wait awake where we cannot see it; so may those of older kernels.
WorkHint hintOf(const ConvolutionSpec &spec, const Primitive &chosen) {
  double perFilter =
      countElements(spec.filter.dims) / double(spec.filter.dims[0]);
  double flops = 2 * countElements(spec.destination.dims) * perFilter;
  return {secondsOfProducts(flops),
          (spec.kind == ConvolutionKind::BackwardFilter &&
           !isNamed(chosen, "tiles") && !isNamed(chosen, "winograd") &&
           !isNamed(chosen, "brg:")) ||
              isNamed(chosen, "gemm"),
          false};
}

std::vector<void *> operandsOf(const ConvolutionLaunch &launch) {
  return {launch.source, launch.filter, launch.destination};
}

} // namespace zc::kernels
