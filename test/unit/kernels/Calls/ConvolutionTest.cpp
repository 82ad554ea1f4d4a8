#include "kernels/Calls/Convolution.h"
#include "test/unit/kernels/Calls/CallBuilder.h"

namespace zc::kernels::test {
namespace {

using Dims = std::vector<int64_t>;

/// Channels last: images of 8 x 9 with 6 channels in 2 groups to 4.
LibraryCall makeConvolution(const std::string &op) {
  const CallTensor source{ElementType::F32, {2, 8, 9, 6}},
      filter{ElementType::F32, {4, 3, 3, 3}},
      destination{ElementType::F32, {2, 8, 9, 4}};
  LibraryCall call;
  call.op = op;
  call.inputs = {op == "conv_input_grad" ? destination : source,
                 op == "conv_filter_grad" ? destination : filter};
  call.outputs = {op == "conv"              ? destination
                  : op == "conv_input_grad" ? source
                                            : filter};
  for (const char *name : {"strides", "dilations", "pads_low", "pads_high"})
    setIntegers(call, name, {1, 1});
  setIntegers(call, "groups", {2});
  setText(call, "channels_last");
  return call;
}

void expect(const char *message, void (*change)(LibraryCall &)) {
  LibraryCall call = makeConvolution("conv");
  change(call);
  expectUnsound<ConvolutionCall>(call, message);
}

TEST(ConvolutionCall, IsChecked) {
  EXPECT_EQ(ConvolutionCall::check(makeConvolution("conv")), "");
  expectCounts<ConvolutionCall>(makeConvolution("conv"));
  expect("unsuitable types",
         [](LibraryCall &c) { c.inputs[1].type = ElementType::F16; });
  expect("it convolves", [](LibraryCall &c) { c.inputs[1].dims = {3, 3}; });
  for (int64_t groups : {0, 4}) {
    LibraryCall call = makeConvolution("conv");
    setIntegers(call, "groups", {groups});
    expectUnsound<ConvolutionCall>(call, "it convolves");
  }
  expect("it convolves", [](LibraryCall &c) {
    setIntegers(c, "strides", {0, 1});
  });
  expect("it convolves", [](LibraryCall &c) {
    setIntegers(c, "dilations", {INT64_MAX, 1});
  });
  expect("it convolves", [](LibraryCall &c) {
    setIntegers(c, "pads_low", {1, -1});
  });
  expect("it convolves", [](LibraryCall &c) {
    setIntegers(c, "strides", {1, 1, 1});
  });
  expect("it convolves", [](LibraryCall &c) { c.attributes.clear(); });
}

/// Filters, channels, window, and pixels in front and behind, of whichever
/// direction.
TEST(ConvolutionCall, TellsItsForm) {
  for (const char *op : {"conv", "conv_input_grad", "conv_filter_grad"}) {
    LibraryCall call = makeConvolution(op);
    for (CallTensor *each :
         {&call.inputs[0], &call.inputs[1], &call.outputs[0]})
      if (each->dims == Dims{2, 8, 9, 4})
        each->dims = {2, 4, 9, 4}; // every other row
    setIntegers(call, "strides", {2, 1});
    ASSERT_EQ(ConvolutionCall::check(call), "") << op;
    EXPECT_EQ(ConvolutionCall::workOf(call).form,
              (std::vector<int64_t>{4, 3, 9, 72, 36}))
        << op;
  }
}

// Logical order in the dims, memory order in the strides.
TEST(ConvolutionCall, AllKindsSeeTheSameThreeTensors) {
  for (auto [op, kind] :
       {std::pair("conv", ConvolutionKind::Forward),
        {"conv_input_grad", ConvolutionKind::BackwardInput},
        {"conv_filter_grad", ConvolutionKind::BackwardFilter}}) {
    const LibraryCall call = makeConvolution(op);
    ASSERT_EQ(ConvolutionCall::check(call), "") << op;
    const ConvolutionSpec spec = ConvolutionCall::specOf(call);
    EXPECT_EQ(spec.kind, kind);
    EXPECT_EQ(spec.groups, 2);
    EXPECT_EQ(spec.source.dims, (Dims{2, 6, 8, 9}));
    EXPECT_EQ(spec.source.strides, (Dims{432, 1, 54, 6}));
    EXPECT_EQ(spec.filter.dims, (Dims{4, 3, 3, 3}));
    EXPECT_EQ(spec.destination.dims, (Dims{2, 4, 8, 9}));
    EXPECT_EQ(spec.destination.strides, (Dims{288, 1, 36, 4}));
  }
}

TEST(ConvolutionCall, LaunchesHaveWhatIsMadeInItsPlace) {
  int first = 0, second = 0, made = 0;
  const ConvolutionLaunch launch = ConvolutionCall::launch(
      makeConvolution("conv_filter_grad"), {{&first, &second}, {&made}});
  EXPECT_EQ(launch.source, &first);
  EXPECT_EQ(launch.destination, &second);
  EXPECT_EQ(launch.filter, &made);
}

} // namespace
} // namespace zc::kernels::test
